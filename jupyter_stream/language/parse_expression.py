"""Expressions as written: Spark's grammar and its order of operators, every function under the name it was written with,
and windows behind aggregates. Not for clauses.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import replace

import polars as pl
from sqlglot import TokenType

from jupyter_stream.core.schema import INTERVAL, TIMESTAMP
from jupyter_stream.core.time import UNITS, unit
from jupyter_stream.errors import QueryError
from jupyter_stream.language.diagnose import did_you_mean
from jupyter_stream.language.durations import microseconds, parse_duration
from jupyter_stream.language.nodes import (
    CastTo,
    ColumnRef,
    Constant,
    FieldOf,
    FunctionCall,
    ItemOf,
    Node,
    Operation,
    Star,
    Subselect,
    ValueList,
)
from jupyter_stream.language.parameters import Parameters, constant
from jupyter_stream.language.parse_row_number import row_number
from jupyter_stream.language.parse_type import parse_type
from jupyter_stream.language.query_syntax import QueryBody, WindowClause
from jupyter_stream.language.reader import Reader
from jupyter_stream.language.script import Piece
from jupyter_stream.language.source_text import Name, SourceText, Span

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

_LEVELS: tuple[Mapping[TokenType | None, str], ...] = (
    {
        TokenType.EQ: "=",
        TokenType.NEQ: "<>",
        TokenType.LT: "<",
        TokenType.LTE: "<=",
        TokenType.GT: ">",
        TokenType.GTE: ">=",
        TokenType.NULLSAFE_EQ: "<=>",
    },
    {TokenType.PIPE: "|"},
    {TokenType.CARET: "^"},
    {TokenType.AMP: "&"},
    {TokenType.PLUS: "+", TokenType.DASH: "-", TokenType.DPIPE: "||"},
    {TokenType.STAR: "*", TokenType.SLASH: "/", TokenType.MOD: "%", TokenType.DIV: "div"},
)
"""Operators between values, those that bind loosest first: the order of Spark's grammar."""

_NUMBER_SUFFIXES: Mapping[str, pl.DataType] = {
    "L": pl.Int64(),
    "S": pl.Int16(),
    "Y": pl.Int8(),
    "D": pl.Float64(),
    "F": pl.Float32(),
    "BD": pl.Float64(),
}
_TYPED_LITERALS: Mapping[str, pl.DataType] = {
    "DATE": pl.Date(),
    "TIMESTAMP": TIMESTAMP,
    "TIMESTAMP_NTZ": TIMESTAMP,
    "TIMESTAMP_LTZ": TIMESTAMP,
}
_CALENDAR_UNITS = ("MONTH", "MONTHS", "QUARTER", "QUARTERS", "YEAR", "YEARS")


class ExpressionParser(Reader):
    """A reader that can take expressions.

    Args:
        piece: the statement's text.
        source: the cell, for errors.
        parameters: values of `:name` and `{{ }}`.
        select: how to take a SELECT, where an expression holds one.
        window: how to take a window in brackets.
        over: how to take what follows OVER.
    """

    def __init__(
        self,
        piece: Piece,
        source: SourceText,
        parameters: Parameters,
        select: Callable[[ExpressionParser], QueryBody],
        window: Callable[[ExpressionParser], WindowClause],
        over: Callable[[ExpressionParser], WindowClause],
    ) -> None:
        super().__init__(piece, source, parameters)
        self._select = select
        self._window = window
        self._over = over
        self.with_bodies: dict[str, QueryBody] = {}

    def expression(self, what: str) -> Node:
        """Take an expression.

        Args:
            what: what it is for ("a condition"), for the error if there is none.
        """
        node = self._or()
        if node is None:
            self.missing(what)
        return node

    # -- from OR down to operands; None where there is no expression at all

    def _or(self) -> Node | None:
        this = self._and()
        while this is not None and self.sign(TokenType.OR):
            other = self._and() or self.missing(f"an expression after {self.prev.text}")
            this = Operation("or", (this, other), this.span.to(other.span))
        return this

    def _and(self) -> Node | None:
        this = self._not()
        while this is not None and self.sign(TokenType.AND):
            other = self._not() or self.missing(f"an expression after {self.prev.text}")
            this = Operation("and", (this, other), this.span.to(other.span))
        return this

    def _not(self) -> Node | None:
        """`[NOT] value [predicate]`; a predicate takes a whole comparison before it, as in Spark."""
        start = self.here
        if self.sign(TokenType.NOT):
            inner = self._not() or self.missing("a condition after NOT")
            return Operation("not", (inner,), start.to(inner.span))
        this = self._binary(0)
        while this is not None:
            negate = self.comes(TokenType.NOT) and self.next.kind in _PREDICATES
            kind = self.next.kind if negate else self.curr.kind
            parser = _PREDICATES.get(kind) if kind is not None else None
            if parser is None:
                break
            self.advance(2 if negate else 1)
            this = parser(self, this)
            if negate:
                this = Operation("not", (this,), this.span)
        return this

    def _binary(self, level: int) -> Node | None:
        """Operators of one level and all that bind closer, from left to right."""
        if level == len(_LEVELS):
            return self._unary()
        this = self._binary(level + 1)
        while this is not None and self.curr.kind in _LEVELS[level]:
            function = _LEVELS[level][self.curr.kind]
            self.advance()
            right = self._binary(level + 1) or self.missing(f"an expression after {self.prev.text}")
            this = Operation(function, (this, right), this.span.to(right.span))
        return this

    def _value(self, what: str) -> Node:
        """A value without comparisons: an operand of a predicate."""
        return self._binary(1) or self.missing(what)

    def _unary(self) -> Node | None:
        start = self.here
        for kind, function in ((TokenType.DASH, "neg"), (TokenType.TILDE, "~"), (TokenType.PLUS, None)):
            if self.sign(kind):
                inner = self._unary() or self.missing(f"an expression after {self.prev.text}")
                return inner if function is None else Operation(function, (inner,), start.to(inner.span))
        operand = self._operand()
        return None if operand is None else self._parts(operand)

    # -- predicates; the word is taken already

    def _between(self, this: Node) -> Node:
        low = self._value("the lower end of BETWEEN")
        if not self.sign(TokenType.AND):
            self.fail("AND is missing here", hint="Write x BETWEEN low AND high.")
        high = self._value("the upper end of BETWEEN")
        return Operation("between", (this, low, high), this.span.to(high.span))

    def _in(self, this: Node) -> Node:
        self.expect_sign(TokenType.L_PAREN, "(", "Write x IN (1, 2, 3).")
        items: list[Node] = [self._argument() or self.missing("a value")]
        while self.sign(TokenType.COMMA):
            items.append(self._argument() or self.missing("a value"))
        self._close()
        return Operation("in", (this, *items), self.since(this.span))

    def _is(self, this: Node) -> Node:
        negate = self.sign(TokenType.NOT)
        if self.sign(TokenType.DISTINCT):
            if not self.sign(TokenType.FROM):
                self.fail("FROM is missing here", hint="Write a IS DISTINCT FROM b.")
            other = self._value("an expression")
            made: Node = Operation("<=>", (this, other), this.span.to(other.span))
            return made if negate else Operation("not", (made,), made.span)
        if self.sign(TokenType.NULL):
            return Operation("is_not_null" if negate else "is_null", (this,), self.since(this.span))
        if not self.comes(TokenType.TRUE, TokenType.FALSE):
            self.fail("IS takes NULL, TRUE or FALSE", hint="Compare values with =.")
        truth = Constant(self.comes(TokenType.TRUE), pl.Boolean(), self.here)
        self.advance()
        made = Operation("<=>", (this, truth), self.since(this.span))
        return Operation("not", (made,), made.span) if negate else made

    def _like(self, this: Node, function: str) -> Node:
        args = [this, self._value("a pattern")]
        if self.sign(TokenType.ESCAPE):
            args.append(self._value("a character"))
        return Operation(function, tuple(args), this.span.to(args[-1].span))

    # -- operands

    def _operand(self) -> Node | None:
        token = self.curr
        if token.kind in _LITERALS:
            self.advance()
            return self._literal(token.kind)
        if token.kind == TokenType.DOT and self.next.kind == TokenType.NUMBER:
            self.advance(2)
            return Constant(float(f"0.{self.prev.text}"), pl.Float64(), token.span.to(self.prev.span))
        if self.value_ahead():
            _, value, span = self.value()
            return Constant(*constant(value, self.source, span), span)
        if token.kind == TokenType.STAR:
            self.advance()
            return Star(None, token.span)
        if token.kind == TokenType.INTERVAL:
            return self.interval()
        if token.kind == TokenType.CASE:
            return self._case()
        if token.kind == TokenType.L_PAREN:
            return self._parentheses()
        if token.kind not in (TokenType.VAR, TokenType.IDENTIFIER):
            return None
        if token.kind == TokenType.VAR and self.next.kind == TokenType.STRING:
            dtype = _TYPED_LITERALS.get(token.text.upper())
            if dtype is not None:
                self.advance(2)
                text = Constant(self.prev.text, pl.String(), self.prev.span)
                return CastTo(text, dtype, False, token.span.to(text.span))
        if self.peek("SUMMARY") and self.next.kind == TokenType.DOT and self.ahead(2).text.upper() == "ESTIMATE":
            return self._estimate()
        name = self.name("a column")
        if self.comes(TokenType.L_PAREN):
            return self._call(name)
        return ColumnRef(name, None, name.span)

    def _parts(self, this: Node) -> Node:
        """What can follow an operand: `.field`, `[index]`, `::type`."""
        while True:
            if self.sign(TokenType.DOT):
                if self.sign(TokenType.STAR) and isinstance(this, ColumnRef) and this.qualifier is None:
                    return Star(this.name, self.since(this.span))
                if self.at_end or not self.curr.text[:1].isidentifier():
                    self.fail("the name of a column is missing here")
                self.advance()  # any word may be a field's name
                name = Name(self.prev.text, self.behind)
                if isinstance(this, ColumnRef) and this.qualifier is None:
                    this = ColumnRef(name, this.name, this.span.to(name.span))
                else:
                    this = FieldOf(this, name, this.span.to(name.span))
            elif self.sign(TokenType.DCOLON):
                dtype = parse_type(self)
                this = CastTo(this, dtype, False, self.since(this.span))
            elif self.comes(TokenType.L_BRACKET) and not self.window_ahead() and not isinstance(this, Constant):
                self.advance()
                index = self.expression("an index")
                self.expect_sign(TokenType.R_BRACKET, "]")
                this = ItemOf(this, index, self.since(this.span))
            else:
                return this

    def _parentheses(self) -> Node:
        start = self.here
        self.advance()
        items = [self._argument() or self.missing("an expression")]
        while self.sign(TokenType.COMMA):
            items.append(self.expression("an expression"))
        self._close()
        span = self.since(start)
        return ValueList(tuple(items), span) if len(items) > 1 else replace(items[0], span=span)

    def _argument(self) -> Node | None:
        if not self.comes(TokenType.SELECT):
            return self._or()
        start = self.here
        body = self._select(self)
        return Subselect(body, self.since(start))

    def _close(self) -> None:
        if not self.sign(TokenType.R_PAREN):
            hint = "A parenthesis isn't closed."
            if self.comes(TokenType.VAR, TokenType.NUMBER, TokenType.STRING):
                hint = "Or is a comma or an operator missing?"
            self.fail(") is missing here", hint=hint)

    def _case(self) -> Node:
        start = self.here
        self.advance()
        usage = "Write CASE WHEN condition THEN value ... ELSE value END."
        operand = None if self.comes(TokenType.WHEN) else self._or()
        args: list[Node] = []
        while self.sign(TokenType.WHEN):
            test = self.expression("a condition")
            if operand is not None:
                test = Operation("=", (operand, test), test.span)
            if not self.sign(TokenType.THEN):
                self.fail("THEN is missing here", hint=usage)
            args += [test, self.expression("a value")]
        if not args:
            self.fail("WHEN is missing here", hint=usage)
        if self.sign(TokenType.ELSE):
            args.append(self.expression("a value"))
        else:
            args.append(Constant(None, pl.Null(), self.behind))
        if not self.sign(TokenType.END):
            self.fail("END is missing here", hint="Every CASE closes with END.")
        return Operation("case", tuple(args), self.since(start))

    # -- calls

    def _call(self, name: Name) -> Node:
        self.advance()
        special = _SPECIAL.get(name.text.lower())
        if special is not None:
            return special(self, name)
        distinct = self.sign(TokenType.DISTINCT)
        if not distinct and self.peek("ALL") and self.next.kind not in (TokenType.COMMA, TokenType.R_PAREN):
            self.advance()
        args: list[Node] = []
        if not self.comes(TokenType.R_PAREN):
            args = self._arguments("an argument")
        self._close()
        return self._behind_call(FunctionCall(name, tuple(args), self.since(name.span), distinct))

    def _estimate(self) -> Node:
        """`SUMMARY.Estimate.Count(x)`, under the name it is written with."""
        start, usage = self.here, "Write SUMMARY.Estimate.Count(column); or Sum, Min, Max."
        self.advance(3)
        if not self.sign(TokenType.DOT) or self.comes(TokenType.L_PAREN) or self.at_end:
            self.fail("what to estimate is missing here", hint=usage)
        self.advance()
        name = Name(f"SUMMARY.Estimate.{self.prev.text}", self.since(start))
        self.expect_sign(TokenType.L_PAREN, "(", usage)
        args = [] if self.comes(TokenType.R_PAREN) else self._arguments("a column")
        self._close()
        return FunctionCall(name, tuple(args), self.since(start))

    def _arguments(self, what: str) -> list[Node]:
        args = [self._argument() or self.missing(what)]
        while self.sign(TokenType.COMMA):
            args.append(self._argument() or self.missing(what))
        if self.comes(TokenType.ORDER_BY):
            self.unsupported("ORDER BY inside an aggregate", hint="Aggregates take rows in order of time.")
        return args

    def _behind_call(self, call: FunctionCall) -> FunctionCall:
        """FILTER, IGNORE NULLS and the window of an aggregate."""
        while True:
            start = self.here
            if self.peek("FILTER") and self.next.kind == TokenType.L_PAREN:
                if call.where is not None:
                    self.fail("FILTER stands twice")
                self.advance(2)
                if not self.sign(TokenType.WHERE):
                    self.fail("WHERE is missing here", hint="Write FILTER (WHERE condition).")
                call = replace(call, where=self.expression("a condition"))
                self._close()
            elif self.word("IGNORE", "NULLS"):
                call = replace(call, ignore_nulls=self.since(start))
            elif self.word("RESPECT", "NULLS"):
                pass  # what is done anyway
            elif self.peek("WITHIN", "GROUP"):
                self.unsupported("WITHIN GROUP", hint="Write quantile(x, 0.9).")
            elif self.window_ahead() or self.peek("OVER"):
                if call.window is not None:
                    self.fail("an aggregate has one window", hint="Take one of the two away.")
                call = replace(call, window=self._over(self) if self.word("OVER") else self._window(self))
            else:
                return call

    def window_ahead(self) -> bool:
        """Whether a window in brackets comes next, rather than the index of an array."""
        if not self.comes(TokenType.L_BRACKET) or self.next.kind != TokenType.VAR:
            return False
        word = self.next.text.upper()
        alone = self.ahead(2).kind == TokenType.R_BRACKET  # one word is a column, unless it is a whole window
        return word in WINDOW_WORDS and (not alone or word in ("NOW", "UNBOUNDED"))

    def _cast(self, name: Name, safe: bool) -> Node:
        inner = self.expression("an expression")
        if not self.sign(TokenType.ALIAS):
            self.fail("AS is missing here", hint="Write CAST(x AS DOUBLE).")
        dtype = parse_type(self)
        self._close()
        return CastTo(inner, dtype, safe, self.since(name.span))

    def _extract(self, name: Name) -> Node:
        if not self.comes(TokenType.VAR, TokenType.STRING):
            self.fail("a part of a time is missing here", hint="Write EXTRACT(HOUR FROM ts).")
        part = Constant(self.curr.text.lower(), pl.String(), self.here)
        self.advance()
        if not self.sign(TokenType.FROM):
            self.fail("FROM is missing here", hint="Write EXTRACT(HOUR FROM ts).")
        time = self.expression("a time")
        self._close()
        return Operation("extract", (part, time), self.since(name.span))

    def _trim(self, name: Name) -> Node:
        """`trim(x)`, `trim(BOTH 'a' FROM x)`."""
        function = "trim"
        for word, side in (("BOTH", "trim"), ("LEADING", "ltrim"), ("TRAILING", "rtrim")):
            if self.word(word):
                function = side
        args = [] if self.comes(TokenType.FROM) else [self.expression("a text")]
        if self.sign(TokenType.FROM):
            args.insert(0, self.expression("a text"))
        elif self.sign(TokenType.COMMA):
            args += self._arguments("a text")
        self._close()
        if function == "trim" and len(args) == 2:
            function = "btrim"  # the one that takes what to trim
        return FunctionCall(Name(function, name.span), tuple(args), self.since(name.span))

    def _position(self, name: Name) -> Node:
        args = [self._value("a text")]
        if self.sign(TokenType.IN) or self.sign(TokenType.COMMA):
            args += self._arguments("a text")
        self._close()
        return FunctionCall(name, tuple(args), self.since(name.span))

    def _substring(self, name: Name) -> Node:
        args = [self.expression("a text")]
        while self.sign(TokenType.COMMA) or self.sign(TokenType.FROM) or self.word("FOR"):
            args.append(self.expression("a number"))
        self._close()
        return FunctionCall(name, tuple(args), self.since(name.span))

    # -- literals; their token is taken already, but for INTERVAL

    def _literal(self, kind: TokenType) -> Constant:
        token = self.prev
        if kind == TokenType.NUMBER:
            return self._number()
        if kind in (TokenType.STRING, TokenType.RAW_STRING):
            text = token.text
            while self.comes(TokenType.STRING, TokenType.RAW_STRING):
                self.advance()  # 'a' 'b' is 'ab', as in Spark
                text += self.prev.text
            return Constant(text, pl.String(), self.since(token.span))
        if kind == TokenType.HEX_STRING:
            digits = token.text if len(token.text) % 2 == 0 else f"0{token.text}"
            return Constant(bytes.fromhex(digits), pl.Binary(), token.span)
        if kind == TokenType.NULL:
            return Constant(None, pl.Null(), token.span)
        return Constant(kind == TokenType.TRUE, pl.Boolean(), token.span)

    def _number(self) -> Constant:
        token = self.prev
        text, span = token.text.replace("_", ""), token.span
        following = self.curr
        suffix = following.text.upper() if following.span.start == span.end and following.kind == TokenType.VAR else ""
        value: object = int(text) if text.isdigit() else _float(text)
        if value is None:
            self.fail(f"{token.text} is no number", span)
        if not suffix:
            return Constant(*constant(value, self.source, span), span)
        self.advance()
        span = self.since(span)
        shown = f"{token.text}{following.text}"
        dtype = _NUMBER_SUFFIXES.get(suffix)
        if dtype is None:
            self.fail(f"{shown} is neither a number nor a name", span)
        if dtype.is_float():
            return Constant(_float(text), dtype, span)
        if not isinstance(value, int):
            self.fail(f"{shown} is no whole number", span)
        bits = 8 if dtype == pl.Int8() else 16 if dtype == pl.Int16() else 64
        if value >= 2 ** (bits - 1):
            self.fail(f"{token.text} doesn't fit into this type", span)
        return Constant(value, dtype, span)

    def interval(self) -> Constant:
        """Take an INTERVAL literal: `INTERVAL '10' MINUTE`, `INTERVAL 10 MINUTES`, `INTERVAL '1 hour 30 minutes'`."""
        start = self.here
        self.advance()
        total = self._interval_part(start, first=True) or dt.timedelta(0)
        while (part := self._interval_part(start, first=False)) is not None:
            total += part
        return Constant(total, INTERVAL, self.since(start))

    def _interval_part(self, start: Span, first: bool) -> dt.timedelta | None:
        index = self.index
        negative = first and self.sign(TokenType.DASH)
        number: object = None
        if self.comes(TokenType.STRING, TokenType.NUMBER):
            number = self.curr.text
            self.advance()
        elif first and self.value_ahead():
            _, value, span = self.value()
            number, _ = constant(value, self.source, span)
            if isinstance(number, dt.timedelta):
                return -number if negative else number
        if number is None:
            if first:
                self.fail("the length of the INTERVAL is missing here", hint="Write INTERVAL 10 MINUTES.")
            return None
        micros = unit(self.curr.text) if self.comes(TokenType.VAR) else None
        if micros is None and not first:
            self.index = index  # the number belongs to what comes after the interval
            return None
        text = str(number).strip()
        count = _float(text)
        if count is None:
            whole = parse_duration(text.removeprefix("-").strip())
            if whole is None:
                hint = "Write INTERVAL '10' MINUTE or INTERVAL '10 minutes'."
                self.fail(f"'{text}' is no length of time", self.since(start), hint)
            return dt.timedelta(microseconds=-whole if negative != text.startswith("-") else whole)
        if micros is None:
            raise self.bad_unit(text, self.since(start))
        self.advance()
        if self.word("TO"):
            self.fail("intervals of several units are written one by one", hint="Write INTERVAL '1' DAY '2' HOURS.")
        length = microseconds(count, micros)
        if length is None:
            self.fail("this is too long", self.since(start))
        return dt.timedelta(microseconds=-length if negative else length)

    def bad_unit(self, number: str, span: Span) -> QueryError:
        """What is wrong where a number needs a unit of time and the word behind it, if any, is none."""
        token = self.curr
        if token.kind == TokenType.VAR and token.text.upper() in _CALENDAR_UNITS:
            return self.failure(
                "months, quarters and years differ in length", token.span, "Say it in days or weeks: 30 DAYS."
            )
        if token.kind == TokenType.VAR and token.text.upper() not in STOP_WORDS | WINDOW_WORDS | {"PRECEDING", "BY"}:
            names = [name.lower() + "s" for name in UNITS]
            hint = did_you_mean(token.text, names, "units of time")
            return self.failure(f"{token.text} is no unit of time", token.span, hint)
        return self.failure(
            f"{number} of what? The unit is missing",
            span,
            f"Write {number} SECONDS, {number} MINUTES, {number} HOURS, ...",
        )


_LITERALS = (
    TokenType.STRING,
    TokenType.RAW_STRING,
    TokenType.NUMBER,
    TokenType.HEX_STRING,
    TokenType.NULL,
    TokenType.TRUE,
    TokenType.FALSE,
)

_PREDICATES: Mapping[TokenType | None, Callable[[ExpressionParser, Node], Node]] = {
    TokenType.BETWEEN: ExpressionParser._between,
    TokenType.IN: ExpressionParser._in,
    TokenType.IS: ExpressionParser._is,
    TokenType.LIKE: lambda p, this: p._like(this, "like"),
    TokenType.ILIKE: lambda p, this: p._like(this, "ilike"),
    TokenType.RLIKE: lambda p, this: p._like(this, "rlike"),
}
"""What can follow a value, with or without NOT before it."""

_SPECIAL: Mapping[str, Callable[[ExpressionParser, Name], Node]] = {
    "cast": lambda p, name: p._cast(name, safe=False),
    "try_cast": lambda p, name: p._cast(name, safe=True),
    "extract": ExpressionParser._extract,
    "row_number": row_number,
    "trim": ExpressionParser._trim,
    "position": ExpressionParser._position,
    "substring": ExpressionParser._substring,
    "substr": ExpressionParser._substring,
}
"""Functions that have words among their arguments."""


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
