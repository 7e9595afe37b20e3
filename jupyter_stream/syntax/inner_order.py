"""ORDER BY inside an aggregate and WITHIN GROUP behind it, and what these stand for.

percentile_cont(0.9) WITHIN GROUP (ORDER BY x)      quantile(x, 0.9)
mode() WITHIN GROUP (ORDER BY x)                    mode(x)
listagg(x, ', ') WITHIN GROUP (ORDER BY y)          listagg(x, ', ' ORDER BY y)
count(DISTINCT a, b)                                count(DISTINCT named_struct('1', a, '2', b)), of rows without NULL
"""  # fmt: skip

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import polars as pl
from sqlglot import TokenType

from jupyter_stream.syntax.nodes import Constant, FunctionCall, Node, Operation
from jupyter_stream.syntax.parse_row_number import order_item

if TYPE_CHECKING:
    from jupyter_stream.syntax.parse_expression import ExpressionParser
    from jupyter_stream.syntax.query_syntax import OrderItem

_CONTINUOUS: Final = ("percentile_cont", "quantile_cont", "percentile", "quantile")
_DISCRETE: Final = ("percentile_disc", "quantile_disc")
_LISTS: Final = ("listagg", "string_agg", "array_agg", "collect_list")
_USAGE: Final = "Write percentile_cont(0.9) WITHIN GROUP (ORDER BY x), or quantile(x, 0.9)."


def inner_order(p: ExpressionParser) -> tuple[OrderItem, ...]:
    """Take `ORDER BY a, b DESC`, if it comes next."""
    if not p.sign(TokenType.ORDER_BY):
        return ()
    p.word("BY")
    items = [order_item(p)]
    while p.sign(TokenType.COMMA):
        items.append(order_item(p))
    return tuple(items)


def within_group(p: ExpressionParser, call: FunctionCall) -> FunctionCall:
    """Take `(ORDER BY x)`, which stands behind `WITHIN GROUP`: the call in other words."""
    p.expect_sign(TokenType.L_PAREN, "(", _USAGE)
    if not p.comes(TokenType.ORDER_BY):
        p.fail("ORDER BY is missing here", hint=_USAGE)
    order = inner_order(p)
    p.expect_sign(TokenType.R_PAREN, ")", _USAGE)
    name = call.name.text.lower()
    if name in _LISTS:
        return replace(call, order=order, span=p.since(call.span))
    if name not in (*_CONTINUOUS, *_DISCRETE, "mode"):
        p.fail(
            f"{call.name.text} takes no WITHIN GROUP",
            call.name.span,
            "It goes with percentile_cont, percentile_disc, mode and listagg.",
        )
    if len(order) > 1:
        p.fail(f"{call.name.text} goes by one expression", order[1].span, _USAGE)
    key = order[0]
    if name == "mode" and key.descending:
        p.fail("mode gives the least of several values, so it has no DESC", key.span, "Leave DESC out.")
    args = (key.expression, *call.args)
    if key.descending:
        args = (key.expression, *_from_the_top(p, name, call))
    return replace(call, args=args, span=p.since(call.span))


def _from_the_top(p: ExpressionParser, name: str, call: FunctionCall) -> tuple[Node, ...]:
    """The constants of a quantile that is counted from the greatest value down."""
    if len(call.args) != 1 or not isinstance(share := call.args[0], Constant):
        p.fail(f"{call.name.text} takes one number here", call.span, _USAGE)
    if name in _DISCRETE:
        return (share, Constant(True, pl.Boolean(), share.span))
    if not isinstance(share.value, int | float | Decimal):
        return (share,)
    return (Constant(float(1 - Decimal(str(share.value))), pl.Float64(), share.span),)


def with_nulls_left_out(call: FunctionCall, function: str | None) -> FunctionCall:
    """`first(x) IGNORE NULLS` as `first(x) FILTER (WHERE x IS NOT NULL)`; most aggregates leave NULLs out anyway.

    Args:
        call: the call.
        function: the aggregate's own name; None for one of a user's, which is given NULLs.
    """
    if call.ignore_nulls is None:
        return call
    if not call.args:
        return replace(call, ignore_nulls=None)
    if function not in (None, "first", "last", "arg_min", "arg_max"):
        return replace(call, ignore_nulls=None)
    given = Operation("is_not_null", call.args[:1], call.args[0].span)
    where = given if call.where is None else Operation("and", (call.where, given), given.span)
    return replace(call, ignore_nulls=None, where=where)


def counted_together(call: FunctionCall) -> FunctionCall:
    """`count(DISTINCT a, b)` as the count of one value: rows where one of them is NULL don't count."""
    if not call.distinct or len(call.args) < 2 or call.name.text.lower() != "count":
        return call
    pairs: list[Node] = []
    condition = call.where
    for i, arg in enumerate(call.args, 1):
        pairs += [Constant(f"{i}", pl.String(), arg.span), arg]
        given = Operation("is_not_null", (arg,), arg.span)
        condition = given if condition is None else Operation("and", (condition, given), arg.span)
    return replace(call, args=(Operation("named_struct", tuple(pairs), call.span),), where=condition)
