"""Functions that make rows of arrays: `UNNEST(a)`, `explode(a)`, `LATERAL VIEW explode(a) t AS x`, and in a select list.

SELECT id, explode(xs) AS x FROM t
SELECT id, i.x FROM t, UNNEST(xs) AS i (x)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sqlglot import TokenType

from jupyter_stream.syntax.nodes import ColumnRef, FunctionCall, Node, Star, rewritten, walk
from jupyter_stream.syntax.parse_expression import ExpressionParser
from jupyter_stream.syntax.query_syntax import FromItem, ItemsRef, JoinRef, SelectItem
from jupyter_stream.syntax.source_text import Name, Span

MAKERS: Final = ("UNNEST", "explode", "posexplode", "inline", "stack", "range", "generate_series")
"""Functions that make rows, as people write them; those of Spark also with `_outer` behind."""
_IN_SELECT: Final = frozenset(("unnest", "explode", "posexplode", "inline", "stack"))
_OUTER: Final = "_outer"


def makes_rows(name: str) -> bool:
    """Whether a function, in lower case, makes rows."""
    return name.removesuffix(_OUTER) in {maker.lower() for maker in MAKERS}


def lateral_ahead(p: ExpressionParser) -> bool:
    """Whether LATERAL comes next before what it is said of."""
    if not p.peek("LATERAL"):
        return False
    if p.next.kind == TokenType.L_PAREN:
        return True
    return p.next.kind in (TokenType.VAR, TokenType.TABLE) and p.token(2).kind == TokenType.L_PAREN


def parse_items(p: ExpressionParser, name: Name, start: Span) -> ItemsRef:
    """Take the rest of such a call in FROM, behind its `(`."""
    args = [p.expression("an array")]
    while p.sign(TokenType.COMMA):
        args.append(p.expression("an array"))
    p.close()
    numbered = p.word("WITH", "ORDINALITY") or p.word("WITH", "OFFSET")
    return _items(name.text.lower(), tuple(args), numbered, None, p.since(start))


def _items(
    called: str, args: tuple[Node, ...], numbered: bool, alias: Name | None, span: Span, columns: tuple[Name, ...] = ()
) -> ItemsRef:
    function = called.removesuffix(_OUTER)
    return ItemsRef(
        function, args, called != function, numbered or function == "posexplode", None, alias, span, columns=columns
    )


def lateral_view(p: ExpressionParser) -> ItemsRef | None:
    """Take Spark's `LATERAL VIEW [OUTER] explode(xs) t AS x`; None where it doesn't come."""
    start = p.here
    if not p.word("LATERAL", "VIEW"):
        return None
    usage = "Write LATERAL VIEW explode(xs) t AS x."
    outer = p.word("OUTER")
    name = p.name("a function that makes rows")
    if not makes_rows(name.text.lower()):
        p.fail(f"{name.text} doesn't make rows", name.span, usage)
    p.expect_sign(TokenType.L_PAREN, "(", usage)
    made = parse_items(p, name, start)
    alias = None if p.comes(TokenType.ALIAS) or not p.comes(TokenType.VAR, TokenType.IDENTIFIER) else p.name("a view")
    columns: list[Name] = []
    if p.sign(TokenType.ALIAS):
        columns.append(p.name("a column"))
        while p.comes(TokenType.COMMA) and p.next.kind in (TokenType.VAR, TokenType.IDENTIFIER):
            p.advance()
            columns.append(p.name("a column"))
    return replace(made, alias=alias, columns=tuple(columns), outer=made.outer or outer, span=p.since(start))


def items_into_from(
    p: ExpressionParser, items: tuple[SelectItem, ...], source: FromItem
) -> tuple[tuple[SelectItem, ...], FromItem]:
    """A select list without functions that make rows, which stand behind what is in FROM instead."""
    made: list[SelectItem] = []
    for item in items:
        calls = [node for node in walk(item.expression) if _is_maker(node)]
        if not calls:
            made.append(item)
            continue
        if len(calls) > 1:
            p.fail(
                "one function that makes rows can stand in an expression",
                calls[1].span,
                "Write them in FROM: FROM t, UNNEST(a) AS x (i), UNNEST(b) AS y (j).",
            )
        call = calls[0]
        assert isinstance(call, FunctionCall)
        called, alias = call.name.text.lower(), Name(f"(items {call.span.start})", call.span)
        rows = _items(called, call.args, False, alias, call.span)
        if rows.function in ("unnest", "explode"):
            column = Name("col", call.span)
            rows = replace(rows, columns=(column,))
            whole = _with_column(item.expression, call, ColumnRef(column, alias, call.span))
            text = "col" if item.expression is call else item.text
            made.append(replace(item, expression=whole, text=text))
        elif item.expression is call and item.alias is None:
            made.append(replace(item, expression=Star(alias, call.span)))
        else:
            p.fail(
                f"{call.name.text} makes several columns, which can't be one here",
                call.span,
                f"Write it in FROM, with names: FROM t LATERAL VIEW {call.name.text}(...) v AS a, b.",
            )
        source = JoinRef("inner", (source, rows), None, (), source.span)
    return tuple(made), source


def _is_maker(node: Node) -> bool:
    return isinstance(node, FunctionCall) and node.name.text.lower().removesuffix(_OUTER) in _IN_SELECT


def _with_column(whole: Node, call: Node, column: ColumnRef) -> Node:
    """An expression with a column in the place of a call."""
    return rewritten(whole, lambda node: column if node is call else None)


__all__ = ["MAKERS", "items_into_from", "lateral_ahead", "lateral_view", "makes_rows", "parse_items"]
