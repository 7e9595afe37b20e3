"""Expressions: sqlglot's Spark parser with our errors, every function under the name it was written with, and windows
behind aggregates. Not for clauses; the other `parse_*` files use the small vocabulary defined here (`word`, `expect`, ...).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn, TypeVar

import polars as pl
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token

from jupyter_stream.core.schema import INTERVAL, TIMESTAMP
from jupyter_stream.core.time import UNITS, unit
from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.language.diagnose import did_you_mean, nearest
from jupyter_stream.language.dialect import RESERVED, StreamDialect
from jupyter_stream.language.durations import microseconds, parse_duration
from jupyter_stream.language.nodes import CastTo, Constant, Subselect, Windowed, mark
from jupyter_stream.language.parameters import Parameters, constant, look_up
from jupyter_stream.language.parse_type import parse_type
from jupyter_stream.language.script import Piece
from jupyter_stream.language.source_text import SourceText, Span
from jupyter_stream.language.syntax import Name

T = TypeVar("T")

CLAUSE_WORDS = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "UNION", "UNION ALL", "EXCEPT", "INTERSECT",
    "JOIN", "EMIT", "WITH PREFERENCE", "SAMPLE", "WATERMARK FOR", "SOURCE", "WITH", "AS", "AND", "OR", "BETWEEN",
)  # fmt: skip
"""What a misspelt word between two clauses may have been meant to be."""

STOP_WORDS = frozenset((
    "ON", "USING", "LEFT", "RIGHT", "FULL", "INNER", "CROSS", "SEMI", "ANTI", "NATURAL", "WITH", "EMIT", "LIMIT", "OFFSET",
    "SAMPLE", "TABLESAMPLE", "WINDOW", "QUALIFY", "MINUS", "SORT", "CLUSTER", "DISTRIBUTE", "LATERAL", "PIVOT",
))  # fmt: skip
"""Words that can be names, but not an alias without AS: a clause begins there."""

WINDOW_WORDS = frozenset((
    "RANGE", "ROWS", "ROW", "SLIDE", "TUMBLING", "NOW", "UNBOUNDED", "SESSION", "PARTITION", "ON", "WA", "WATTR", "RATTR",
    "SATTR", "PA", "ORIGIN",
))  # fmt: skip
"""Words a window in brackets can begin with."""

_NUMBER_SUFFIXES: dict[str, pl.DataType] = {
    "L": pl.Int64(),
    "S": pl.Int16(),
    "Y": pl.Int8(),
    "D": pl.Float64(),
    "F": pl.Float32(),
    "BD": pl.Float64(),
}
_TYPED_LITERALS: dict[str, pl.DataType] = {
    "DATE": pl.Date(),
    "TIMESTAMP": TIMESTAMP,
    "TIMESTAMP_NTZ": TIMESTAMP,
    "TIMESTAMP_LTZ": TIMESTAMP,
}
_CALENDAR_UNITS = ("MONTH", "MONTHS", "QUARTER", "QUARTERS", "YEAR", "YEARS")


class ExpressionParser(SparkParser):
    """sqlglot's parser for one statement of a cell.

    Every override exists for one of: an error with a place and a way out, a name kept as written, a form of ours.
    """

    FUNCTIONS: ClassVar = {}
    NO_PAREN_FUNCTIONS: ClassVar = {}
    SUBQUERY_PREDICATES: ClassVar = {}
    FUNCTION_PARSERS: ClassVar = {
        "CAST": lambda self: self._cast(safe=False),
        "TRY_CAST": lambda self: self._cast(safe=True),
        "EXTRACT": lambda self: self._parse_extract(),
        "TRIM": lambda self: self._trim(),
        "POSITION": lambda self: self._position(),
        "SUBSTRING": lambda self: self._substring(),
        "SUBSTR": lambda self: self._substring(),
    }
    NO_PAREN_FUNCTION_PARSERS: ClassVar = {"CASE": lambda self: self._parse_case()}
    PRIMARY_PARSERS: ClassVar = {
        TokenType.STRING: lambda self, token: self._string(token),
        TokenType.RAW_STRING: lambda self, token: self._string(token),
        TokenType.NUMBER: lambda self, token: self._number(token),
        TokenType.HEX_STRING: lambda self, token: self._hex(token),
        TokenType.NULL: lambda self, token: self._const(None, pl.Null(), token),
        TokenType.TRUE: lambda self, token: self._const(True, pl.Boolean(), token),
        TokenType.FALSE: lambda self, token: self._const(False, pl.Boolean(), token),
        TokenType.STAR: lambda self, token: mark(exp.Star(), span_of_token(token)),
    }
    STRING_PARSERS: ClassVar = {
        TokenType.STRING: lambda self, token: self._string(token),
        TokenType.RAW_STRING: lambda self, token: self._string(token),
    }
    PLACEHOLDER_PARSERS: ClassVar = {
        TokenType.PLACEHOLDER: lambda self: self._placeholder(),
        TokenType.COLON: lambda self: self._placeholder(),
    }
    source: SourceText
    piece: Piece
    parameters: Parameters
    select_parser: Callable[[ExpressionParser], Any]
    window_parser: Callable[[ExpressionParser], Any]
    over_parser: Callable[[ExpressionParser], Any]
    with_bodies: dict[str, Any]

    @classmethod
    def run(
        cls,
        method: Callable[[ExpressionParser], T],
        piece: Piece,
        source: SourceText,
        parameters: Parameters,
        parsers: tuple[Callable[[ExpressionParser], Any], ...],
    ) -> T:
        """Parse one statement with `method`, to its end.

        Args:
            method: what to parse.
            piece: the statement's text.
            source: the cell.
            parameters: values of `:name` and `{{ }}`.
            parsers: how to parse a SELECT, a window in brackets and what follows OVER, where expressions hold them.

        Raises:
            QueryError: what is written isn't a statement.
        """
        parser = cls(dialect=StreamDialect)
        parser.source, parser.piece, parser.parameters = source, piece, parameters
        parser.select_parser, parser.window_parser, parser.over_parser = parsers
        parser.with_bodies = {}
        try:
            tokens = StreamDialect().tokenize(piece.masked)
            results = parser._parse(method, tokens, piece.masked)  # type: ignore[arg-type]
        except RecursionError:
            raise source.error(
                "this is nested too deeply to be read", piece.span, "Split it into subqueries."
            ) from None
        except SqlglotError:  # its words are for people who write parsers
            raise source.error("this can't be read as a statement", piece.span) from None
        if not results:
            raise source.error("this isn't a statement", piece.span)
        result: Any = results[0]
        made: T = result
        return made

    # -- the vocabulary of the other parse files

    @property
    def here(self) -> Span:
        """The token that comes next; behind the last one, the last."""
        token = self._curr or self._prev
        return span_of_token(token) if token else self.piece.span

    @property
    def behind(self) -> Span:
        """The token just taken."""
        return span_of_token(self._prev) if self._prev else self.here

    @property
    def at_end(self) -> bool:
        """Whether nothing is left."""
        return not self._curr

    def since(self, start: Span) -> Span:
        """From a place to the token just taken."""
        return Span(start.start, max(self.behind.end, start.end))

    def peek(self, *words: str) -> bool:
        """Whether these words come next."""
        return bool(self._match_text_seq(*words, advance=False))

    def word(self, *words: str) -> bool:
        """Take these words if they come next."""
        return bool(self._match_text_seq(*words))

    def sign(self, kind: TokenType) -> bool:
        """Take this sign if it comes next."""
        return bool(self._match(kind))

    def comes(self, *kinds: TokenType) -> bool:
        """Whether one of these kinds of token comes next."""
        return bool(self._curr) and self._curr.token_type in kinds

    def expect(self, *words: str, hint: str | None = None) -> Span:
        """Take these words.

        Raises:
            QueryError: they don't come next.
        """
        start = self.here
        if not self.word(*words):
            self.fail(f"{' '.join(words)} is missing here", hint=hint or self._misspelt(" ".join(words)))
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
        token = self._curr
        if not token or token.token_type not in (TokenType.VAR, TokenType.IDENTIFIER):
            hint = None
            if token and token.text.upper() in RESERVED:
                hint = f"{token.text} is a reserved word. As a name it is written `{token.text}`."
            elif token and token.token_type == TokenType.STRING:
                hint = "A name stands without quotes, or in `backticks`."
            self.fail(f"the name of {what} is missing here", hint=hint)
        self._advance()
        if token.text.startswith("$"):
            raise self.source.error("names that start with $ are the system's own", span_of_token(token))
        return Name(token.text, span_of_token(token))

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

    def value_ahead(self) -> bool:
        """Whether a parameter comes next."""
        if self.comes(TokenType.PLACEHOLDER):
            return True
        return self.comes(TokenType.COLON) and bool(self._next) and self._next.start == self._curr.end + 1

    def value(self) -> tuple[str, object, Span]:
        """Take a parameter: what is written, its value, its place."""
        token = self._curr
        if token.token_type == TokenType.PLACEHOLDER:
            if token.start not in self.piece.values:
                self.fail("a ? stands for nothing here", hint="Parameters are written :name or {{ expression }}.")
            self._advance()
            expression, span = self.piece.values[token.start]
        else:
            self._advance(2)
            expression, span = self._prev.text, Span(token.start, self._prev.end + 1)
        return expression, look_up(expression, self.parameters, self.source, span), span

    def text_since(self, index: int, until: Span | None = None) -> str:
        """What was typed from a token (by its number) to the one just taken, or to a place; comments and runs of blanks
        are single blanks.
        """
        text, end = "", -1
        for token in self._tokens[index : self._index]:
            if until is not None and token.start >= until.start:
                break
            _, span = self.piece.values.get(token.start, ("", span_of_token(token)))
            text += (" " if 0 <= end < span.start else "") + self.source.text[span.start : span.end]
            end = span.end
        return text

    def expression_here(self, what: str) -> exp.Expr:
        """Take an expression.

        Args:
            what: what it is for ("a condition"), for the error.
        """
        node = self._parse_disjunction()
        if node is None:
            self.missing(what)
        return node

    def missing(self, what: str) -> NoReturn:
        """Say that an expression is missing here."""
        hint = None
        if self._curr and self._curr.text.upper() in RESERVED and not self.at_end:
            hint = f"{self._curr.text.upper()} is a reserved word: to use it as a name, write `{self._curr.text}`."
            if self._prev and self._prev.token_type == TokenType.COMMA:
                hint = "Take the comma before it away."
        self.fail(f"{what} is missing here", hint=hint)

    def unexpected(self, expected: tuple[str, ...] = CLAUSE_WORDS) -> NoReturn:
        """Say that the next token has no business here, and what was meant if that can be told."""
        token = self._curr
        previous = self._prev
        if previous and previous.token_type == TokenType.VAR:
            # `FROM packets GROP BY k`: GROP was taken for an alias, BY is what doesn't fit.
            meant = nearest(f"{previous.text} {token.text}", expected, 0.75) or nearest(previous.text, expected, 0.74)
            if meant and meant.split()[0] != previous.text.upper():
                self.fail(f"{previous.text} isn't a clause", span_of_token(previous), f"Did you mean {meant}?")
        if token.token_type == TokenType.VAR:
            meant = nearest(token.text, expected, 0.74)
            if meant and meant.split()[0] != token.text.upper():
                self.fail(f"{token.text} isn't expected here", hint=f"Did you mean {meant}?")
        hint = None
        if token.token_type in (TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING):
            hint = "Is a comma missing before it?"
        elif token.token_type == TokenType.R_PAREN:
            hint = "There is no ( for this )."
        elif token.token_type == TokenType.R_BRACKET:
            hint = "There is no [ for this ]."
        elif token.token_type == TokenType.EQ and previous and previous.token_type == TokenType.EQ:
            hint = "Equality is written ="
        self.fail(f"{self.piece.masked[token.start : token.end + 1]} isn't expected here", hint=hint)

    def _misspelt(self, right: str) -> str | None:
        token = self._curr
        if token and token.token_type == TokenType.VAR and nearest(token.text, (right,), 0.6):
            return f"Did you mean {right}?"
        return None

    # -- sqlglot's own errors in our words

    def raise_error(self, message: str, token: Any = None) -> NoReturn:
        """Every complaint of sqlglot's parser comes here."""
        if "Unexpected token" in message:
            self.unexpected()
        for sqlglots, ours in (
            ("Expecting )", ") is missing here"),
            ("Expecting (", "( is missing here"),
            ("Expecting ]", "] is missing here"),
            ("Expected AS after CAST", "AS is missing here"),
            ("Expected FROM or comma after EXTRACT", "FROM is missing here"),
        ):
            if sqlglots in message:
                hint = "A parenthesis isn't closed." if ours.startswith(")") else None
                if self._curr and self._curr.token_type in (TokenType.VAR, TokenType.NUMBER, TokenType.STRING):
                    hint = "Or is a comma or an operator missing?"
                self.fail(ours, hint=hint)
        self.fail("this isn't an expression", span_of_token(token) if token else None)

    def validate_expression(self, expression: Any, args: list[Any] | None = None) -> Any:
        """An operator without its operand is the one thing to find here."""
        if expression.error_messages(args):
            before = f" after {self._prev.text}" if self._prev and not self.at_end else ""
            self.missing(f"an expression{before}")
        return expression

    # -- literals and parameters

    def _const(self, value: object, dtype: pl.DataType, token: Token) -> exp.Expr:
        node: exp.Expr = mark(Constant(value=value, dtype=dtype), span_of_token(token))
        return node

    def _string(self, token: Token) -> exp.Expr:
        text, end = token.text, token
        while self.comes(TokenType.STRING, TokenType.RAW_STRING) and self._curr.start > end.end + 1:
            text, end = text + self._curr.text, self._curr  # 'a' 'b' is 'ab', as in Spark
            self._advance()
        node: exp.Expr = mark(Constant(value=text, dtype=pl.String()), Span(token.start, end.end + 1))
        return node

    def _hex(self, token: Token) -> exp.Expr:
        digits = token.text if len(token.text) % 2 == 0 else f"0{token.text}"
        return self._const(bytes.fromhex(digits), pl.Binary(), token)

    def _number(self, token: Token) -> exp.Expr:
        text, span = token.text.replace("_", ""), span_of_token(token)
        following = self._curr
        suffix = following.text.upper() if following and following.start == token.end + 1 else ""
        if suffix and following.token_type == TokenType.VAR:
            if suffix not in _NUMBER_SUFFIXES:
                self.fail(
                    f"{token.text}{following.text} is neither a number nor a name", Span(span.start, following.end + 1)
                )
            self._advance()
            span = Span(span.start, following.end + 1)
            dtype = _NUMBER_SUFFIXES[suffix]
            value: object = float(text) if dtype.is_float() or not text.isdigit() else int(text)
            if isinstance(value, float) and not dtype.is_float():
                self.fail(f"{token.text}{following.text} is no whole number", span)
            if isinstance(value, int) and not -(2 ** (_bits(dtype) - 1)) <= value < 2 ** (_bits(dtype) - 1):
                self.fail(f"{token.text} doesn't fit into this type", span)
        else:
            try:
                value, dtype = constant(int(text) if text.isdigit() else float(text), self.source, span)
            except ValueError:
                self.fail(f"{token.text} is no number", span)
        node: exp.Expr = mark(Constant(value=value, dtype=dtype), span)
        return node

    def _placeholder(self) -> exp.Expr | None:
        # sqlglot has taken the ? or the colon already.
        self._advance(-1)
        if not self.value_ahead():
            self._advance()
            return None
        _, value, span = self.value()
        known, dtype = constant(value, self.source, span)
        node: exp.Expr = mark(Constant(value=known, dtype=dtype), span)
        return node

    def interval(self) -> Constant:
        """Take an INTERVAL literal: `INTERVAL '10' MINUTE`, `INTERVAL 10 MINUTES`, `INTERVAL '1 hour 30 minutes'`."""
        start = self.here
        self._advance()
        total, parts = dt.timedelta(0), 0
        while True:
            part = self._interval_part(start, required=parts == 0)
            if part is None:
                break
            total, parts = total + part, parts + 1
        node: Constant = mark(Constant(value=total, dtype=INTERVAL), self.since(start))
        return node

    def _interval_part(self, start: Span, required: bool) -> dt.timedelta | None:
        index = self._index
        negative = self.sign(TokenType.DASH) if required else False
        number: object = None
        if self.comes(TokenType.STRING, TokenType.NUMBER):
            number = self._curr.text
            self._advance()
        elif required and self.value_ahead():
            number = self.value()[1]
            if isinstance(number, dt.timedelta):
                return -number if negative else number
        if number is None:
            if required:
                self.fail("the length of the INTERVAL is missing here", hint="Write INTERVAL 10 MINUTES.")
            return None
        text = str(number).strip()
        unit_token = self._curr if self.comes(TokenType.VAR) else None
        micros = unit(unit_token.text) if unit_token else None
        if micros is None and not required:
            self._retreat(index)
            return None
        try:
            amount = float(text)
        except ValueError:
            whole = _parse_parts(text)
            if whole is None:
                self.fail(
                    f"'{text}' is no length of time",
                    self.since(start),
                    "Write INTERVAL '10' MINUTE or INTERVAL '10 minutes'.",
                )
            return -whole if negative else whole
        if micros is None:
            raise self.bad_unit(text, self.since(start))
        self._advance()
        if self.word("TO"):
            self.fail("intervals of several units are written one by one", hint="Write INTERVAL '1' DAY '2' HOURS.")
        value = microseconds(amount, micros)
        if value is None:
            self.fail("this is too long", self.since(start))
        return dt.timedelta(microseconds=-value if negative else value)

    def bad_unit(self, number: str, span: Span) -> QueryError:
        """What is wrong where a number needs a unit of time and the word behind it, if any, is none."""
        token = self._curr if self.comes(TokenType.VAR) else None
        if token and token.text.upper() in _CALENDAR_UNITS:
            hint = "Say it in days or weeks: 30 DAYS."
            return self.failure("months, quarters and years differ in length", span_of_token(token), hint)
        if token and token.text.upper() not in STOP_WORDS | WINDOW_WORDS | {"PRECEDING", "BY"}:
            names = [u.lower() + "s" for u in UNITS]
            hint_ = did_you_mean(token.text, names, "units of time")
            return self.failure(f"{token.text} is no unit of time", span_of_token(token), hint_)
        hint = f"Write {number} SECONDS, {number} MINUTES, {number} HOURS, ..."
        return self.failure(f"{number} of what? The unit is missing", span, hint)

    # -- operators and operands

    def _parse_expression(self) -> exp.Expr | None:
        return self._parse_disjunction()

    def _parse_assignment(self) -> exp.Expr | None:
        return self._parse_disjunction()

    def _parse_select_or_expression(self, alias: bool = False) -> exp.Expr | None:
        return self._parse_select() or self._parse_disjunction()

    def _parse_equality(self, parse_is: bool = True) -> exp.Expr | None:
        """`[NOT] value [predicate]`: Spark's precedence, in which a predicate takes a whole comparison before it."""
        start = self.here
        if self._match(TokenType.NOT):
            inner = self._parse_equality() or self.missing("a condition after NOT")
            negated: exp.Expr = mark(exp.Not(this=inner), self.since(start))
            return negated
        this = self._binary(0)
        while this is not None and self._curr:
            negate = self.comes(TokenType.NOT) and self._next.token_type in _PREDICATES
            parser = _PREDICATES.get(self._next.token_type if negate else self._curr.token_type)
            if parser is None:
                break
            self._advance(2 if negate else 1)
            this = parser(self, this)
            if negate:
                this = exp.Not(this=this)
        return this

    def _parse_bitwise(self) -> exp.Expr | None:
        """A value without comparisons: an operand of a predicate."""
        return self._binary(1)

    def _binary(self, level: int) -> exp.Expr | None:
        """Operators of one level of precedence and all that bind closer, from left to right."""
        if level == len(_LEVELS):
            return self._parse_unary()
        this = self._binary(level + 1)
        while this is not None and self._curr.token_type in _LEVELS[level]:
            made = _LEVELS[level][self._curr.token_type]
            self._advance()
            right = self._binary(level + 1) or self.missing(f"an expression after {self._prev.text}")
            this = made(this=this, expression=right)
        return this

    def _parse_like(self, this: exp.Expr, node: type[exp.Expr]) -> exp.Expr:
        pattern = self._parse_bitwise() or self.missing("a pattern")
        made = node(this=this, expression=pattern)
        if self._match(TokenType.ESCAPE):
            return exp.Escape(this=made, expression=self._parse_bitwise() or self.missing("a character"))
        return made

    def _parse_is(self, this: exp.Expr | None) -> exp.Expr:
        negate = self._match(TokenType.NOT)
        if self._match(TokenType.DISTINCT):
            if not self._match(TokenType.FROM):
                self.fail("FROM is missing here", hint="Write a IS DISTINCT FROM b.")
            other = self._parse_bitwise() or self.missing("an expression")
            return (exp.NullSafeEQ if negate else exp.NullSafeNEQ)(this=this, expression=other)
        if not self.comes(TokenType.NULL, TokenType.TRUE, TokenType.FALSE):
            self.fail("IS takes NULL, TRUE or FALSE", hint="Compare values with =.")
        made = exp.Is(this=this, expression=self._parse_primary())
        return exp.Not(this=made) if negate else made

    def _parse_between(self, this: exp.Expr | None) -> exp.Between:
        low = self._parse_bitwise() or self.missing("the lower end of BETWEEN")
        if not self._match(TokenType.AND):
            self.fail("AND is missing here", hint="Write x BETWEEN low AND high.")
        high = self._parse_bitwise() or self.missing("the upper end of BETWEEN")
        return exp.Between(this=this, low=low, high=high)

    def _parse_in(self, this: exp.Expr | None, alias: bool = False) -> exp.In:
        self.expect_sign(TokenType.L_PAREN, "(", "Write x IN (1, 2, 3).")
        items = self._parse_csv(self._parse_select_or_expression)
        if not items:
            self.missing("a value")
        self.expect_sign(TokenType.R_PAREN, ")")
        return exp.In(this=this, expressions=items)

    def _parse_case(self) -> exp.Expr | None:
        start = self.behind
        operand = None if self._curr.token_type == TokenType.WHEN else self._parse_disjunction()
        branches = []
        while self._match(TokenType.WHEN):
            condition = self.expression_here("a condition")
            if not self._match(TokenType.THEN):
                self.fail("THEN is missing here", hint="Write CASE WHEN condition THEN value ... ELSE value END.")
            branches.append(exp.If(this=condition, true=self.expression_here("a value")))
        if not branches:
            self.fail("WHEN is missing here", hint="Write CASE WHEN condition THEN value ... ELSE value END.")
        default = self.expression_here("a value") if self._match(TokenType.ELSE) else None
        if not self._match(TokenType.END):
            self.fail("END is missing here", hint="Every CASE closes with END.")
        node: exp.Expr = mark(exp.Case(this=operand, ifs=branches, default=default), self.since(start))
        return node

    def _parse_type(self, parse_interval: bool = True, fallback_to_identifier: bool = False) -> exp.Expr | None:
        if self.comes(TokenType.INTERVAL):
            return self._parse_column_ops(self.interval())
        token = self._curr
        dtype = _TYPED_LITERALS.get(token.text.upper()) if token and token.token_type == TokenType.VAR else None
        if dtype is not None and self._next and self._next.token_type == TokenType.STRING:
            self._advance(2)
            text = self._const(self._prev.text, pl.String(), self._prev)
            node: exp.Expr = mark(CastTo(this=text, dtype=dtype), self.since(span_of_token(token)))
            return self._parse_column_ops(node)
        return self._parse_column()

    def _parse_primary(self) -> exp.Expr | None:
        token = self._curr
        if self._match_set(self.PRIMARY_PARSERS):
            parser: Callable[[ExpressionParser, Token], exp.Expr] = self.PRIMARY_PARSERS[token.token_type]
            return parser(self, token)
        if self._match_pair(TokenType.DOT, TokenType.NUMBER):
            digits = self._prev
            number: exp.Expr = mark(
                Constant(value=float(f"0.{digits.text}"), dtype=pl.Float64()), Span(token.start, digits.end + 1)
            )
            return number
        return self._parse_paren()

    def _parse_atom(self) -> exp.Expr | None:
        return None  # sqlglot's short cut for what `_parse_type` does here

    def _parse_column(self) -> exp.Expr | None:
        if self.comes(TokenType.IDENTIFIER, TokenType.VAR) and self._curr.text.startswith("$"):
            self.fail("names that start with $ are the system's own")
        start = self.here
        this = self._parse_field()
        if isinstance(this, exp.Identifier):
            this = mark(exp.Column(this=this), self.since(start))
        return self._parse_column_ops(this) if this else None

    def _parse_column_ops(self, this: exp.Expr | None) -> exp.Expr | None:
        while this is not None and self._curr:
            if self._match(TokenType.DOT):
                if self._match(TokenType.STAR):
                    return mark(exp.Column(this=exp.Star(), table=this.this), self.behind)  # type: ignore[no-any-return]
                if self.at_end or self.comes(TokenType.COMMA, TokenType.R_PAREN):
                    self.fail("the name of a column is missing here")
                self._advance()
                field = mark(exp.Identifier(this=self._prev.text, quoted=False), self.behind)
                if isinstance(this, exp.Column) and not this.args.get("table"):
                    this = exp.Column(this=field, table=this.this)
                else:
                    this = exp.Dot(this=this, expression=field)
            elif self._match(TokenType.DCOLON):
                this = CastTo(this=this, dtype=parse_type(self))
            elif self.comes(TokenType.L_BRACKET) and not self.window_ahead():
                if isinstance(this, Constant):
                    return this
                self._advance()
                index = self.expression_here("an index")
                self.expect_sign(TokenType.R_BRACKET, "]")
                this = exp.Bracket(this=this, expressions=[index])
            else:
                break
        return this

    def window_ahead(self) -> bool:
        """Whether a window in brackets comes next, rather than the index of an array."""
        if not self.comes(TokenType.L_BRACKET) or not self._next or self._next.token_type != TokenType.VAR:
            return False
        return self._next.text.upper() in WINDOW_WORDS and not self._closes_at(self._index + 2)

    def _closes_at(self, index: int) -> bool:
        """Whether the bracket that opened before holds one word only, which is then a column; NOW is a window."""
        token = self._tokens[index] if index < len(self._tokens) else None
        return (
            token is not None
            and token.token_type == TokenType.R_BRACKET
            and self._next.text.upper() not in ("NOW", "UNBOUNDED")
        )

    def _parse_lambda(self, alias: bool = False) -> exp.Expr | None:
        if self._match(TokenType.DISTINCT):
            return self.expression(exp.Distinct(expressions=self._parse_csv(self._parse_disjunction)))
        self.word("ALL")
        argument = self._parse_select_or_expression()
        if self.comes(TokenType.ORDER_BY):
            self.unsupported("ORDER BY inside an aggregate", hint="Aggregates take rows in order of time.")
        return argument

    def _parse_window(self, this: exp.Expr | None, alias: bool = False) -> exp.Expr | None:
        while this is not None and self._curr:
            if self.peek("FILTER") and self._next and self._next.token_type == TokenType.L_PAREN:
                self._advance(2)
                if not self._match(TokenType.WHERE):
                    self.fail("WHERE is missing here", hint="Write FILTER (WHERE condition).")
                condition = self.expression_here("a condition")
                self.expect_sign(TokenType.R_PAREN, ")")
                this = exp.Filter(this=this, expression=exp.Where(this=condition))
            elif self.peek("IGNORE", "NULLS") or self.peek("RESPECT", "NULLS"):
                self._advance(2)
                if self._tokens[self._index - 2].text.upper() == "IGNORE":
                    this = exp.IgnoreNulls(this=this)
            elif self.peek("WITHIN", "GROUP"):
                self.unsupported("WITHIN GROUP", hint="Write quantile(x, 0.9).")
            elif self.window_ahead():
                self._one_window(this)
                this = Windowed(this=this, clause=self.window_parser(self))
            elif self.peek("OVER"):
                self._one_window(this)
                self._advance()
                this = Windowed(this=this, clause=self.over_parser(self))
            else:
                break
        return this

    def _one_window(self, this: exp.Expr) -> None:
        if isinstance(this, Windowed):
            self.fail("an aggregate has one window", hint="Take one of the two away.")

    def _parse_select(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        if not self.comes(TokenType.SELECT):
            return None
        start = self.here
        body = self.select_parser(self)
        node: exp.Expr = mark(Subselect(body=body), self.since(start))
        return node

    def _parse_paren(self) -> exp.Expr | None:
        if not self._match(TokenType.L_PAREN):
            return None
        start = self.behind
        items = [self._parse_select() or self.expression_here("an expression")]
        while self._match(TokenType.COMMA):
            items.append(self.expression_here("an expression"))
        self.expect_sign(TokenType.R_PAREN, ")", "A parenthesis isn't closed.")
        node = exp.Tuple(expressions=items) if len(items) > 1 else exp.Paren(this=items[0])
        marked: exp.Expr = mark(node, self.since(start))
        return marked

    # -- functions that have words among their arguments

    def _cast(self, safe: bool) -> exp.Expr:
        this = self.expression_here("an expression")
        if not self._match(TokenType.ALIAS):
            self.fail("AS is missing here", hint="Write CAST(x AS DOUBLE).")
        return CastTo(this=this, dtype=parse_type(self), safe=safe)

    def _parse_extract(self) -> Any:
        part = self.name("a part of a time, such as HOUR,") if not self.comes(TokenType.STRING) else None
        if part is None:
            part = Name(self._curr.text, self.here)
            self._advance()
        if not self._match(TokenType.FROM):
            self.fail("FROM is missing here", hint="Write EXTRACT(HOUR FROM ts).")
        return exp.Extract(this=mark(exp.Var(this=part.text), part.span), expression=self.expression_here("a time"))

    def _trim(self) -> exp.Expr:
        function = "trim"
        if self._match_texts(("BOTH", "LEADING", "TRAILING")):
            function = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}[self._prev.text.upper()]
        args = [] if self.comes(TokenType.FROM) else [self.expression_here("a text")]
        if self._match(TokenType.FROM):
            args.insert(0, self.expression_here("a text"))
        else:
            while self._match(TokenType.COMMA):
                args.append(self.expression_here("a text"))
        if function == "trim" and len(args) == 2:
            function = "btrim"  # the one that takes what to trim
        return exp.Anonymous(this=function, expressions=args)

    def _position(self) -> exp.Expr:
        first = self._parse_bitwise()
        if first is None:
            self.missing("a text")
        if self.comes(TokenType.IN):
            self._advance()
            return exp.Anonymous(this="position", expressions=[first, self.expression_here("a text")])
        args = [first]
        while self._match(TokenType.COMMA):
            args.append(self.expression_here("an argument"))
        return exp.Anonymous(this="position", expressions=args)

    def _substring(self) -> exp.Expr:
        args = [self.expression_here("a text")]
        while self._match(TokenType.COMMA) or self._match(TokenType.FROM) or self.word("FOR"):
            args.append(self.expression_here("a number"))
        return exp.Anonymous(this="substring", expressions=args)


_LEVELS: tuple[dict[TokenType, type[exp.Binary]], ...] = (
    {
        TokenType.EQ: exp.EQ,
        TokenType.NEQ: exp.NEQ,
        TokenType.LT: exp.LT,
        TokenType.LTE: exp.LTE,
        TokenType.GT: exp.GT,
        TokenType.GTE: exp.GTE,
        TokenType.NULLSAFE_EQ: exp.NullSafeEQ,
    },
    {TokenType.PIPE: exp.BitwiseOr},
    {TokenType.CARET: exp.BitwiseXor},
    {TokenType.AMP: exp.BitwiseAnd},
    {TokenType.PLUS: exp.Add, TokenType.DASH: exp.Sub, TokenType.DPIPE: exp.DPipe},
    {TokenType.STAR: exp.Mul, TokenType.SLASH: exp.Div, TokenType.MOD: exp.Mod, TokenType.DIV: exp.IntDiv},
)
"""Operators between values, those that bind loosest first: the order of Spark's grammar."""

_PREDICATES: dict[TokenType, Callable[[ExpressionParser, exp.Expr], exp.Expr]] = {
    TokenType.BETWEEN: ExpressionParser._parse_between,
    TokenType.IN: ExpressionParser._parse_in,
    TokenType.IS: ExpressionParser._parse_is,
    TokenType.LIKE: lambda p, this: p._parse_like(this, exp.Like),
    TokenType.ILIKE: lambda p, this: p._parse_like(this, exp.ILike),
    TokenType.RLIKE: lambda p, this: p._parse_like(this, exp.RegexpLike),
}
"""What can follow a value, with or without NOT before it."""


def span_of_token(token: Token) -> Span:
    """Where a token stands."""
    return Span(token.start, token.end + 1)


def _bits(dtype: pl.DataType) -> int:
    return 8 if dtype == pl.Int8() else 16 if dtype == pl.Int16() else 64


def _parse_parts(text: str) -> dt.timedelta | None:
    """`'1 hour 30 minutes'` as one length, None if it is none."""
    negative = text.startswith("-")
    micros = parse_duration(text.removeprefix("-").strip())
    if micros is None:
        return None
    return dt.timedelta(microseconds=-micros if negative else micros)
