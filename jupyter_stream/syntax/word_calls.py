"""Calls with words between their arguments, in the words of the function table.

FLOOR(ts TO HOUR)                           date_trunc('HOUR', ts)
CEIL(ts TO HOUR)                            the same, an hour later unless ts is one
OVERLAY(a PLACING b FROM 2 FOR 3)           overlay(a, b, 2, 3)
"""  # fmt: skip

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from sqlglot import TokenType

from jupyter_stream.syntax.nodes import Constant, FunctionCall, Node, Operation, UnitWord
from jupyter_stream.syntax.source_text import Name
from jupyter_stream.syntax.unit_words import UNITS, unit

if TYPE_CHECKING:
    from jupyter_stream.syntax.parse_expression import ExpressionParser


def rounded(p: ExpressionParser, name: Name) -> Node:
    """Take what follows `FLOOR(` or `CEIL(`."""
    args = [] if p.comes(TokenType.R_PAREN) else [p.expression("a number or a time")]
    if args and p.word("TO"):
        return _to_unit(p, name, args[0])
    while p.sign(TokenType.COMMA):
        args.append(p.expression("a number"))
    p.close()
    return FunctionCall(name, tuple(args), p.since(name.span))


def _to_unit(p: ExpressionParser, name: Name, time: Node) -> Node:
    word = unit(p.curr.text)
    if word is None:
        p.fail("a unit of time is missing here", hint=f"Write {name.text}(ts TO HOUR); there are {', '.join(UNITS)}.")
    at = p.here
    p.advance()
    p.close()
    span = p.since(name.span)
    floor = Operation("date_trunc", (Constant(word, pl.String(), at), time), span)
    if name.text.lower() == "floor":
        return floor
    one = Constant(1, pl.Int32(), at)
    later = FunctionCall(Name("timestampadd", name.span), (UnitWord(word, pl.String(), at), one, floor), span)
    return Operation("case", (Operation("=", (floor, time), span), floor, later), span)


def overlay(p: ExpressionParser, name: Name) -> Node:
    """Take what follows `OVERLAY(`."""
    args = [p.expression("a text")]
    while p.sign(TokenType.COMMA) or p.word("PLACING") or p.sign(TokenType.FROM) or p.word("FOR"):
        args.append(p.expression("a text or a number"))
    p.close()
    return FunctionCall(name, tuple(args), p.since(name.span))
