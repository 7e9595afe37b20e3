"""Aggregates over the few rows a SELECT inside a body reads: count, sum, avg, min and max in Python, the others by frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from jupyter_stream.aggregates.framed import Framed
from jupyter_stream.aggregates.protocol import SLOT, VALUE, AggregateFunction
from jupyter_stream.aggregates.user.alike import once
from jupyter_stream.aggregates.user.body import Folded
from jupyter_stream.aggregates.user.protocol import Program
from jupyter_stream.arrays.exact import BEYOND
from jupyter_stream.core.messages import TS
from jupyter_stream.functions.scalar import RowError
from jupyter_stream.functions.types import BIGINT, RANGES


def fold(what: Folded, rows: Sequence[tuple[Any, ...]]) -> Any:
    """The aggregate's value. Raises `RowError` for a sum beyond BIGINT, and where one of a user's fails, with its name."""
    if what.program is not None:
        return _of_ones_own(what.program, rows)
    if what.function == "count" and not what.args:
        return len(rows)
    if what.function in ("count", "sum", "avg", "min", "max"):
        values: Any = [row[0] for row in rows if row[0] is not None]
        if what.distinct:
            values = [value for (value,) in once((value,) for value in values)]
        if what.function == "count":
            return len(values)
        if not values:
            return None
        if what.function in ("min", "max"):
            return _extreme(values, what.function)
        total = sum(values)
        if what.function == "avg":
            return total / len(values)
        if isinstance(total, int) and not RANGES[BIGINT][0] <= total <= RANGES[BIGINT][1]:
            raise RowError(BEYOND)
        return float(total) if what.dtype.is_float() else total
    return _framed(what, rows)


def _of_ones_own(program: Program, rows: Sequence[tuple[Any, ...]]) -> Any:
    try:
        answer = program.over(rows) if rows else []
    except RowError as error:
        raise RowError(f"{program.name}: {error}") from None
    if len(answer) > 1:
        raise RowError(f"{program.name} returned {len(answer)} rows")
    return answer[0] if answer else None


def _extreme(values: list[Any], function: str) -> Any:
    """NaN is greater than every other number."""
    numbers = [v for v in values if v == v]
    if function == "max":
        return max(values) if len(numbers) == len(values) else float("nan")
    return min(numbers) if numbers else values[0]


def _framed(what: Folded, rows: Sequence[tuple[Any, ...]]) -> Any:
    from jupyter_stream import aggregates

    function: AggregateFunction | None = aggregates.find(what.function)
    assert function is not None
    types = [a.dtype for a in what.args]
    framed = Framed(function, function.form(types, what.distinct, what.parameters), what.dtype)
    names = [VALUE if i == 0 else f"{VALUE}{i}" for i in range(len(types))]
    frame = pl.DataFrame(list(rows), schema=dict(zip(names, types, strict=True)), orient="row").with_columns(
        pl.lit(0, pl.Int64()).alias(SLOT), pl.int_range(pl.len(), dtype=pl.Int64).alias(TS)
    )
    partials = framed.update(frame, [SLOT])
    if not partials.height:
        return framed.of_nothing()
    found, _ = framed.finish(partials, [SLOT])
    return found.get_column(VALUE)[0] if found.height else framed.of_nothing()
