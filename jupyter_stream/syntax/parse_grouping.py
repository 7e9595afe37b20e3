"""GROUP BY as written, and the groupings that ROLLUP, CUBE and GROUPING SETS stand for.

GROUP BY ROLLUP (a, b)                    GROUPING SETS ((a, b), (a), ())
GROUP BY CUBE (a, b)                      GROUPING SETS ((a, b), (a), (b), ())
GROUP BY a, GROUPING SETS ((b), ())       GROUPING SETS ((a, b), (a))
GROUP BY a, b WITH ROLLUP                 GROUP BY ROLLUP (a, b)
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from typing import Final, TypeAlias

from sqlglot import TokenType

from jupyter_stream.syntax.nodes import FunctionCall, Node, ValueList
from jupyter_stream.syntax.parse_expression import ExpressionParser
from jupyter_stream.syntax.source_text import Span

MOST_SETS = 64
"""Groupings a SELECT may have: each is answered by an aggregate of its own."""
_USAGE = "Write GROUP BY GROUPING SETS ((a, b), (a), ())."
_BEHIND: Final = (
    TokenType.HAVING, TokenType.ORDER_BY, TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.R_PAREN,
    TokenType.R_BRACE, TokenType.SEMICOLON,
)  # fmt: skip
"""What comes behind GROUP BY ALL, where ALL is no column."""
_WORDS_BEHIND: Final = ("QUALIFY", "MINUS", "LIMIT", "OFFSET", "FETCH", "EMIT")

Set: TypeAlias = tuple[Node, ...]


@dataclass(frozen=True)
class GroupByClause:
    """What stands behind GROUP BY.

    Attributes:
        keys: all grouping expressions, in order.
        all: GROUP BY ALL.
        sets: of ROLLUP, CUBE and GROUPING SETS, the keys of each grouping; () without them.
    """

    keys: Set = ()
    all: bool = False
    sets: tuple[Set, ...] = ()


def parse_grouping(p: ExpressionParser) -> GroupByClause:
    """Take GROUP BY, if it comes next."""
    if not p.comes(TokenType.GROUP_BY):
        return GroupByClause()
    word, start = p.curr.text.upper(), p.here
    p.advance()
    if word == "GROUP":
        if p.comes(TokenType.DASH):
            p.advance()
        p.expect("BY", hint="Write GROUP BY.")
    if p.peek("ALL") and (not p.next or p.next.kind in _BEHIND or p.next.text.upper() in _WORDS_BEHIND):
        p.advance()
        return GroupByClause(all=True)
    parts = [_part(p)]
    while p.sign(TokenType.COMMA):
        parts.append(_part(p))
    if p.word("WITH", "ROLLUP") or p.word("WITH", "CUBE"):
        rollup = p.prev.text.upper() == "ROLLUP"
        keys = [key for sets in parts for key in sets[0]]
        parts = [_of_call(p, [(key,) for key in keys], rollup, start)]
    elif all(len(sets) == 1 and sets[0] for sets in parts):
        return GroupByClause(tuple(key for (keys,) in parts for key in keys))
    return _put_together(p, parts, p.since(start))


def _put_together(p: ExpressionParser, parts: list[list[Set]], span: Span) -> GroupByClause:
    count = 1
    for sets in parts:
        count *= len(sets)
    _check(p, count, span)
    made = tuple(_each_once([key for keys in chosen for key in keys]) for chosen in product(*parts))
    keys = _each_once([key for keys in made for key in keys])
    return GroupByClause(keys or (ValueList((), span),), sets=made)


def _each_once(keys: list[Node]) -> Set:
    found: list[Node] = []
    for key in keys:
        if key not in found:
            found.append(key)
    return tuple(found)


def _check(p: ExpressionParser, count: int, span: Span) -> None:
    if count > MOST_SETS:
        p.fail(f"these are {count:,} groupings, and a SELECT may have {MOST_SETS}", span, _USAGE)


def _part(p: ExpressionParser) -> list[Set]:
    """The sets of one item of the list."""
    start = p.here
    if p.word("GROUPING", "SETS"):
        p.expect_sign(TokenType.L_PAREN, "(", _USAGE)
        sets = _part(p)
        while p.sign(TokenType.COMMA):
            sets += _part(p)
        p.expect_sign(TokenType.R_PAREN, ")", _USAGE)
        return sets
    if p.comes(TokenType.L_PAREN) and p.next.kind == TokenType.R_PAREN:
        p.advance(2)
        return [()]
    key = p.expression("a grouping column")
    if isinstance(key, FunctionCall) and key.name.text.upper() in ("ROLLUP", "CUBE"):
        rollup = key.name.text.upper() == "ROLLUP"
        return _of_call(p, [_keys(arg) for arg in key.args], rollup, p.since(start))
    return [_keys(key)]


def _keys(node: Node) -> Set:
    return node.items if isinstance(node, ValueList) else (node,)


def _of_call(p: ExpressionParser, items: list[Set], rollup: bool, span: Span) -> list[Set]:
    """Of ROLLUP all beginnings of its list, the longest first; of CUBE all choices."""
    _check(p, len(items) + 1 if rollup else 2 ** len(items), span)
    if rollup:
        chosen = [items[:count] for count in range(len(items), -1, -1)]
    else:
        chosen = [list(some) for count in range(len(items), -1, -1) for some in combinations(items, count)]
    return [tuple(key for keys in some for key in keys) for some in chosen]
