"""Predicates of other systems about texts, as regular expressions.

x GLOB 'a*'                 rlike(x, '(?s)^a.*$')
x SIMILAR TO 'a(b|c)%'      rlike(x, '(?s)^(?:a(b|c).*)$')
x ~ 'b.'   x !~ 'b.'        rlike(x, 'b.'), and not
x ~* 'b.'  x !~* 'b.'       the same, whatever the case
x ~~ 'a%'  x ~~* 'a%'       LIKE, ILIKE
"""  # fmt: skip

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import polars as pl
from sqlglot import TokenType

from jupyter_stream.syntax.nodes import Constant, Node, Operation

if TYPE_CHECKING:
    from jupyter_stream.syntax.parse_expression import ExpressionParser

_VALUES = (TokenType.STRING, TokenType.RAW_STRING, TokenType.VAR, TokenType.IDENTIFIER, TokenType.L_PAREN, TokenType.PLACEHOLDER,
           TokenType.COLON, TokenType.NULL)  # fmt: skip
"""What a pattern can begin with: GLOB before anything else is a name."""


def matching(p: ExpressionParser, this: Node) -> Node | None:
    """Take one of these predicates, if it comes next."""
    negate = p.comes(TokenType.NOT)
    at = 1 if negate else 0
    if p.token(at).kind == TokenType.TILDE:
        p.advance(at + 1)
        made = _tilde(p, this)
    elif _word(p, at, "GLOB") and p.token(at + 1).kind in _VALUES:
        p.advance(at + 1)
        made = _as_regex(p, this, "GLOB", _glob)
    elif _word(p, at, "SIMILAR") and _word(p, at + 1, "TO"):
        p.advance(at + 2)
        made = _as_regex(p, this, "SIMILAR TO", _similar)
    else:
        return None
    return Operation("not", (made,), made.span) if negate else made


def _word(p: ExpressionParser, at: int, word: str) -> bool:
    token = p.token(at)
    return token.kind == TokenType.VAR and token.text.upper() == word


def _tilde(p: ExpressionParser, this: Node) -> Node:
    like = p.sign(TokenType.TILDE)
    star = p.sign(TokenType.STAR)
    if like:
        return p.like(this, "ilike" if star else "like")
    pattern = p.operand_of("a pattern")
    if star:
        pattern = Operation("concat", (Constant("(?i)", pl.String(), pattern.span), pattern), pattern.span)
    return Operation("rlike", (this, pattern), this.span.to(pattern.span))


def _as_regex(p: ExpressionParser, this: Node, predicate: str, translate: Callable[[str], str]) -> Node:
    pattern = p.operand_of("a pattern")
    span = this.span.to(pattern.span)
    if not isinstance(pattern, Constant) or not (pattern.value is None or isinstance(pattern.value, str)):
        p.fail(f"the pattern of {predicate} must be a text", pattern.span, "Or write rlike(x, pattern).")
    if pattern.value is None:
        return Operation("rlike", (this, Constant(None, pl.String(), pattern.span)), span)
    return Operation("rlike", (this, Constant(translate(pattern.value), pl.String(), pattern.span)), span)


def _plain(character: str) -> str:
    return character if character.isalnum() or character == "_" or ord(character) > 127 else f"\\{character}"


def _glob(pattern: str) -> str:
    """`*` any text, `?` one character, `[a-z]` one of these, `[!a-z]` none of them."""
    made, i = "", 0
    while i < len(pattern):
        c = pattern[i]
        end = pattern.find("]", i + 2) if c == "[" else -1
        if end > 0:
            inner = pattern[i + 1 : end].replace("\\", "\\\\").replace("[", "\\[").replace("&&", "&\\&")
            made += f"[^{inner[1:]}]" if inner[0] in "!^" else f"[{inner}]"
            i = end + 1
            continue
        made += ".*" if c == "*" else "." if c == "?" else _plain(c)
        i += 1
    return f"(?s)^{made}$"


def _similar(pattern: str) -> str:
    """`%` any text, `_` one character; alternatives, groups, classes and quantifiers of regular expressions."""
    made, i, in_class = "", 0, False
    while i < len(pattern):
        c = pattern[i]
        if c == "\\" and i + 1 < len(pattern):
            made, i = made + _plain(pattern[i + 1]), i + 2
            continue
        in_class = (in_class or c == "[") and c != "]"
        if in_class or c in "|*+?{}()]":
            made += c
        else:
            made += ".*" if c == "%" else "." if c == "_" else _plain(c) if c != "," and c != "-" else c
        i += 1
    return f"(?s)^(?:{made})$"
