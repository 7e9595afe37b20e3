"""Raw columns to declared columns: rows that fit, and the others as text with the reason. Every connector ends here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol

import polars as pl

from jupyter_stream.core.far import as_json, pythonic
from jupyter_stream.core.messages import FAULT, FAULTS
from jupyter_stream.core.schema import Field, Schema, type_name
from jupyter_stream.core.time import other_unit
from jupyter_stream.core.time_texts import pattern_to_declare
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.casting import cast, cast_by_leaf, castable
from jupyter_stream.sources.nested import Faults, shown
from jupyter_stream.sources.options import did_you_mean
from jupyter_stream.sources.protocol import REJECTED, Chunk
from jupyter_stream.sources.utf8 import NOT_UTF8, is_whole

_LOOKED_AT: Final = 1_000
"""Bad values looked at to find how they are written."""
_DIGITS: Final = 30
"""Digits of a number looked at to find which unit of time it counts."""


class Spelling(Protocol):
    """How values are written in a text."""

    def plain(self, text: pl.Series, field: Field) -> pl.Series:
        """Text that `cast` reads as the field's type; where it can't be, what no type but STRING reads."""

    def advice(self, value: str, field: Field) -> str:
        """What to write where a value can't be read as the field's type; empty where there is no telling."""


def conform(
    raw: pl.DataFrame,
    fields: Sequence[Field],
    tick: int | None = None,
    describe: Callable[[Sequence[int]], Sequence[str]] | None = None,
    place: Callable[[int], str] | None = None,
    faults: Mapping[str, Sequence[Faults]] | None = None,
    spelling: Spelling | None = None,
) -> Chunk:
    """Cast a frame to declared types and split off the rows that have a value without counterpart.

    Args:
        raw: a column for each field, of its name, in any type that `castable` allows.
        fields: the columns wanted, in order.
        tick: what numbers mean as times (`casting.TICKS`).
        describe: the raw records at these row numbers, as text; by default the row's values.
        place: where a row comes from, appended to its reason, such as ` (bids.csv, line 17)`.
        faults: by column, parts of values that are known to be bad, and NULL.
        spelling: how the values are written, where that isn't as `cast` reads them; all columns are text then.

    Returns:
        The rows that fit, in their order; in `rejected`, the others. Rows whose only faults are parts of columns that are read
        `by_part` fit, and say so.
    """
    if not faults and list(raw.schema.items()) == [(f.name, f.dtype) for f in fields]:
        return Chunk(raw)
    columns: list[pl.Series] = []
    reasons: dict[int, str] = {}
    parts: dict[int, list[tuple[tuple[str, ...], str]]] = {}
    for field in fields:
        after, wrong = _fitted(raw.get_column(field.name), field, tick, spelling)
        for fault in (*(faults.get(field.name, ()) if faults else ()), *wrong):
            name = ".".join((field.name, *fault.path))
            form = _form(fault.values) if isinstance(field.dtype, pl.Datetime) else ""
            for row, value in zip(fault.rows.tolist(), fault.values, strict=True):
                advice = (
                    spelling.advice(str(value), field) if spelling is not None and not field.dtype.is_nested() else ""
                )
                reason = f"column {name}: {_no(value, fault.dtype, tick)}{f' ({advice})' if advice else form}"
                if field.by_part:
                    parts.setdefault(row, []).append(((field.name, *fault.path), reason))
                else:
                    reasons.setdefault(row, reason)
        columns.append(after.alias(field.name))
    frame = pl.DataFrame(columns)
    if not reasons and not parts:
        return Chunk(frame)
    rows = sorted({*reasons, *parts})
    texts = dict(zip(rows, describe(rows) if describe else _texts(raw[rows]), strict=True))
    places = {row: place(row) if place else "" for row in rows}
    if parts:
        frame = frame.with_columns(_faults(frame.height, parts, texts, places))
    if not reasons:
        return Chunk(frame)
    out = sorted(reasons)
    keep = pl.Series([True]).new_from_index(0, raw.height).scatter(out, False)
    return Chunk(frame.filter(keep), rejected([texts[r] for r in out], [reasons[r] + places[r] for r in out]))


def _fitted(
    before: pl.Series, field: Field, tick: int | None, spelling: Spelling | None
) -> tuple[pl.Series, list[Faults]]:
    """A column in its declared type, and which values, or parts of them, have no counterpart."""
    plain = before if spelling is None else spelling.plain(before, field)
    if field.dtype.is_nested() and plain.dtype != field.dtype:
        return cast_by_leaf(plain, field.dtype, tick)
    after = plain if plain.dtype == field.dtype else cast(plain, field.dtype, tick)
    if after.null_count() == before.null_count():
        return after, []
    bad = (after.is_null() & before.is_not_null()).arg_true()
    return after, [Faults((), field.dtype, bad.cast(pl.Int64).to_numpy(), pythonic(before.gather(bad)).to_list())]


def _faults(
    height: int,
    parts: Mapping[int, Sequence[tuple[tuple[str, ...], str]]],
    texts: Mapping[int, str],
    places: Mapping[int, str],
) -> pl.Series:
    """The column that says which parts of rows are bad."""
    found: list[dict[str, object] | None] = [None] * height
    for row, wrong in parts.items():
        why = [reason + places[row] for _, reason in wrong]
        found[row] = {"raw": texts[row], "at": [list(path) for path, _ in wrong], "why": why}
    return pl.Series(FAULT, found, dtype=FAULTS)


def rejected(raw: Sequence[str], reasons: Sequence[str]) -> pl.DataFrame | None:
    """Records and reasons as `errors(name)` gets them; None when there are none."""
    if not raw:
        return None
    return pl.DataFrame({"raw": raw, "reason": reasons}, schema=REJECTED.polars())


def both(first: pl.DataFrame | None, second: pl.DataFrame | None) -> pl.DataFrame | None:
    """Two lots of rejected records as one."""
    if first is None or second is None:
        return second if first is None else first
    return pl.concat([first, second])


def match_names(fields: Iterable[Field], names: Sequence[str], where: str) -> dict[str, str]:
    """Which of a source's columns each declared column is: the same spelling, else the same but for case.

    Raises:
        SourceError: when one isn't there, naming the nearest that is.
    """
    fields = tuple(fields)
    found = found_names(fields, names)
    for field in fields:
        if field.name not in found:
            exist = f"It has {', '.join(names)}." if names else ""
            raise SourceError(f"{where} has no column '{field.name}'.", hint=did_you_mean(field.name, names, exist))
    return found


def found_names(fields: Iterable[Field], names: Sequence[str]) -> dict[str, str]:
    """The same for those that are there."""
    lower = {name.lower(): name for name in reversed(names)}
    exact = set(names)
    named = ((f.name, f.name if f.name in exact else lower.get(f.name.lower())) for f in fields)
    return {name: found for name, found in named if found is not None}


def completed(
    frame: pl.DataFrame, fields: Sequence[Field], values: Mapping[str, pl.Series] | None = None, rows: int | None = None
) -> pl.DataFrame:
    """The frame with all of the fields, in their order; what it says of bad parts is kept.

    Args:
        frame: some of the columns.
        fields: all of them.
        values: by column, the one value that all rows have; NULL in those that neither has.
        rows: how many rows there are, where the frame has no column to say it.
    """
    height = frame.height if rows is None else rows
    there = {c.name: c for c in frame}
    nothing = {f.name: pl.Series(f.name, [None], dtype=f.dtype) for f in fields if f.name not in there}
    same = {name: value.new_from_index(0, height) for name, value in {**nothing, **(values or {})}.items()}
    return pl.DataFrame([*({**there, **same}[f.name] for f in fields), *(c for c in frame if c.name == FAULT)])


def check_castable(
    fields: Iterable[Field], source: Schema, names: dict[str, str], tick: int | None, where: str
) -> None:
    """Refuse a declared type that no value of the source's column can have.

    Raises:
        SourceError: naming both types.
    """
    types = {f.name: f.dtype for f in source}
    for field in fields:
        dtype = types[names[field.name]]
        if castable(dtype, field.dtype, tick):
            continue
        found, declared = type_name(dtype), type_name(field.dtype)
        if isinstance(field.dtype, pl.Datetime) and dtype.is_numeric():
            hint = f"Declare it {found}, or give the unit of the numbers: WITH (timestamp_unit = 'ms'), or 's', 'us', 'ns'."
        else:
            hint = f"Declare it {found}."
        raise SourceError(f"Column '{field.name}' of {where} is {found}, which can't be read as {declared}.", hint=hint)


def _no(value: object, dtype: pl.DataType, tick: int | None) -> str:
    if isinstance(value, bytes) and isinstance(dtype, pl.String):
        return NOT_UTF8
    told = f"{shown(value)} can't be read as {type_name(dtype)}"
    number = isinstance(value, int | float) or (
        isinstance(value, str) and value.strip().lstrip("+-").replace(".", "", 1).isdecimal()
    )
    if isinstance(dtype, pl.Datetime) and number and tick is not None:
        told += " (by its timestamp_unit that is beyond the years 1 to 9999)"
    elif isinstance(dtype, pl.Datetime) and isinstance(value, str) and number:
        whole = int(value.strip().lstrip("+-").partition(".")[0][:_DIGITS] or 0)
        told += f" (declare its unit: WITH (timestamp_unit = '{other_unit(whole, whole) or 'us'}'))"
    return told


def _form(values: Sequence[object]) -> str:
    """How to say in which way times are written, by texts that aren't read; empty where that can't be told."""
    texts = [v for v in values[:_LOOKED_AT] if isinstance(v, str) and is_whole(v)]
    pattern = pattern_to_declare(pl.Series(texts, dtype=pl.String)) if texts else None
    return "" if pattern is None else f" (declare how it is written: WITH (timestamp_format = '{pattern}'))"


def _texts(raw: pl.DataFrame) -> list[str]:
    """Rows as JSON; of bytes in the place of text what can be shown."""
    shown = [
        pl.Series(c.name, [None if v is None else v.decode(errors="replace") for v in c], dtype=pl.String)
        if isinstance(c.dtype, pl.Binary)
        else c
        for c in raw.get_columns()
    ]
    return as_json(pl.DataFrame(shown)).to_list()
