"""Expressions as written: Spark's grammar and its order of operators, every function under the name it was written with,
and windows behind aggregates. Not for clauses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

import polars as pl
from sqlglot import TokenType

from jupyter_stream.core.schema import TIMESTAMP
from jupyter_stream.syntax.brackets import array_literal, bracketed, lambda_, struct_call, struct_literal
from jupyter_stream.syntax.calendar_intervals import moved
from jupyter_stream.syntax.inner_order import counted_together, inner_order, within_group
from jupyter_stream.syntax.matching import matching
from jupyter_stream.syntax.nesting import MANY_VALUES, MOST_LEVELS, MOST_OPERATORS, MOST_SELECTS
from jupyter_stream.syntax.nodes import (
    CastTo,
    ColumnRef,
    Constant,
    FieldOf,
    FunctionCall,
    Node,
    Operation,
    Star,
    Subselect,
    ValueList,
)
from jupyter_stream.syntax.parameters import Parameters, constant, items_of
from jupyter_stream.syntax.parse_literal import WINDOW_WORDS, LiteralParser
from jupyter_stream.syntax.parse_row_number import row_number
from jupyter_stream.syntax.parse_type import parse_type
from jupyter_stream.syntax.query_syntax import QueryBody, RecursiveRef, WindowClause
from jupyter_stream.syntax.row_values import compared
from jupyter_stream.syntax.script import Piece
from jupyter_stream.syntax.source_text import Name, SourceText, Span
from jupyter_stream.syntax.unit_words import with_units
from jupyter_stream.syntax.word_calls import overlay, rounded

_GOES_ON = frozenset((
    TokenType.PLUS, TokenType.DASH, TokenType.STAR, TokenType.SLASH, TokenType.MOD, TokenType.DPIPE, TokenType.DCOLON,
    TokenType.AMP, TokenType.PIPE, TokenType.CARET, TokenType.L_BRACKET, TokenType.DOT,
))  # fmt: skip
"""What makes an expression of a parameter before it."""

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

_BINARY: Mapping[TokenType | None, tuple[int, str]] = {
    kind: (level, function) for level, found in enumerate(_LEVELS) for kind, function in found.items()
}
"""The level of each operator, and what it is called."""
_NO_OPERATOR = (-1, "")

_TYPED_LITERALS: Mapping[str, pl.DataType] = {
    "DATE": pl.Date(),
    "TIMESTAMP": TIMESTAMP,
    "TIMESTAMP_NTZ": TIMESTAMP,
    "TIMESTAMP_LTZ": TIMESTAMP,
}


WithBody: TypeAlias = tuple[QueryBody, tuple[Name, ...]] | RecursiveRef | str
"""What a name of WITH stands for: a SELECT and names of its columns, a recursion, or inside that the rows of the round before."""


class ExpressionParser(LiteralParser):
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
        self.with_bodies: dict[str, WithBody] = {}
        self.in_body = False  # of a user-defined aggregate, where names may be parameters
        self.in_lateral = False  # in a SELECT that names what stands before it in FROM
        self._level = 0
        self._operators = 0
        self._selects = 0

    def expression(self, what: str) -> Node:
        """Take an expression.

        Args:
            what: what it is for ("a condition"), for the error if there is none.
        """
        node = self._or()
        if node is None:
            self.missing(what)
        return node

    def over(self) -> WindowClause:
        """Take what follows OVER."""
        return self._over(self)

    def deeper(self) -> None:
        """One level further in; `out` follows.

        Raises:
            QueryError: that is too deep.
        """
        self._level += 1
        if self._level > MOST_LEVELS:
            self.fail(
                f"this is nested more than {MOST_LEVELS:,} levels deep",
                hint="Compute a part of it in a SELECT of its own: SELECT ... FROM (SELECT ... AS part FROM ...).",
            )

    def out(self) -> None:
        """One level back."""
        self._level -= 1

    def _joins(self) -> None:
        """One more operator with two sides, which has been taken.

        Raises:
            QueryError: these are too many.
        """
        self._operators += 1
        if self._operators > MOST_OPERATORS:
            raise self.source.error(
                f"this is operator {self._operators:,}, and a statement may have {MOST_OPERATORS:,}",
                self.prev.span,
                MANY_VALUES,
            )

    def selects(self) -> None:
        """One more SELECT, which comes next.

        Raises:
            QueryError: these are too many.
        """
        self._selects += 1
        if self._selects > MOST_SELECTS:
            self.fail(
                f"this is SELECT {self._selects:,} of a statement, which may have {MOST_SELECTS:,}",
                hint="CREATE VIEW makes a part of it a thing of its own, which other statements name.",
            )

    # -- from OR down to operands; None where there is no expression at all

    def _or(self) -> Node | None:
        this = self._and()
        while this is not None and self.sign(TokenType.OR):
            self._joins()
            other = self._and() or self.missing(f"an expression after {self.prev.text}")
            this = Operation("or", (this, other), this.span.to(other.span))
        return this

    def _and(self) -> Node | None:
        this = self._not()
        while this is not None and self.sign(TokenType.AND):
            self._joins()
            other = self._not() or self.missing(f"an expression after {self.prev.text}")
            this = Operation("and", (this, other), this.span.to(other.span))
        return this

    def _not(self) -> Node | None:
        """`[NOT] value [predicate]`; a predicate takes a whole comparison before it, as in Spark."""
        start = self.here
        if self.sign(TokenType.NOT):
            self.deeper()
            inner = self._not() or self.missing("a condition after NOT")
            self.out()
            return Operation("not", (inner,), start.to(inner.span))
        this = self._binary(0)
        while this is not None:
            negate = self.comes(TokenType.NOT) and self.next.kind in _PREDICATES
            kind = self.next.kind if negate else self.curr.kind
            parser = _PREDICATES.get(kind) if kind is not None else None
            if parser is None:
                found = matching(self, this)
                if found is None:
                    break
                this = found
                continue
            self.advance(2 if negate else 1)
            this = parser(self, this)
            if negate:
                this = Operation("not", (this,), this.span)
        return this

    def _binary(self, least: int) -> Node | None:
        """Operators of a level and of all that bind closer, from left to right."""
        this = self._unary()
        most = len(_LEVELS)  # one that binds closer than the last would have been taken by what stands right of that
        while this is not None:
            level, function = _BINARY.get(self.curr.kind, _NO_OPERATOR)
            if not least <= level <= most:
                break
            most = level
            self.advance()
            self._joins()
            quantified = self._quantified(function, this) if level == 0 else None
            if quantified is not None:
                this = quantified
                continue
            right = self._binary(level + 1) or self.missing(f"an expression after {self.prev.text}")
            made = moved(function, this, right) or Operation(function, (this, right), this.span.to(right.span))
            this = compared(made, self.source)
        return this

    def _quantified(self, function: str, this: Node) -> Node | None:
        """`ANY (...)`, `SOME (...)` and `ALL (...)` behind a comparison: of a SELECT's rows, or of an array's items."""
        word = {"ANY": "any", "SOME": "any", "ALL": "all"}.get(self.curr.text.upper())
        if (
            word is None
            or self.curr.kind == TokenType.STRING
            or self.next.kind != TokenType.L_PAREN
            or function == "<=>"
        ):
            return None
        self.advance(2)
        items = self._arguments("a SELECT or values")
        self.close()
        return Operation(f"{function} {word}", (this, *items), self.since(this.span))

    def operand_of(self, what: str) -> Node:
        """A value without comparisons: an operand of a predicate."""
        return self._binary(1) or self.missing(what)

    def _unary(self) -> Node | None:
        start = self.here
        for kind, function in ((TokenType.DASH, "neg"), (TokenType.TILDE, "~"), (TokenType.PLUS, None)):
            if self.sign(kind):
                self.deeper()
                inner = self._unary() or self.missing(f"an expression after {self.prev.text}")
                self.out()
                return inner if function is None else Operation(function, (inner,), start.to(inner.span))
        self.deeper()
        operand = self._operand()
        made = None if operand is None else self._parts(operand)
        self.out()
        return made

    # -- predicates; the word is taken already

    def _between(self, this: Node) -> Node:
        symmetric = self.word("SYMMETRIC")
        low = self.operand_of("the lower end of BETWEEN")
        if not self.sign(TokenType.AND):
            self.fail("AND is missing here", hint="Write x BETWEEN low AND high.")
        high = self.operand_of("the upper end of BETWEEN")
        span = this.span.to(high.span)
        made = Operation("between", (this, low, high), span)
        return Operation("or", (made, Operation("between", (this, high, low), span)), span) if symmetric else made

    def _in(self, this: Node) -> Node:
        if self.value_ahead():  # IN :names
            items = self._members()
        else:
            self.expect_sign(TokenType.L_PAREN, "(", "Write x IN (1, 2, 3).")
            items = self._members()
            while self.sign(TokenType.COMMA):
                items += self._members()
            self.close()
        if not items:
            return Constant(False, pl.Boolean(), self.since(this.span))
        return compared(Operation("in", (this, *items), self.since(this.span)), self.source)

    def _members(self) -> list[Node]:
        """An item of IN (...), or the items of a parameter that holds several."""
        if self.curr.kind in (TokenType.NUMBER, TokenType.STRING) and self.next.kind in (
            TokenType.COMMA,
            TokenType.R_PAREN,
        ):
            return [self._unary() or self.missing("a value")]  # at once: there may be thousands
        behind = self.token(1 if self.comes(TokenType.PLACEHOLDER) else 2)
        if not self.value_ahead() or behind.kind in _GOES_ON:
            return [self._argument() or self.missing("a value")]
        _, value, span = self.value()
        return [Constant(*constant(each, self.source, span), span) for each in items_of(value)]

    def _is(self, this: Node) -> Node:
        negate = self.sign(TokenType.NOT)
        if self.sign(TokenType.DISTINCT):
            if not self.sign(TokenType.FROM):
                self.fail("FROM is missing here", hint="Write a IS DISTINCT FROM b.")
            other = self.operand_of("an expression")
            made: Node = Operation("<=>", (this, other), this.span.to(other.span))
            return made if negate else Operation("not", (made,), made.span)
        if self.sign(TokenType.NULL) or self.word("UNKNOWN"):
            return Operation("is_not_null" if negate else "is_null", (this,), self.since(this.span))
        if not self.comes(TokenType.TRUE, TokenType.FALSE):
            self.fail("IS takes NULL, TRUE or FALSE", hint="Compare values with =.")
        truth = Constant(self.comes(TokenType.TRUE), pl.Boolean(), self.here)
        self.advance()
        made = Operation("<=>", (this, truth), self.since(this.span))
        return Operation("not", (made,), made.span) if negate else made

    def like(self, this: Node, function: str) -> Node:
        """Take the pattern of LIKE, with its ESCAPE."""
        args = [this, self.operand_of("a pattern")]
        if self.sign(TokenType.ESCAPE):
            args.append(self.operand_of("a character"))
        return Operation(function, tuple(args), this.span.to(args[-1].span))

    # -- operands

    def _operand(self) -> Node | None:
        token = self.curr
        if token.kind in _LITERALS:
            self.advance()
            return self.literal(token.kind)
        if token.kind == TokenType.DOT and self.next.kind == TokenType.NUMBER:
            self.advance(2)
            span = token.span.to(self.prev.span)
            try:
                return Constant(float(f"0.{self.prev.text}"), pl.Float64(), span)
            except ValueError:
                raise self.source.error("this is no number", span, "Write it as 0.5 or .5.") from None
        if self.value_ahead():
            _, value, span = self.value()
            return Constant(*constant(value, self.source, span), span)
        if token.kind == TokenType.STAR:
            self.advance()
            return self._star(None, token.span)
        if token.kind == TokenType.INTERVAL:
            return self.calendar_interval() or self.interval()
        if token.kind == TokenType.CASE:
            return self._case()
        if token.kind == TokenType.L_PAREN:
            return self._parentheses()
        if token.kind in (TokenType.L_BRACKET, TokenType.L_BRACE):
            return array_literal(self) if token.kind == TokenType.L_BRACKET else struct_literal(self)
        if token.kind in _FUNCTIONS_TOO and self.next.kind == TokenType.L_PAREN:
            self.advance()
            return self._call(Name(token.text, token.span))
        if token.kind not in (TokenType.VAR, TokenType.IDENTIFIER):
            return None
        if token.kind == TokenType.VAR and self.next.kind == TokenType.STRING:
            dtype = _TYPED_LITERALS.get(token.text.upper())
            if dtype is not None:
                self.advance(2)
                text = Constant(self.prev.text, pl.String(), self.prev.span)
                return CastTo(text, dtype, False, token.span.to(text.span))
        if self.peek("SUMMARY") and self.next.kind == TokenType.DOT and self.token(2).text.upper() == "ESTIMATE":
            return self._estimate()
        name = self.name("a column")
        if self.comes(TokenType.L_PAREN):
            return self._call(name)
        return ColumnRef(name, None, name.span)

    def _star(self, qualifier: Name | None, span: Span) -> Star:
        """What stands behind `*`: `EXCEPT (a, b)`, columns that are left out."""
        if not (self.comes(TokenType.EXCEPT) or self.peek("EXCLUDE")) or self.next.kind != TokenType.L_PAREN:
            return Star(qualifier, span)
        if self.token(2).kind in (TokenType.SELECT, TokenType.L_PAREN):
            return Star(qualifier, span)
        self.advance(2)
        names = [self.name("a column")]
        while self.sign(TokenType.COMMA):
            names.append(self.name("a column"))
        self.expect_sign(TokenType.R_PAREN, ")", "Write * EXCEPT (a, b).")
        return Star(qualifier, self.since(span), tuple(names))

    def _parts(self, this: Node) -> Node:
        """What can follow an operand: `.field`, `[index]`, `::type`."""
        while True:
            if self.sign(TokenType.DOT):
                if self.sign(TokenType.STAR) and isinstance(this, ColumnRef) and this.qualifier is None:
                    return self._star(this.name, self.since(this.span))
                if self.at_end or not self.curr.text[:1].isidentifier():
                    self.fail("the name of a column is missing here")
                self.advance()  # any word may be a field's name
                name = Name(self.prev.text, self.prev_span)
                if isinstance(this, ColumnRef) and this.qualifier is None:
                    this = ColumnRef(name, this.name, this.span.to(name.span))
                else:
                    this = FieldOf(this, name, this.span.to(name.span))
            elif self.sign(TokenType.DCOLON):
                dtype = parse_type(self)
                this = CastTo(this, dtype, False, self.since(this.span))
            elif self.comes(TokenType.L_BRACKET) and not self.window_ahead() and not isinstance(this, Constant):
                this = bracketed(self, this)
            else:
                return this

    def _parentheses(self) -> Node:
        start = self.here
        self.advance()
        items = [self._argument() or self.missing("an expression")]
        while self.sign(TokenType.COMMA):
            items.append(self.expression("an expression"))
        self.close()
        span = self.since(start)
        return ValueList(tuple(items), span) if len(items) > 1 else replace(items[0], span=span)

    def _argument(self) -> Node | None:
        made = lambda_(self)
        if made is not None:
            return made
        if not self.select_ahead():
            return self._or()
        start = self.here
        body = self._select(self)
        return Subselect(body, self.since(start))

    def select_ahead(self) -> bool:
        """Whether a SELECT comes next, WITH before one, or VALUES."""
        if self.peek("WITH") and self.next.kind in (TokenType.VAR, TokenType.IDENTIFIER):
            behind = 3 if self.next.text.upper() == "RECURSIVE" and self.token(2).kind in _NAMES else 2
            return self.token(behind).kind in (TokenType.ALIAS, TokenType.L_PAREN)
        return self.comes(TokenType.SELECT) or self.values_ahead()

    def values_ahead(self) -> bool:
        """Whether `VALUES (...)` comes next, in the place of a SELECT."""
        return self.peek("VALUES") and self.next.kind in (TokenType.L_PAREN, TokenType.NUMBER, TokenType.STRING)

    def close(self) -> None:
        """Take `)` or say that it is missing."""
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
            args.append(Constant(None, pl.Null(), self.prev_span))
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
            args = with_units(name.text, self._arguments("an argument"))
        nulls = self._nulls()
        order = inner_order(self)
        self.close()
        call = FunctionCall(name, tuple(args), self.since(name.span), distinct, None, nulls, order=order)
        return counted_together(self._call_clauses(call))

    def _nulls(self) -> Span | None:
        """Take IGNORE NULLS (its place) or RESPECT NULLS, which is what is done anyway."""
        start = self.here
        if self.word("IGNORE", "NULLS"):
            return self.since(start)
        self.word("RESPECT", "NULLS")
        return None

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
        self.close()
        return FunctionCall(name, tuple(args), self.since(start))

    def _arguments(self, what: str) -> list[Node]:
        args = [self._argument() or self.missing(what)]
        while self.sign(TokenType.COMMA):
            args.append(self._argument() or self.missing(what))
        return args

    def _call_clauses(self, call: FunctionCall) -> FunctionCall:
        """FILTER, IGNORE NULLS and the window of an aggregate."""
        while True:
            if self.peek("FILTER") and self.next.kind == TokenType.L_PAREN:
                if call.where is not None:
                    self.fail("FILTER appears twice", hint="Write FILTER (WHERE a AND b).")
                self.advance(2)
                if not self.sign(TokenType.WHERE):
                    self.fail("WHERE is missing here", hint="Write FILTER (WHERE condition).")
                call = replace(call, where=self.expression("a condition"))
                self.close()
            elif self.peek("IGNORE", "NULLS") or self.peek("RESPECT", "NULLS"):
                call = replace(call, ignore_nulls=self._nulls())
            elif self.word("WITHIN", "GROUP"):
                call = within_group(self, call)
            elif self.window_ahead() or self.peek("OVER"):
                if call.window is not None:
                    self.fail("an aggregate can have only one window", hint="Remove one of the two.")
                call = replace(call, window=self._over(self) if self.word("OVER") else self._window(self))
            else:
                return call

    def window_ahead(self) -> bool:
        """Whether a window in brackets comes next, rather than the index of an array."""
        if not self.comes(TokenType.L_BRACKET) or self.next.kind != TokenType.VAR:
            return False
        word = self.next.text.upper()
        alone = self.token(2).kind == TokenType.R_BRACKET  # one word is a column, unless it is a whole window
        return word in WINDOW_WORDS and (not alone or word in ("NOW", "UNBOUNDED"))

    def _cast(self, name: Name, safe: bool) -> Node:
        inner = self.expression("an expression")
        if not self.sign(TokenType.ALIAS):
            self.fail("AS is missing here", hint="Write CAST(x AS DOUBLE).")
        dtype = parse_type(self)
        self.close()
        return CastTo(inner, dtype, safe, self.since(name.span))

    def _extract(self, name: Name) -> Node:
        if not self.comes(TokenType.VAR, TokenType.STRING):
            self.fail("a part of a time is missing here", hint="Write EXTRACT(HOUR FROM ts).")
        part = Constant(self.curr.text.lower(), pl.String(), self.here)
        self.advance()
        if not self.sign(TokenType.FROM):
            self.fail("FROM is missing here", hint="Write EXTRACT(HOUR FROM ts).")
        time = self.expression("a time")
        self.close()
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
        self.close()
        if function == "trim" and len(args) == 2:
            function = "btrim"  # the one that takes what to trim
        return FunctionCall(Name(function, name.span), tuple(args), self.since(name.span))

    def _position(self, name: Name) -> Node:
        args = [self.operand_of("a text")]
        if self.sign(TokenType.IN) or self.sign(TokenType.COMMA):
            args += self._arguments("a text")
        self.close()
        return FunctionCall(name, tuple(args), self.since(name.span))

    def _substring(self, name: Name) -> Node:
        args = [self.expression("a text")]
        while self.sign(TokenType.COMMA) or self.sign(TokenType.FROM) or self.word("FOR"):
            args.append(self.expression("a number"))
        self.close()
        return FunctionCall(name, tuple(args), self.since(name.span))


_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)

_LITERALS = (
    TokenType.STRING,
    TokenType.RAW_STRING,
    TokenType.NUMBER,
    TokenType.HEX_STRING,
    TokenType.NULL,
    TokenType.TRUE,
    TokenType.FALSE,
)

_FUNCTIONS_TOO = (TokenType.LIKE, TokenType.ILIKE, TokenType.RLIKE)
"""Operators that can be called as functions: `rlike(text, pattern)`."""

_PREDICATES: Mapping[TokenType | None, Callable[[ExpressionParser, Node], Node]] = {
    TokenType.BETWEEN: ExpressionParser._between,
    TokenType.IN: ExpressionParser._in,
    TokenType.IS: ExpressionParser._is,
    TokenType.LIKE: lambda p, this: p.like(this, "like"),
    TokenType.ILIKE: lambda p, this: p.like(this, "ilike"),
    TokenType.RLIKE: lambda p, this: p.like(this, "rlike"),
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
    "floor": rounded,
    "ceil": rounded,
    "ceiling": rounded,
    "overlay": overlay,
    "struct": struct_call,
}
"""Functions that have words among their arguments."""
