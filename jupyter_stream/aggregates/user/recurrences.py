"""Straight-line bodies over columns: many groups' rows at once, where each column of a table is a recurrence NumPy knows.

Sums and counts, least and greatest whole numbers, first and last values. A sum of DOUBLE is added up from the first row to the
last, as the loop does it, so that the answers are the same to the last bit. What is not certain to be (a NULL, a sum that may
leave its type, a value that fails) is left to the loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from jupyter_stream.aggregates.user.body import FIRST_PLACE, RETURN, InsertRows, InsertSelect, UpdateRows
from jupyter_stream.aggregates.user.segments import Outcome
from jupyter_stream.aggregates.user.straight import Straight
from jupyter_stream.core.messages import Array, Int64s
from jupyter_stream.functions.expression import Call, Column, Expr, columns
from jupyter_stream.functions.function import Compiled
from jupyter_stream.functions.kernel import compile_kernel
from jupyter_stream.functions.steps import with_steps
from jupyter_stream.functions.types import DOUBLE, RANGES, is_integral

Kind = Literal["first", "last", "sum", "least", "greatest"]
FEW = 2000
"""Rows below which the loop is faster than some forty calls."""


@dataclass(frozen=True)
class _Recurrence:
    """A column of a table: what the first row makes it, and what each later one adds.

    Attributes:
        kind: how a later row's value is put to what is there.
        first: INITIALIZE's value.
        later: a later row's value; None for `first`.
        negative: whether it is subtracted.
        dtype: the column's type.
    """

    kind: Kind
    first: Compiled
    later: Compiled | None
    negative: bool
    dtype: pl.DataType


class Columnar:
    """A body over columns.

    Args:
        recurrences: of the columns of its tables.
        places: the names of these columns in TERMINATE.
        items: the values of the row TERMINATE returns.
        names: of the fields, where that is a STRUCT.
    """

    def __init__(
        self,
        recurrences: Mapping[tuple[int, int], _Recurrence],
        places: Mapping[str, tuple[int, int]],
        items: Sequence[Compiled],
        names: Sequence[str] | None,
    ) -> None:
        self._recurrences = recurrences
        self._places = places
        self._items = items
        self._names = names

    def over(self, arguments: Sequence[pl.Series], lengths: Int64s) -> list[Outcome | None] | None:
        """What each group's rows return, None for a group that is left to the loop; None where all are."""
        frame = pl.DataFrame([c.alias(f"#{FIRST_PLACE + i}") for i, c in enumerate(arguments)])
        stops = np.cumsum(lengths)
        group = np.repeat(np.arange(lengths.size), lengths)
        found: dict[tuple[int, int], pl.Series] = {}
        for key, recurrence in self._recurrences.items():
            values = _folded(recurrence, frame, group, stops - lengths, stops)
            if values is None:
                return None
            found[key] = values
        last = frame[pl.Series(stops - 1)]
        states = last.with_columns(found[key].alias(name) for name, key in self._places.items())
        return self._returned(states)

    def _returned(self, states: pl.DataFrame) -> list[Outcome | None]:
        failed = np.zeros(states.height, np.bool_)
        columns: list[list[Any]] = []
        for item in self._items:
            made = with_steps(states, item.steps).select(
                item.value.alias("v"), *(f.condition.alias(f"{i}") for i, f in enumerate(item.failures))
            )
            for i in range(len(item.failures)):
                failed |= made.get_column(f"{i}").to_numpy()
            values = made.get_column("v")
            columns.append(
                (values if len(values) == states.height else values.new_from_index(0, states.height)).to_list()
            )
        if self._names is None:
            values_of: list[Any] = columns[0]
        else:
            values_of = [dict(zip(self._names, row, strict=True)) for row in zip(*columns, strict=True)]
        return [None if wrong else ([v], None) for v, wrong in zip(values_of, failed.tolist(), strict=True)]


def _folded(
    recurrence: _Recurrence, frame: pl.DataFrame, group: Int64s, starts: Int64s, stops: Int64s
) -> pl.Series | None:
    """A column after each group's last row; None where the loop has to say."""
    first = _evaluated(recurrence.first, frame[pl.Series(starts)])
    if first is None:
        return None
    if recurrence.kind == "first" or recurrence.later is None:
        return first
    later = _evaluated(recurrence.later, frame)
    if later is None:
        return None
    if recurrence.kind == "last":
        single = pl.Series(stops - starts == 1)
        return later.gather(pl.Series(stops - 1)).zip_with(~single, first)
    if first.null_count() or later.null_count():
        return None
    values = later.to_numpy().copy()
    if recurrence.negative:
        values = -values
    values[starts] = first.to_numpy()
    if recurrence.kind == "sum":
        folded = _summed(values, group, starts, stops, recurrence.dtype)
        return None if folded is None else pl.Series(folded, dtype=recurrence.dtype)
    fold = np.minimum if recurrence.kind == "least" else np.maximum
    return pl.Series(fold.reduceat(values, starts), dtype=recurrence.dtype)


def _summed(values: Array, group: Int64s, starts: Int64s, stops: Int64s, dtype: pl.DataType) -> Array | None:
    if dtype == DOUBLE:
        total = np.bincount(group, weights=values, minlength=starts.size)  # one after the other, from 0.0
        if (total == 0).any():
            negative = np.logical_and.reduceat((values == 0) & np.signbit(values), starts)
            total[negative] = -0.0
        return total
    low, high = RANGES[dtype]
    largest = max(abs(int(values.min())), abs(int(values.max())))
    if largest * int((stops - starts).max()) > min(high, -low):
        return None  # some sum on the way may be beyond the type: the loop says which
    return np.add.reduceat(values.astype(np.int64), starts)


def _evaluated(compiled: Compiled, frame: pl.DataFrame) -> pl.Series | None:
    """An expression over rows; None where it fails on any."""
    made = with_steps(frame, compiled.steps).select(
        compiled.value.alias("v"), *(f.condition.any().alias(f"{i}") for i, f in enumerate(compiled.failures))
    )
    if any(made.get_column(f"{i}").any() for i in range(len(compiled.failures))):
        return None
    values = made.get_column("v")
    return values if len(values) == frame.height else values.new_from_index(0, frame.height)


def columnar(made: Straight) -> Columnar | None:
    """The body over columns; None where a recurrence isn't known, or it returns something but its answer."""
    body = made.body
    if made.looks_back or len(body.terminate) != 1:
        return None
    if any(not isinstance(a, UpdateRows) or a.where is not None for a in body.iterate):
        return None
    if any(not isinstance(a, InsertRows) or a.table == RETURN for a in body.initialize):
        return None
    updates: dict[tuple[int, int], tuple[Expr, str]] = {}
    for action in body.iterate:
        assert isinstance(action, UpdateRows)
        for i, expr in action.assignments:
            key = action.read.table, i
            if key in updates:
                return None
            updates[key] = expr, f"#{action.read.place + i}"
    arguments = {f"#{FIRST_PLACE + i}" for i in range(len(body.arguments))}
    found: dict[tuple[int, int], _Recurrence] = {}
    for key, first in made.first.items():
        dtype = body.tables[key[0]][1].fields[key[1]].dtype
        recurrence = _recurrence(first, updates.get(key), dtype, arguments)
        if recurrence is None:
            return None
        found[key] = recurrence
    answer = body.terminate[0]
    places: dict[str, tuple[int, int]] = {}
    if isinstance(answer, InsertSelect) and answer.select.where is None:
        items = answer.select.items
        for read in answer.select.reads:
            places.update({f"#{read.place + i}": (read.table, i) for i in range(read.width)})
    elif isinstance(answer, InsertRows) and answer.where is None and len(answer.rows) == 1:
        items = answer.rows[0]
    else:
        return None
    fields = [f.name for f in getattr(body.dtype, "fields", ())]
    return Columnar(found, places, [compile_kernel(e) for e in items], fields if body.struct else None)


def _recurrence(
    first: Expr, update: tuple[Expr, str] | None, dtype: pl.DataType, arguments: set[str]
) -> _Recurrence | None:
    begun = compile_kernel(first)
    if update is None:
        return _Recurrence("first", begun, None, False, dtype)
    expr, own = update
    if columns(expr) <= arguments:
        return _Recurrence("last", begun, compile_kernel(expr), False, dtype)
    if not isinstance(expr, Call) or len(expr.args) != 2 or not (dtype == DOUBLE or is_integral(dtype)):
        return None
    kinds: dict[str, Kind] = {"+": "sum", "-": "sum", "least": "least", "greatest": "greatest"}
    kind = kinds.get(expr.function)
    left, right = expr.args
    if expr.function in ("+", "least", "greatest") and not (isinstance(left, Column) and left.name == own):
        left, right = right, left
    is_own = isinstance(left, Column) and left.name == own
    if kind is None or not is_own or not columns(right) <= arguments or expr.dtype != dtype or right.dtype != dtype:
        return None
    if kind != "sum" and not is_integral(dtype):
        return None
    return _Recurrence(kind, begun, compile_kernel(right), expr.function == "-", dtype)


__all__ = ["FEW", "Columnar", "columnar"]
