"""Aggregates of DEFINE, which take a row at each step of a search and go back with it: a state is never changed.

Values are those of the engine's aggregates; a sum of DOUBLEs is added up in the order of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from jupyter_stream.functions.scalar import RowError
from jupyter_stream.plan.logical import AggregateCall

_BIGINT: Final = 2**63


@dataclass(frozen=True)
class StepTotal:
    """An aggregate as a state that rows are added to.

    Attributes:
        add: the state with one value more.
        answer: of a state; None is that of no row. Raises `RowError` where there is none.
    """

    add: Callable[[Any, Any], Any]
    answer: Callable[[Any], Any]


def total_of(call: AggregateCall) -> StepTotal:
    """The aggregate: count, sum, avg, min or max."""
    if call.function == "count":
        return StepTotal(lambda state, value: (state or 0) + (value is not None), lambda state: state or 0)
    if call.function == "sum":
        return StepTotal(_summed, _whole if call.dtype.is_integer() else _sum)
    if call.function == "avg":
        return StepTotal(_summed, lambda state: None if state is None else state[0] / state[1])
    better = _less if call.function == "min" else _more
    return StepTotal(lambda state, value: _best(state, value, better), lambda state: state)


def _summed(state: Any, value: Any) -> Any:
    if value is None:
        return state
    return (value, 1) if state is None else (state[0] + value, state[1] + 1)


def _sum(state: Any) -> Any:
    return None if state is None else state[0]


def _whole(state: Any) -> Any:
    if state is not None and not -_BIGINT <= state[0] < _BIGINT:
        raise RowError("BIGINT overflow in sum")
    return _sum(state)


def _best(state: Any, value: Any, better: Callable[[Any, Any], bool]) -> Any:
    if value is None:
        return state
    return value if state is None or better(value, state) else state


def _less(one: Any, other: Any) -> bool:
    """NaN is more than any other number, as in Spark."""
    return bool(not _is_nan(one) and (_is_nan(other) or one < other))


def _more(one: Any, other: Any) -> bool:
    return _less(other, one)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


__all__ = ["StepTotal", "total_of"]
