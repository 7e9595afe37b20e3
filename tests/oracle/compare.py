"""Comparison of results as bags of rows: order means nothing, floats may differ a little, everything else must be equal."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from decimal import Decimal

import polars as pl

from tests.oracle.query import EPOCH
from tests.oracle.values import Near, Row, Value, same_key

RELATIVE = 1e-9
SHOWN = 12


def plain_rows(frame: pl.DataFrame) -> list[tuple[Value, ...]]:
    """A frame's rows as plain values, times as microseconds, DECIMALs as text."""
    return [tuple(plain(v) for v in row) for row in frame.iter_rows()]


def plain(value: object) -> Value:
    if isinstance(value, dt.datetime):
        return (value - EPOCH) // dt.timedelta(microseconds=1)
    if isinstance(value, list | dict):
        return tuple(plain(v) for v in (value.values() if isinstance(value, dict) else value))
    if isinstance(value, Decimal):
        return str(value)
    assert value is None or isinstance(value, (bool, int, float, str)), f"no plain value: {value!r}"
    return value


def same(actual: Value, expected: Value) -> bool:
    """Whether one value is the other: types must agree, floats to within `expected.slack` or nine digits."""
    if isinstance(expected, float) and isinstance(actual, float):
        if math.isnan(expected) or math.isnan(actual):
            return math.isnan(expected) and math.isnan(actual)
        if math.isinf(expected) or math.isinf(actual):
            return actual == expected
        slack = expected.slack if isinstance(expected, Near) else 0.0
        return abs(actual - expected) <= max(slack, RELATIVE * abs(expected))
    if isinstance(expected, tuple) and isinstance(actual, tuple):
        return len(actual) == len(expected) and all(map(same, actual, expected))
    return type(actual) is type(expected) and actual == expected


def exact_part(row: Sequence[Value]) -> tuple[object, ...]:
    return tuple(
        "float" if isinstance(v, float) else exact_part(v) if isinstance(v, tuple) else same_key(v) for v in row
    )


def difference(
    actual: Sequence[Sequence[Value]], expected: Sequence[Sequence[Value]]
) -> tuple[list[Sequence[Value]], list[Sequence[Value]]]:
    """Rows that are missing and rows that should not be there."""
    waiting: dict[tuple[object, ...], list[Sequence[Value]]] = {}
    for row in actual:
        waiting.setdefault(exact_part(row), []).append(row)
    missing: list[Sequence[Value]] = []
    for row in expected:
        candidates = waiting.get(exact_part(row), [])
        match = next((c for c in candidates if len(c) == len(row) and all(map(same, c, row))), None)
        if match is None:
            missing.append(row)
        else:
            candidates.remove(match)
    return missing, [row for rows in waiting.values() for row in rows]


def assert_same_bag(
    actual: Sequence[Sequence[Value]],
    expected: Sequence[Sequence[Value]],
    columns: Sequence[str],
    about: str = "",
    times: frozenset[str] = frozenset({"window_start", "window_end"}),
) -> None:
    """Fail, saying which rows are missing and which should not be there, unless both hold the same rows equally often."""
    missing, extra = difference(actual, expected)
    if not missing and not extra:
        return
    lines = [f"{len(expected)} rows expected, {len(actual)} came; {len(missing)} missing, {len(extra)} wrong"]
    for title, rows in (("missing", missing), ("wrong", extra)):
        if rows:
            lines.append(f"{title}:")
            lines += [f"  {show_row(r, columns, times)}" for r in sorted(rows, key=repr)[:SHOWN]]
            lines += [f"  ... and {len(rows) - SHOWN} more"] if len(rows) > SHOWN else []
    raise AssertionError("\n".join([*lines, *([about] if about else [])]))


def show_row(row: Sequence[Value], columns: Sequence[str], times: frozenset[str]) -> str:
    if len(row) != len(columns):
        return f"{tuple(row)} ({len(row)} values for the columns {', '.join(columns)})"
    return ", ".join(f"{c}={show_value(v, c in times)}" for c, v in zip(columns, row, strict=True))


def show_value(value: Value, is_time: bool) -> str:
    if is_time and isinstance(value, int) and abs(value) < 2**56:
        return f"{EPOCH + dt.timedelta(microseconds=value)}"
    if isinstance(value, Near):
        return f"{float(value)!r} (± {value.slack:.1g})"
    return repr(value)


def in_columns(rows: Sequence[Row], columns: Sequence[str]) -> list[tuple[Value, ...]]:
    return [tuple(row[c] for c in columns) for row in rows]
