"""Raw columns to declared columns: rows that fit, and the others as text with the reason. Every connector ends here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import polars as pl

from jupyter_stream.core.far import pythonic
from jupyter_stream.core.schema import Field, Schema, type_name
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.casting import cast, castable
from jupyter_stream.sources.options import did_you_mean
from jupyter_stream.sources.protocol import REJECTED, Chunk
from jupyter_stream.sources.utf8 import NOT_UTF8

_SHOWN = 100
"""Characters of a bad value shown in a reason; the raw record has all of it."""


def conform(
    raw: pl.DataFrame,
    fields: Sequence[Field],
    tick: int | None = None,
    describe: Callable[[Sequence[int]], Sequence[str]] | None = None,
    place: Callable[[int], str] | None = None,
) -> Chunk:
    """Cast a frame to declared types and split off the rows that have a value without counterpart.

    Args:
        raw: a column for each field, of its name, in any type that `castable` allows.
        fields: the columns wanted, in order.
        tick: what numbers mean as times (`casting.TICKS`).
        describe: the raw records at these row numbers, as text; by default the row's values.
        place: where a row comes from, appended to its reason, such as ` (bids.csv, line 17)`.

    Returns:
        The rows that fit, in their order; in `rejected`, the others.
    """
    if list(raw.schema.items()) == [(f.name, f.dtype) for f in fields]:
        return Chunk(raw)
    columns: list[pl.Series] = []
    reasons: dict[int, str] = {}
    for field in fields:
        before = raw.get_column(field.name)
        after = before if before.dtype == field.dtype else cast(before, field.dtype, tick).alias(field.name)
        if after.null_count() != before.null_count():
            bad = (after.is_null() & before.is_not_null()).arg_true()
            for row, value in zip(bad.to_list(), pythonic(before.gather(bad)).to_list(), strict=True):
                reasons.setdefault(row, f"column {field.name}: {_no(value, field.dtype, tick)}")
        columns.append(after)
    frame = pl.DataFrame(columns)
    if not reasons:
        return Chunk(frame)
    rows = sorted(reasons)
    texts = describe(rows) if describe else _texts(raw[rows])
    keep = pl.Series([True]).new_from_index(0, raw.height).scatter(rows, False)
    return Chunk(frame.filter(keep), rejected(texts, [reasons[r] + (place(r) if place else "") for r in rows]))


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
    lower = {name.lower(): name for name in reversed(names)}
    exact = set(names)
    found: dict[str, str] = {}
    for field in fields:
        name = field.name if field.name in exact else lower.get(field.name.lower())
        if name is None:
            exist = f"It has {', '.join(names)}." if names else ""
            raise SourceError(f"{where} has no column '{field.name}'.", hint=did_you_mean(field.name, names, exist))
        found[field.name] = name
    return found


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
    text = repr(value) if isinstance(value, str) else str(value)
    told = f"{text if len(text) <= _SHOWN else text[:_SHOWN] + '...'} can't be read as {type_name(dtype)}"
    number = isinstance(value, int | float) or (isinstance(value, str) and value.strip().lstrip("+-").isdigit())
    if isinstance(dtype, pl.Datetime) and number and tick is not None:
        told += " (by its timestamp_unit that is beyond the years 1 to 9999)"
    elif isinstance(dtype, pl.Datetime) and isinstance(value, str) and number:
        told += " (declare its unit: WITH (timestamp_unit = 'ms'))"
    return told


def _texts(raw: pl.DataFrame) -> list[str]:
    rows = pl.DataFrame([pythonic(c) for c in raw.get_columns()]).iter_rows(named=True)
    return ["{" + ", ".join(f"{name}: {value!r}" for name, value in row.items()) + "}" for row in rows]
