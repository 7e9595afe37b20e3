"""Aggregates with ORDER BY inside: `array_agg(x ORDER BY y)`. Where the order is of no matter, as in sums, it is only checked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_stream import aggregates, functions
from jupyter_stream.functions import Expr
from jupyter_stream.plan.logical import AggregateCall
from jupyter_stream.syntax.nodes import FunctionCall

if TYPE_CHECKING:
    from jupyter_stream.binding.bind_aggregate import Grouping


def bind_ordered(
    grouping: Grouping, function: aggregates.AggregateFunction, call: FunctionCall, where: Expr | None
) -> Expr:
    """The column of the aggregate's answer.

    Raises:
        QueryError: a key can't be ordered, or the aggregate has an order of its own.
    """
    keys = [grouping.argument(item.expression) for item in call.order]
    made = aggregates.ordered(function.name)
    if made is None:
        if function.by_time:
            raise grouping.source.error(
                f"{function.name} goes by event time", call.order[0].span, "Write first(x ORDER BY y), or array_agg."
            )
        return grouping.plain(function, replace(call, order=()), where)
    try:
        given = [grouping.argument(arg) for arg in call.args]
        types, dtype = function.resolve([a.dtype for a in given], call.distinct)
        given = [functions.cast(a, t) for a, t in zip(given, types, strict=True)]
        made.resolve([given[0].dtype, *(k.dtype for k in keys)], call.distinct)
    except (aggregates.BadArguments, functions.BadArguments) as bad:
        raise grouping.source.error(str(bad), call.span, f"Usage: {made.signature}.") from None
    grouping.check_kept(made, call)
    separator = [str(grouping.parameter(function.name, call.args[1], given[1]))] if len(given) > 1 else []
    parameters = (*(separator or [""] * (function.name == "string_agg")), *_directions(call))
    return grouping.add(AggregateCall(made.name, (given[0], *keys), "", dtype, call.distinct, where, parameters), call)


def _directions(call: FunctionCall) -> list[tuple[bool, bool]]:
    """Of each key, whether it descends and whether NULLs come last."""
    return [(item.descending, item.nulls_last) for item in call.order]
