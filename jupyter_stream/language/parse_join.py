"""Joins in FROM, as written: comma lists, `[LEFT|RIGHT|FULL|INNER|CROSS|LEFT SEMI|LEFT ANTI] JOIN b ON ...` and USING."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import TokenType

from jupyter_stream.language.nodes import FunctionCall, Node, walk
from jupyter_stream.language.parse_expression import ExpressionParser
from jupyter_stream.language.query_syntax import FromItem, JoinKind, JoinRef, SetBody, SubqueryRef, parts_of
from jupyter_stream.language.source_text import Name

_KINDS: tuple[tuple[tuple[str, ...], JoinKind, bool], ...] = (
    (("LEFT", "SEMI", "JOIN"), "semi", True),
    (("LEFT", "ANTI", "JOIN"), "anti", True),
    (("SEMI", "JOIN"), "semi", True),
    (("ANTI", "JOIN"), "anti", True),
    (("LEFT", "OUTER", "JOIN"), "left", True),
    (("RIGHT", "OUTER", "JOIN"), "right", True),
    (("FULL", "OUTER", "JOIN"), "full", True),
    (("LEFT", "JOIN"), "left", True),
    (("RIGHT", "JOIN"), "right", True),
    (("FULL", "JOIN"), "full", True),
    (("INNER", "JOIN"), "inner", True),
    (("CROSS", "JOIN"), "inner", False),
    (("JOIN",), "inner", True),
)
"""The words, the kind, and whether a condition belongs to it."""
_REFUSED = ("NATURAL", "ASOF", "LATERAL")


def parse_joins(p: ExpressionParser, item: Callable[[ExpressionParser], FromItem]) -> FromItem:
    """Take FROM items with commas or JOINs between them.

    Args:
        p: the parser.
        item: takes one item.
    """
    start = p.here
    found = item(p)
    listed = [found]
    while True:
        if p.sign(TokenType.COMMA):
            if p.comes(TokenType.WHERE):  # a comma too many, as the thesis prints it
                break
            right = item(p)
            listed.append(right)
            found = JoinRef("inner", (found, right), None, (), p.since(start))
            continue
        kind = _kind(p)
        if kind is None:
            break
        right = item(p)
        listed.append(right)
        on: Node | None = None
        using: tuple[Name, ...] = ()
        if kind[1]:
            if p.word("ON"):
                on = p.expression("a condition")
            elif p.word("USING"):
                using = _using(p)
            else:
                p.fail("ON is missing here", hint="Write JOIN b ON a.k = b.k, or JOIN b USING (k).")
        found = JoinRef(kind[0], (found, right), on, using, p.since(start))
    return _with_shared_window(found, listed) if isinstance(found, JoinRef) else found


def _lives(item: FromItem) -> bool:
    """Whether a SELECT in FROM says itself how long its rows live."""
    if not isinstance(item, SubqueryRef):
        return False
    bodies = [item.body]
    while bodies:
        body = bodies.pop()
        if isinstance(body, SetBody):
            bodies += body.parts
            continue
        called = (n for i in body.items for n in walk(i.expression) if isinstance(n, FunctionCall))
        if any(n.window is not None for n in called) or any(part.window is not None for part in parts_of(body.source)):
            return True
        bodies += [part.body for part in parts_of(body.source) if isinstance(part, SubqueryRef)]
    return False


def _kind(p: ExpressionParser) -> tuple[JoinKind, bool] | None:
    for word in _REFUSED:
        if p.peek(word):
            p.unsupported(f"{word} JOIN", hint="Write JOIN b ON a.k = b.k.")
    for words, kind, conditional in _KINDS:
        if p.word(*words):
            return kind, conditional
    return None


def _using(p: ExpressionParser) -> tuple[Name, ...]:
    p.expect_sign(TokenType.L_PAREN, "(", "Write USING (k).")
    names = [p.name("a column")]
    while p.sign(TokenType.COMMA):
        names.append(p.name("a column"))
    p.expect_sign(TokenType.R_PAREN, ")")
    return tuple(names)


def _with_shared_window(join: JoinRef, listed: list[FromItem]) -> JoinRef:
    """One bracket after the last of a list, where no other has one, is the window of all of them (thesis Q5-7)."""
    window = listed[-1].window
    if window is None or any(one.window is not None or _lives(one) for one in listed[:-1]):
        return join
    left, right = join.parts
    if isinstance(left, JoinRef):
        inner = _with_shared_window(
            replace(left, parts=(left.parts[0], replace(left.parts[1], window=window))), [*listed[:-2], listed[-1]]
        )
        return replace(join, parts=(inner, right))
    return replace(join, parts=(replace(left, window=window), right))
