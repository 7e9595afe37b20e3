"""Drawn joins of two streams, for both engines and DuckDB: kind, keys, what bounds the times, and a condition, over such rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from tests.differential.draw import Draw

SECOND = 1_000_000
START = 1_714_564_800 * SECOND
"""2024-05-01 12:00:00."""
DECLARED = "\n".join(
    f"CREATE STREAM {name} (i INT, k STRING, j INT, v INT, x DOUBLE, ok BOOLEAN, d DATE, u TIMESTAMP, ts TIMESTAMP) ORDER BY ts "
    f"SOURCE '{{{name}}}';"
    for name in "lr"
)
TYPES: dict[str, pl.DataType] = {
    "i": pl.Int32(),
    "k": pl.String(),
    "j": pl.Int32(),
    "v": pl.Int32(),
    "x": pl.Float64(),
    "ok": pl.Boolean(),
    "d": pl.Date(),
    "u": pl.Datetime("us"),
    "ts": pl.Datetime("us"),
}
_COMPARED = (">", ">=", "<", "<=", "=", "<>")


@dataclass(frozen=True)
class Case:
    """One join.

    Attributes:
        text: of it, in the stream language: the columns `a` and `b`, the numbers of the two rows.
        duckdb: the same over tables.
    """

    text: str
    duckdb: str


def rows(draw: Draw, count: int) -> pl.DataFrame:
    """Rows in the order of their times, with equal ones and gaps, and NULLs."""
    made: list[tuple[object, ...]] = []
    ts = START
    for i in range(count):
        ts += draw.pick([1, 0, 0, 1, 2, 30]) * SECOND + draw.pick([0, 0, 1, 400_000])
        k = draw.pick(["a", "b", None])
        j, v = (draw.pick([1, 0, 2, None]) for _ in range(2))
        x, ok = draw.pick([0.5, -1.0, 2.0, None]), draw.pick([True, False, None])
        day, u = draw.pick([19_844, 19_850, None]), ts + draw.pick([0, -7, 2]) * SECOND
        made.append((i, k, j, v, x, ok, day, u, ts))
    physical = {
        n: pl.Int32() if t == pl.Date() else pl.Int64() if t == pl.Datetime("us") else t for n, t in TYPES.items()
    }
    return pl.DataFrame(made, schema=physical, orient="row").cast(dict(TYPES))


def _one_sided(draw: Draw) -> str:
    side = draw.pick("lr")
    compared, number = draw.pick(_COMPARED), draw.pick([0, 1, 2])
    return draw.pick(
        [
            f"{side}.v {compared} {number}",
            f"{number} {compared} {side}.j",
            f"{side}.v BETWEEN {number} AND 2",
            f"{side}.v IN ({number}, 2)",
            f"{side}.j NOT IN ({number}, 7)",
            f"{side}.v % 2 {compared} {number}",
            f"-{side}.x * 2.0 + 1.0 {compared} {number}.5",
            f"{side}.x IS NOT NULL",
            f"{side}.v {compared} {side}.j",
            f"{side}.d {compared} DATE '2024-05-03'",
            f"{side}.u {compared} TIMESTAMP '2024-05-01 12:00:20'",
            f"{side}.ts {compared} TIMESTAMP '2024-05-01 12:00:30'",
            f"{side}.ok",
            f"{side}.ok {compared} FALSE",
            f"coalesce({side}.v > {number}, FALSE)",
            f"{side}.v > 9000000000",
        ]
    )


def _two_sided(draw: Draw) -> str:
    compared = draw.pick(_COMPARED)
    return draw.pick(
        [f"l.v {compared} r.v", f"l.x + r.x {compared} 1.0", f"l.u {compared} r.ts", f"l.ok {compared} r.ok"]
    )


def _constant(draw: Draw) -> str:
    return draw.pick(["1 = 1", "2 < 1", "NULL IS NULL", "1 > CAST(NULL AS INT)"])


def condition(draw: Draw, depth: int = 2) -> str:
    """A condition over both rows, most of it of one row alone."""
    if depth == 0 or not draw.chance(50):
        return draw.pick([_one_sided, _one_sided, _one_sided, _two_sided, _constant])(draw)
    one, other = condition(draw, depth - 1), condition(draw, depth - 1)
    return draw.pick(
        [
            f"({one}) AND ({other})",
            f"({one}) OR ({other})",
            f"NOT (({one}) OR ({other}))",
            f"CASE WHEN {one} THEN {other} ELSE FALSE END",
            f"(({one}) AND ({other})) OR (({one}) AND ({_one_sided(draw)}))",
        ]
    )


def _times(draw: Draw) -> tuple[str, str, str, str]:
    """What stands behind each stream, what bounds the times in ON, and the same for DuckDB."""
    one, other = draw.pick([4, 1, 30]), draw.pick([2, 5, 30])

    def bounded() -> tuple[str, str, str, str]:
        said = f"r.ts BETWEEN l.ts - INTERVAL {one} SECONDS AND l.ts + INTERVAL {other} SECONDS"
        return "", "", said, said

    def lifetimes() -> tuple[str, str, str, str]:
        meet = f"r.ts < l.ts + INTERVAL {one} SECONDS AND l.ts < r.ts + INTERVAL {other} SECONDS"
        return f" [RANGE {one} SECONDS]", f" [RANGE {other} SECONDS]", "", meet

    return draw.pick([bounded, lifetimes])()


def case(draw: Draw) -> Case:
    """One join."""
    kind = draw.pick(["LEFT", "FULL", "RIGHT", "INNER", "SEMI", "ANTI", "EXISTS", "NOT EXISTS", "NOT IN"])
    left, right, bound, meet = _times(draw)
    said = [condition(draw) for _ in range(draw.pick([1, 2]))]
    keys = draw.pick(
        [["l.k = r.k"], ["l.k = r.k", "l.j = r.j"], ["l.k = upper(r.k)"], ["l.j IS NOT DISTINCT FROM r.j"], []]
    )
    if kind == "NOT IN":
        keys = []

    def joined(windows: tuple[str, str], times: str) -> str:
        on = " AND ".join([*keys, *filter(None, [times]), *(f"({c})" for c in said)])
        one, other = f"l{windows[0]}", f"r{windows[1]}"
        none = "CAST(NULL AS INT) AS b"
        if kind in ("EXISTS", "NOT EXISTS"):
            return f"SELECT l.i AS a, {none} FROM {one} WHERE {kind} (SELECT 1 FROM {other} WHERE {on})"
        if kind == "NOT IN":
            return f"SELECT l.i AS a, {none} FROM {one} WHERE l.k NOT IN (SELECT r.k FROM {other} WHERE {on})"
        if kind in ("SEMI", "ANTI"):
            return f"SELECT l.i AS a, {none} FROM {one} {kind} JOIN {other} ON {on}"
        return f"SELECT l.i AS a, r.i AS b FROM {one} {kind} JOIN {other} ON {on}"

    return Case(joined((left, right), bound), joined(("", ""), meet))


def together(parts: list[Case], of: Callable[[Case], str]) -> str:
    """One query of many, which says of each row whose it is."""
    return " UNION ALL ".join(of(part).replace("SELECT ", f"SELECT {n} AS part, ", 1) for n, part in enumerate(parts))
