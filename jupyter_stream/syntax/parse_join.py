"""Joins in FROM, comma lists, `[LEFT|RIGHT|FULL|INNER|CROSS|LEFT SEMI|LEFT ANTI] JOIN b ON ...`, USING, NATURAL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import TokenType

from jupyter_stream.syntax.nodes import FunctionCall, Node, Operation, walk
from jupyter_stream.syntax.parse_expression import ExpressionParser
from jupyter_stream.syntax.parse_items import lateral_view
from jupyter_stream.syntax.query_syntax import (
    FromItem,
    ItemsRef,
    JoinKind,
    JoinRef,
    SetBody,
    SubqueryRef,
    WindowClause,
    parts_of,
)
from jupyter_stream.syntax.source_text import Name, Span

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


def parse_joins(p: ExpressionParser, item: Callable[[ExpressionParser], FromItem]) -> FromItem:
    """Take FROM items with commas or JOINs between them. JOIN binds before a comma, which only RIGHT and FULL JOIN can tell.

    Args:
        p: the parser.
        item: takes one item.
    """
    start = p.here
    found = item(p)
    listed = [found]
    before: FromItem | None = None  # what stands before the last comma
    group, grouped = found, False  # what stands behind it, and whether that had to be joined first
    while True:
        if p.sign(TokenType.COMMA):
            if p.comes(TokenType.WHERE):  # a comma too many, as the thesis prints it
                break
            right = item(p)
            if not _follows_rows(right):
                listed.append(right)
            before, group, grouped = found, right, False
            found = JoinRef("inner", (found, right), None, (), p.since(start))
            continue
        natural = p.prev_span if p.word("NATURAL") else None
        view = lateral_view(p)
        asof, kind = _asof_and_kind(p) if view is None else (None, ("inner", False))
        if natural is not None and (kind is None or not kind[1]):
            p.fail(
                "JOIN is missing here"
                if kind is None
                else "a NATURAL JOIN has its own condition, and a CROSS JOIN has none",
                None if kind is None else natural,
                "Write a NATURAL JOIN b, or a NATURAL LEFT JOIN b.",
            )
        if kind is None:
            if asof is not None:
                p.fail("JOIN is missing here", hint="Write a ASOF JOIN b ON a.k = b.k AND a.ts >= b.ts.")
            break
        right = view or item(p)
        if not _follows_rows(right):
            listed.append(right)
        on, using = _condition(p, right, asof) if natural is None and kind[1] else (None, ())
        group = JoinRef(kind[0], (group, right), on, using, p.since(start), natural=natural, asof=asof)
        grouped = before is not None and (grouped or kind[0] in ("right", "full"))
        if grouped and before is not None:
            found = JoinRef("inner", (before, group), None, (), p.since(start))
        else:
            found = JoinRef(kind[0], (found, right), on, using, p.since(start), natural=natural, asof=asof)
    return _with_shared_window(found, listed) if isinstance(found, JoinRef) else found


def _condition(p: ExpressionParser, right: FromItem, asof: Span | None) -> tuple[Node | None, tuple[Name, ...]]:
    """What a join matches by: a condition, or columns both have."""
    nearest = _match_condition(p) if asof is not None else None
    if p.word("USING"):
        return nearest, _using(p)
    if p.word("ON"):
        on = p.expression("a condition")
        return on if nearest is None else Operation("and", (on, nearest), on.span), ()
    if not _follows_rows(right) and nearest is None:
        p.fail("ON is missing here", hint="Write JOIN b ON a.k = b.k, or JOIN b USING (k).")
    return nearest, ()


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


def _asof_and_kind(p: ExpressionParser) -> tuple[Span | None, tuple[JoinKind, bool] | None]:
    """Where ASOF stands, and the kind; DuckDB and Snowflake put LEFT before ASOF, too."""
    if p.word("LEFT", "ASOF", "JOIN"):
        return p.prev_span, ("left", True)
    return p.prev_span if p.word("ASOF") else None, _kind(p)


def _kind(p: ExpressionParser) -> tuple[JoinKind, bool] | None:
    for words, kind, conditional in _KINDS:
        if p.word(*words):
            return kind, conditional
    return None


def _follows_rows(item: FromItem) -> bool:
    """Whether it says itself which of its rows belong to a row before it, so that it needs no ON."""
    return isinstance(item, ItemsRef) or (isinstance(item, SubqueryRef) and item.lateral)


def _match_condition(p: ExpressionParser) -> Node | None:
    """`MATCH_CONDITION (a.ts >= b.ts)`, as Snowflake writes it."""
    if not p.word("MATCH_CONDITION"):
        return None
    p.expect_sign(TokenType.L_PAREN, "(", "Write MATCH_CONDITION (a.ts >= b.ts).")
    found = p.expression("a condition")
    p.close()
    return found


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
    made = _in_each(join, replace(window, shared=True))
    assert isinstance(made, JoinRef)
    return made


def _in_each(item: FromItem, window: WindowClause) -> FromItem:
    """The window in each item that has none."""
    if _follows_rows(item):
        return item
    if isinstance(item, JoinRef) and item.window is None:
        left, right = item.parts
        return replace(item, parts=(_in_each(left, window), _in_each(right, window)))
    return item if item.window is not None else replace(item, window=window)
