"""The tokens of one statement, and the small vocabulary the `parse_*` files are written in: `word`, `expect`, `fail`, ...

Tokens come from sqlglot's Spark tokenizer with our words (`dialect`). Its parser isn't used: see `nodes`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import NoReturn

from sqlglot import TokenType
from sqlglot.errors import SqlglotError

from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.syntax.diagnose import nearest
from jupyter_stream.syntax.dialect import RESERVED, StreamDialect
from jupyter_stream.syntax.nesting import MANY_VALUES, MOST_WORDS
from jupyter_stream.syntax.parameters import Parameters, look_up
from jupyter_stream.syntax.script import Piece
from jupyter_stream.syntax.source_text import Name, SourceText, Span

_WINDOW_WORDS = ("RANGE", "ROWS", "SESSION")
CLAUSE_WORDS = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "UNION", "UNION ALL", "EXCEPT", "INTERSECT",
    "JOIN", "EMIT", "WITH PREFERENCE", "WITH TOLERANCE", "SAMPLE", "WATERMARK FOR", "SOURCE", "WITH", "AS", "AND", "OR",
    "BETWEEN",
)  # fmt: skip
"""What a misspelt word between two clauses may have been meant to be."""

_MOST_DIGITS = 1_000
"""Digits a number may have: the least fraction has 767 that count."""
_WORDS = re.compile(
    r"""(?P<comment>--[^\n]*|/\*.*?\*/)|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`|\w+|[^\w\s]""", re.DOTALL
)
"""What a statement is made of, told apart well enough to be counted."""
_AFTER_NAMES = (None, TokenType.COMMA, TokenType.FROM, TokenType.ALIAS, TokenType.R_PAREN)
"""What comes behind a column in a list, and behind no word that begins a clause."""
_TEXTS = (TokenType.STRING, TokenType.RAW_STRING, TokenType.IDENTIFIER)


@dataclass(frozen=True, slots=True)
class Token:
    """A word, sign or literal. The one behind the last has no kind and is false.

    Attributes:
        kind: sqlglot's.
        text: without quotes.
        span: quotes included.
    """

    kind: TokenType | None
    text: str
    span: Span

    def __bool__(self) -> bool:
        return self.kind is not None


class TokenPlaces:
    """Where parentheses and named windows of some tokens are, found in one pass when first asked: thousands can be nested.

    Args:
        tokens: they, and no others.
    """

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens

    @cached_property
    def closing(self) -> dict[int, int]:
        """The place of each `(` that is closed, with that of its `)`."""
        closed: dict[int, int] = {}
        opened: list[int] = []
        for at, token in enumerate(self.tokens):
            if token.kind == TokenType.L_PAREN:
                opened.append(at)
            elif token.kind == TokenType.R_PAREN and opened:
                closed[opened.pop()] = at
        return closed

    @cached_property
    def after_opening(self) -> dict[int, int]:
        """The place of each `(`, with that of the first token behind it that isn't one."""
        behind: dict[int, int] = {}
        for at in range(len(self.tokens) - 1, -1, -1):
            if self.tokens[at].kind == TokenType.L_PAREN:
                behind[at] = behind.get(at + 1, at + 1)
        return behind

    @cached_property
    def last_window(self) -> int:
        """The place of the last token that says WINDOW; -1 if none does."""
        places = range(len(self.tokens) - 1, -1, -1)
        return next((at for at in places if self.tokens[at].text.upper() == "WINDOW"), -1)


def _check_size(piece: Piece, source: SourceText) -> None:
    """Raise for more words than can be planned in seconds, at the first too many and before any work."""
    if len(piece.masked) <= MOST_WORDS:
        return
    words = (found for found in _WORDS.finditer(piece.masked) if found.lastgroup != "comment")
    extra = next(islice(words, MOST_WORDS, None), None)
    if extra is not None:
        raise source.error(
            f"a statement may have {MOST_WORDS:,} words and signs, and here begins the next one",
            Span(piece.span.start + extra.start(), piece.span.start + extra.end()),
            MANY_VALUES,
        )


class Reader:
    """Reads one statement from left to right.

    Args:
        piece: the statement's text.
        source: the cell, for errors.
        parameters: values of `:name` and `{{ }}`.

    Raises:
        QueryError: the text isn't made of words and signs.
    """

    def __init__(self, piece: Piece, source: SourceText, parameters: Parameters) -> None:
        self.piece = piece
        self.source = source
        self.parameters = parameters
        _check_size(piece, source)
        try:
            made = StreamDialect().tokenize(piece.masked)
        except SqlglotError:  # its words are for people who write parsers
            raise source.error("this can't be read as a statement of SQL", piece.span) from None
        at = piece.span.start
        self.tokens = [Token(t.token_type, t.text, Span(at + t.start, at + t.end + 1)) for t in made]
        long = next((t for t in self.tokens if t.kind == TokenType.NUMBER and len(t.text) > _MOST_DIGITS), None)
        if long is not None:
            raise source.error(
                f"this number has {len(long.text):,} digits, and the most is {_MOST_DIGITS:,}", long.span
            )
        self._end = Token(None, "", self.tokens[-1].span if self.tokens else piece.span)
        self.index = 0
        self._places = TokenPlaces(self.tokens)

    @property
    def places(self) -> TokenPlaces:
        """Those of the tokens as they are."""
        if self._places.tokens is not self.tokens:
            self._places = TokenPlaces(self.tokens)
        return self._places

    @property
    def curr(self) -> Token:
        """The token that comes next."""
        # asked for some three hundred times in a small query: a call of `token` would take as long again
        try:
            return self.tokens[self.index]
        except IndexError:
            return self._end

    @property
    def next(self) -> Token:
        """The token after that."""
        return self.token(1)

    @property
    def prev(self) -> Token:
        """The token just taken."""
        return self.tokens[self.index - 1] if self.index else self._end

    def token(self, count: int) -> Token:
        """A token further on."""
        at = self.index + count
        return self.tokens[at] if at < len(self.tokens) else self._end

    def advance(self, count: int = 1) -> None:
        """Take tokens."""
        self.index = min(self.index + count, len(self.tokens))

    @property
    def here(self) -> Span:
        """Where the token that comes next stands; behind the last one, where that stands."""
        return self.curr.span

    @property
    def prev_span(self) -> Span:
        """Where the token just taken stands."""
        return self.prev.span

    @property
    def at_end(self) -> bool:
        """Whether nothing is left."""
        return not self.curr

    def since(self, start: Span) -> Span:
        """From a place to the token just taken."""
        return Span(start.start, max(self.prev_span.end, start.end))

    def peek(self, *words: str) -> bool:
        """Whether these words come next, in any case."""
        tokens, at = self.tokens, self.index
        for word in words:
            if at >= len(tokens) or tokens[at].kind in _TEXTS or tokens[at].text.upper() != word:
                return False
            at += 1
        return True

    def word(self, *words: str) -> bool:
        """Take these words if they come next."""
        found = self.peek(*words)
        if found:
            self.advance(len(words))
        return found

    def comes(self, *kinds: TokenType) -> bool:
        """Whether one of these kinds of token comes next."""
        return self.curr.kind in kinds

    def sign(self, kind: TokenType) -> bool:
        """Take this kind of token if it comes next."""
        found = self.curr.kind == kind
        if found:
            self.advance()
        return found

    def expect(self, *words: str, hint: str | None = None) -> Span:
        """Take these words.

        Raises:
            QueryError: they don't come next.
        """
        start = self.here
        if not self.word(*words):
            right = " ".join(words)
            misspelt = self.comes(TokenType.VAR) and nearest(self.curr.text, (right,), 0.6)
            self.fail(f"{right} is missing here", hint=hint or (f"Did you mean {right}?" if misspelt else None))
        return self.since(start)

    def expect_sign(self, kind: TokenType, shown: str, hint: str | None = None) -> None:
        """Take this sign or say that it is missing."""
        if not self.sign(kind):
            self.fail(f"{shown} is missing here", hint=hint)

    def name(self, what: str) -> Name:
        """Take a name.

        Args:
            what: what it names ("a stream"), for the error.
        """
        token = self.curr
        if token.kind not in (TokenType.VAR, TokenType.IDENTIFIER):
            hint = None
            if token.text.upper() in RESERVED:
                hint = f"{token.text} is a reserved word. To use it as a name, write `{token.text}`."
            elif token.kind == TokenType.STRING:
                hint = "Write a name without quotes, or in `backticks`."
            self.fail(f"the name of {what} is missing here", hint=hint)
        if token.text.startswith("$"):
            self.fail("a name can't start with $: the system uses such names", hint="Choose another name.")
        self.advance()
        return Name(token.text, token.span)

    def option_name(self) -> Name:
        """Take the name of an option. Reserved words are names there (`end = 'latest'`): nothing else could stand."""
        return self.any_name("an option")

    def any_name(self, what: str) -> Name:
        """Take a name where nothing else could stand, so that reserved words are names, too."""
        if self.curr.text.upper() not in RESERVED or self.curr.kind in _TEXTS:
            return self.name(what)
        name = Name(self.curr.text, self.here)
        self.advance()
        return name

    def stream_name(self, what: str) -> Name:
        """Take the name of a stream, which may hold hyphens without blanks around them (`larceny-in-progress` [esl])."""
        name = self.name(what)
        text, end = name.text, name.span.end
        while self.comes(TokenType.DASH) and self.curr.span.start == end:
            part = self.next
            if part.span.start != self.curr.span.end or not part.text[:1].isalpha() or part.kind in _TEXTS:
                break
            self.advance(2)
            text, end = f"{text}-{part.text}", part.span.end
        return name if text == name.text else Name(text, Span(name.span.start, end))

    def failure(
        self, message: str, span: Span | None = None, hint: str | None = None, kind: type[QueryError] = QueryError
    ) -> QueryError:
        """An error at a place, that of the next token unless said."""
        if span is None:
            span = self.here
            if self.at_end and "missing" in message:
                message += ": the statement ends here"
        return self.source.error(message, span, hint, kind)

    def fail(
        self, message: str, span: Span | None = None, hint: str | None = None, kind: type[QueryError] = QueryError
    ) -> NoReturn:
        """Raise that error."""
        raise self.failure(message, span, hint, kind)

    def unsupported(self, clause: str, span: Span | None = None, hint: str | None = None) -> NoReturn:
        """Refuse a clause that is right but can't be run yet."""
        self.fail(f"{clause} isn't available in this version", span, hint, UnsupportedError)

    def missing(self, what: str) -> NoReturn:
        """Say that an expression is missing here."""
        hint = None
        if self.curr.text.upper() in RESERVED:
            hint = f"{self.curr.text.upper()} is a reserved word: to use it as a name, write `{self.curr.text}`."
            if self.prev.kind == TokenType.COMMA and self.next.kind not in _AFTER_NAMES:
                hint = "Remove the comma before it."
        if self.prev.kind == TokenType.EQ and self.curr.kind == TokenType.GT:
            hint = "Arguments have no names here, they go by their place: leave the name and => out."
        self.fail(f"{what} is missing here", hint=hint)

    def unexpected(self, expected: tuple[str, ...] = CLAUSE_WORDS) -> NoReturn:
        """Say that the next token has no business here, and what was meant if that can be told."""
        token, previous = self.curr, self.prev
        if previous.kind == TokenType.VAR and previous.text.upper() in _WINDOW_WORDS and token.kind == TokenType.NUMBER:
            # `FROM packets RANGE 5 MINUTES`: RANGE was taken for an alias
            self.fail(
                "a window must be in square brackets",
                previous.span,
                f"Write [{previous.text} ...] after the stream's name.",
            )
        if previous.text.upper() == "TOP" and token.kind == TokenType.NUMBER:
            self.fail(
                f"TOP {token.text} isn't expected here",
                previous.span,
                f"Write LIMIT {token.text} at the end.",
            )
        if previous.kind == TokenType.VAR:
            # `FROM packets GROP BY k`: GROP was taken for an alias, BY is what doesn't fit.
            meant = nearest(f"{previous.text} {token.text}", expected, 0.75) or nearest(previous.text, expected, 0.74)
            if meant and meant.split()[0] != previous.text.upper():
                self.fail(f"{previous.text} isn't a clause", previous.span, f"Did you mean {meant}?")
        if token.kind == TokenType.VAR:
            meant = nearest(token.text, expected, 0.74)
            if meant and meant.split()[0] != token.text.upper():
                self.fail(f"{token.text} isn't expected here", hint=f"Did you mean {meant}?")
        hint = None
        if token.kind in (TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING):
            hint = "Is a comma missing before it?"
        elif token.kind == TokenType.L_BRACKET:
            hint = "Write a window after the stream's name in FROM, or after an aggregate."
        elif token.kind == TokenType.ARROW:
            hint = "For a field of a JSON text write get_json_object(text, '$.a'); for one of a STRUCT, column.field."
        elif token.kind == TokenType.R_PAREN:
            hint = "There is no ( for this )."
        elif token.kind == TokenType.R_BRACKET:
            hint = "There is no [ for this ]."
        elif token.kind == TokenType.L_BRACE:
            hint = "Write a window in square brackets, and a value from the notebook in {{ }}."
        at = self.piece.span.start
        self.fail(f"{self.piece.masked[token.span.start - at : token.span.end - at]} isn't expected here", hint=hint)

    def value_ahead(self) -> bool:
        """Whether a parameter comes next."""
        if self.comes(TokenType.PLACEHOLDER):
            return True
        return self.comes(TokenType.COLON) and bool(self.next) and self.next.span.start == self.curr.span.end

    def value(self) -> tuple[str, object, Span]:
        """Take a parameter: what is written, its value, its place."""
        token = self.curr
        if token.kind == TokenType.PLACEHOLDER:
            if token.span.start not in self.piece.values:
                self.fail("? is not a parameter here", hint="Write a parameter as :name or {{ expression }}.")
            self.advance()
            expression, span = self.piece.values[token.span.start]
        else:
            self.advance(2)
            expression, span = self.prev.text, token.span.to(self.prev.span)
        return expression, look_up(expression, self.parameters, self.source, span), span

    def text_since(self, index: int, until: Span | None = None) -> str:
        """What was typed from a token (by its number) to the one just taken, or to a place; comments and runs of blanks
        are single blanks.
        """
        text, end = "", -1
        for token in self.tokens[index : self.index]:
            if until is not None and token.span.start >= until.start:
                break
            _, span = self.piece.values.get(token.span.start, ("", token.span))
            text += (" " if 0 <= end < span.start else "") + self.source.text[span.start : span.end]
            end = span.end
        return text
