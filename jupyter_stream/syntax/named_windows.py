"""`WINDOW w AS (PARTITION BY k ROWS 9 PRECEDING)`: what is in the parentheses stands where its name stands behind OVER."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import TokenType

from jupyter_stream.syntax.diagnose import did_you_mean

if TYPE_CHECKING:
    from jupyter_stream.syntax.parse_expression import ExpressionParser
    from jupyter_stream.syntax.reader import Token

_ENDS = (TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.ORDER_BY)
_WORDS = ("MINUS", "LIMIT", "OFFSET", "EMIT")
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
_USAGE = "Write WINDOW w AS (PARTITION BY k ROWS 9 PRECEDING), and sum(x) OVER w."


def put_in_place(p: ExpressionParser) -> None:
    """Write the named windows of the SELECT that comes next where they are used, and take the clause out.

    Raises:
        QueryError: the clause isn't whole, a name appears twice, or OVER names a window that isn't there.
    """
    if p.places.last_window < p.index:
        return
    begin, end = p.index, _end(p.tokens, p.index)
    clause = next((i for i in _own(p.tokens, begin, end) if _is_clause(p.tokens, i, end)), None)
    if clause is None:
        return
    windows, behind = _definitions(p, clause, end)
    own = set(_own(p.tokens, begin, end))
    made: list[Token] = []
    for at in range(begin, end):
        if clause <= at < behind:
            continue
        if at in own and at > begin and p.tokens[at].kind in _NAMES and _follows_over(p.tokens, at):
            bare = p.tokens[at - 1].kind != TokenType.L_PAREN
            inside = windows.get(p.tokens[at].text.lower())
            if inside is not None:
                made += inside if bare else inside[1:-1]
                continue
            if bare:
                _unknown(p, at, windows)
        made.append(p.tokens[at])
    p.tokens = [*p.tokens[:begin], *made, *p.tokens[end:]]


def _end(tokens: Sequence[Token], begin: int) -> int:
    """The first token that isn't the SELECT's own."""
    depth = 0
    for at in range(begin, len(tokens)):
        token = tokens[at]
        if token.kind == TokenType.L_PAREN:
            depth += 1
        elif token.kind == TokenType.R_PAREN:
            depth -= 1
            if depth < 0:
                return at
        elif depth == 0 and (token.kind in _ENDS or token.text.upper() in _WORDS):
            return at
    return len(tokens)


def _own(tokens: Sequence[Token], begin: int, end: int) -> list[int]:
    """Tokens that are not of a SELECT inside this one."""
    found, skip = [], 0
    for at in range(begin, end):
        token = tokens[at]
        if skip:
            skip += (token.kind == TokenType.L_PAREN) - (token.kind == TokenType.R_PAREN)
        elif token.kind == TokenType.L_PAREN and at + 1 < end and tokens[at + 1].kind == TokenType.SELECT:
            skip = 1
        else:
            found.append(at)
    return found


def _is_clause(tokens: Sequence[Token], at: int, end: int) -> bool:
    ahead = [t.kind for t in tokens[at + 1 : min(at + 4, end)]]
    word = tokens[at].text.upper() == "WINDOW"
    return word and ahead[:1] != [] and ahead[0] in _NAMES and ahead[1:] == [TokenType.ALIAS, TokenType.L_PAREN]


def _follows_over(tokens: Sequence[Token], at: int) -> bool:
    """Whether a name stands behind OVER, or first in its parentheses."""
    before = at - 2 if tokens[at - 1].kind == TokenType.L_PAREN else at - 1
    return before >= 0 and tokens[before].text.upper() == "OVER"


def _definitions(p: ExpressionParser, at: int, end: int) -> tuple[dict[str, list[Token]], int]:
    """What each name stands for, parentheses included, and where the clause ends."""
    windows: dict[str, list[Token]] = {}
    while True:
        name = p.tokens[at + 1]
        if not (
            name.kind in _NAMES and [t.kind for t in p.tokens[at + 2 : at + 4]] == [TokenType.ALIAS, TokenType.L_PAREN]
        ):
            p.fail("a window and its name are missing here", name.span, _USAGE)
        close, depth = at + 3, 0
        while close < end:
            kind = p.tokens[close].kind
            depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
            if depth == 0:
                break
            close += 1
        else:
            p.fail(") is missing", p.tokens[at + 3].span, _USAGE)
        inside = list(p.tokens[at + 3 : close + 1])
        if inside[1].kind in _NAMES and inside[1].text.lower() in windows:
            inside[1:2] = windows[inside[1].text.lower()][1:-1]
        if name.text.lower() in windows:
            p.fail(f"two windows are called {name.text}", name.span, "Give one of them another name.")
        windows[name.text.lower()] = inside
        at = close + 1
        if at >= end or p.tokens[at].kind != TokenType.COMMA:
            return windows, at


def _unknown(p: ExpressionParser, at: int, windows: dict[str, list[Token]]) -> None:
    name = p.tokens[at]
    p.fail(
        f"there is no window called {name.text}", name.span, did_you_mean(name.text, list(windows), "windows") or _USAGE
    )


__all__ = ["put_in_place"]
