"""Arrays, structs and lambdas as they are written: `[1, 2]`, `{'a': 1}`, `a[2:3]`, `x -> x + 1`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from sqlglot import TokenType

from jupyter_stream.syntax.nodes import ColumnRef, Constant, FunctionCall, ItemOf, Lambda, Node
from jupyter_stream.syntax.source_text import Name

if TYPE_CHECKING:
    from jupyter_stream.syntax.parse_expression import ExpressionParser

_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)


def lambda_(p: ExpressionParser) -> Lambda | None:
    """Take `x -> ...` or `(a, b) -> ...`; None where none comes."""
    start = p.here
    if p.comes(*_NAMES) and p.next.kind == TokenType.ARROW:
        names = [p.name("a name")]
    elif p.comes(TokenType.L_PAREN):
        closed = p.places.closing.get(p.index)
        if closed is None or p.token(closed + 1 - p.index).kind != TokenType.ARROW:
            return None
        p.advance()
        names = [p.name("a name")]
        while p.sign(TokenType.COMMA):
            names.append(p.name("a name"))
        p.close()
    else:
        return None
    p.advance()
    p.deeper()
    body = p.expression("what it gives")
    p.out()
    return Lambda(tuple(names), body, p.since(start))


def array_literal(p: ExpressionParser) -> Node:
    """Take `[1, 2, 3]`."""
    start = p.here
    p.advance()
    return FunctionCall(Name("array", start), tuple(_items(p)), p.since(start))


def _items(p: ExpressionParser) -> list[Node]:
    items: list[Node] = []
    if not p.comes(TokenType.R_BRACKET):
        p.deeper()
        items.append(p.expression("an item"))
        while p.sign(TokenType.COMMA):
            items.append(p.expression("an item"))
        p.out()
    p.expect_sign(TokenType.R_BRACKET, "]", "Write [1, 2, 3] for an array.")
    return items


def struct_literal(p: ExpressionParser) -> Node:
    """Take `{'a': 1, 'b': 2}`."""
    start, usage = p.here, "Write {'a': 1, 'b': 2} for a STRUCT."
    p.advance()
    args: list[Node] = []
    p.deeper()
    while True:
        if not p.comes(TokenType.STRING, *_NAMES):
            p.fail("the name of a field is missing here", hint=usage)
        name = p.curr.text
        p.advance()
        args.append(Constant(name, pl.String(), p.prev_span))
        p.expect_sign(TokenType.COLON, ":", usage)
        args.append(p.expression("a value"))
        if not p.sign(TokenType.COMMA):
            break
    p.out()
    p.expect_sign(TokenType.R_BRACE, "}", usage)
    return FunctionCall(Name("named_struct", start), tuple(args), p.since(start))


def struct_call(p: ExpressionParser, name: Name) -> Node:
    """Take the arguments of `struct(a, b AS c)`, behind its `(`."""
    args: list[Node] = []
    called: list[str | None] = []
    while not p.comes(TokenType.R_PAREN):
        args.append(p.expression("a value"))
        called.append(p.name("a field").text if p.sign(TokenType.ALIAS) else None)
        if not p.sign(TokenType.COMMA):
            break
    p.close()
    span = p.since(name.span)
    if not any(called):
        return FunctionCall(name, tuple(args), span)
    named: list[Node] = []
    for number, (arg, alias) in enumerate(zip(args, called, strict=True), 1):
        own = arg.name.text if isinstance(arg, ColumnRef) else f"col{number}"
        named += [Constant(alias or own, pl.String(), arg.span), arg]
    return FunctionCall(Name("named_struct", name.span), tuple(named), span)


def bracketed(p: ExpressionParser, this: Node) -> Node:
    """Take what is in brackets behind a value: the index of an item, `[2:3]`, or the items of ARRAY[...]."""
    p.advance()
    if isinstance(this, ColumnRef) and this.qualifier is None and this.name.text.upper() == "ARRAY":
        return FunctionCall(this.name, tuple(_items(p)), p.since(this.span))
    null = Constant(None, pl.Null(), p.prev_span)
    first = null if p.comes(TokenType.COLON) else p.expression("an index")
    if p.sign(TokenType.COLON):
        last = null if p.comes(TokenType.R_BRACKET) else p.expression("an index")
        p.expect_sign(TokenType.R_BRACKET, "]", "Write a[2:3], from the second item to the third.")
        return FunctionCall(Name("array_slice", this.span), (this, first, last), p.since(this.span))
    p.expect_sign(TokenType.R_BRACKET, "]")
    return ItemOf(this, first, p.since(this.span))


__all__ = ["array_literal", "bracketed", "lambda_", "struct_call", "struct_literal"]
