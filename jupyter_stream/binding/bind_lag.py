"""`lag(x, n, default) OVER (...)`: the value n rows earlier in the partition, said by two aggregates over the n rows before.

The earliest of the n + 1 rows is the one asked for where there are that many, so it needs no operator of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from jupyter_stream import functions
from jupyter_stream.errors import QueryError
from jupyter_stream.functions import Expr, Literal
from jupyter_stream.functions.types import BIGINT, VOID
from jupyter_stream.syntax.nodes import Constant, FunctionCall, Node, Star
from jupyter_stream.syntax.query_syntax import Amount, WindowClause
from jupyter_stream.syntax.source_text import Name, SourceText

LAG = "lag"


def bind_lag(
    call: FunctionCall,
    window: WindowClause,
    source: SourceText,
    aggregate: Callable[[FunctionCall], Expr],
    default: Callable[[Node], Expr],
) -> Expr:
    """The value n rows earlier; the default, or NULL, where there are fewer.

    Args:
        call: `lag(...)` with its window.
        window: that window.
        source: the cell.
        aggregate: binds an aggregate over a window.
        default: binds the third argument, an expression over the current row.

    Raises:
        QueryError: a frame, FILTER or DISTINCT beside it, or a distance that is no positive number.
    """
    if not 1 <= len(call.args) <= 3 or isinstance(call.args[0], Star):
        raise source.error("lag takes 1 to 3 arguments: lag(x[, n[, default]])", call.span)
    if call.where is not None or call.distinct or call.ignore_nulls is not None:
        raise source.error(
            "lag can't be used with FILTER, DISTINCT or IGNORE NULLS",
            call.span,
            "Filter in a subquery: SELECT ... FROM (SELECT ... WHERE ...).",
        )
    if window.range is not None or window.now or window.slide is not None or window.active_expiration:
        raise source.error(
            "lag takes no frame: it counts the rows of the partition", window.span, _as_it_should_be(window)
        )
    distance = _distance(call, source)
    rows = replace(window, unbounded=False, peers=True, range=Amount("rows", distance, window.span))
    every = (Star(None, call.span),)
    seen = aggregate(FunctionCall(Name("count", call.span), every, call.span, window=rows))
    earliest = aggregate(FunctionCall(Name("first", call.span), call.args[:1], call.span, window=rows))
    otherwise = default(call.args[2]) if len(call.args) == 3 else Literal(None, VOID)
    enough = functions.resolve(">", [seen, Literal(distance, BIGINT)])
    try:
        return functions.resolve("if", [enough, earliest, otherwise])
    except functions.BadArguments as bad:
        raise source.error(str(bad), call.args[2].span) from None


def _distance(call: FunctionCall, source: SourceText) -> int:
    if len(call.args) == 1:
        return 1
    given = call.args[1]
    if isinstance(given, Constant) and isinstance(given.value, int) and given.value > 0:
        return given.value
    error: QueryError = source.error(
        "the second argument of lag must be a positive number of rows", given.span, "Write lag(x, 1), for example."
    )
    raise error


def _as_it_should_be(window: WindowClause) -> str:
    names = ", ".join(column.name.text for column in window.partition)
    return f"Write OVER (PARTITION BY {names})." if names else "Write OVER (ORDER BY ts)."


__all__ = ["LAG", "bind_lag"]
