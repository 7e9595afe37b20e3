"""Expressions: from sqlglot's tree to typed calls of the function table. Aggregates are handed to whoever asks for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import polars as pl
from sqlglot import exp

from jupyter_stream import aggregates, functions
from jupyter_stream.core.schema import TIMESTAMP, type_name
from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.functions import Call, Expr, Literal
from jupyter_stream.language.diagnose import did_you_mean, nearest
from jupyter_stream.language.nodes import CastTo, Constant, Subselect, Windowed, span_of
from jupyter_stream.language.source_text import SourceText, Span
from jupyter_stream.language.syntax import Name

_BINARY: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.IntDiv: "div", exp.Mod: "%",
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.NullSafeEQ: "<=>",
    exp.And: "and", exp.Or: "or", exp.RegexpLike: "rlike",
    exp.BitwiseAnd: "&", exp.BitwiseOr: "|", exp.BitwiseXor: "^",
}  # fmt: skip
_UNARY: dict[type[exp.Expr], str] = {exp.Neg: "neg", exp.Not: "not", exp.BitwiseNot: "~"}
_WITHOUT_PARENTHESES = ("current_date", "current_timestamp", "localtimestamp")


class Names(Protocol):
    """Where an expression's names come from."""

    def column(self, name: Name, qualifier: Name | None) -> Expr | None:
        """The column, None if there is none of that name. Raises `QueryError` if it may not stand here."""

    def known(self) -> tuple[str, ...]:
        """Names of columns, for suggestions."""

    def pseudo(self) -> tuple[str, ...]:
        """Other names that can be used like columns."""

    def aggregate(self, node: exp.Expr) -> Expr:
        """The value of an aggregate call. Raises `QueryError` where aggregates may not stand."""

    def special(self, node: exp.Expr) -> Expr | None:
        """The value of a node that means something else here, None if it doesn't."""


class ExpressionBinder:
    """Binds expressions over one set of names.

    Args:
        source: the cell, for errors.
        names: where columns come from.
        place: where an error points if a node has no place of its own.
    """

    def __init__(self, source: SourceText, names: Names, place: Span) -> None:
        self.source = source
        self.names = names
        self.place = place

    def bind(self, node: exp.Expr) -> Expr:
        """The typed expression.

        Raises:
            QueryError: an unknown column or function, types that don't go together.
            UnsupportedError: something that can't be run yet.
        """
        special = self.names.special(node)
        if special is not None:
            return special
        for kind in type(node).__mro__:
            handler = _HANDLERS.get(kind)
            if handler is not None:
                return handler(self, node)
        binary = _BINARY.get(type(node))
        if binary is not None:
            return self.call(binary, [self.bind(node.this), self.bind(node.args["expression"])], node)
        unary = _UNARY.get(type(node))
        if unary is not None:
            return self._unary(unary, node)
        raise self.error("this isn't an expression that can be worked out here", node)

    def condition(self, node: exp.Expr, clause: str) -> Expr:
        """A BOOLEAN expression, for WHERE and the like."""
        bound = self.bind(node)
        if isinstance(bound.dtype, pl.Boolean):
            return bound
        if isinstance(bound.dtype, pl.Null):
            return functions.cast(bound, pl.Boolean())
        raise self.error(
            f"{clause} takes a condition, and this is {type_name(bound.dtype)}",
            node,
            "Compare it with something: x = 1, x > 0.",
        )

    def call(self, function: str, args: list[Expr], node: exp.Expr) -> Expr:
        """A call of the function table, its complaints given a place."""
        try:
            return functions.resolve(function, args)
        except functions.UnknownFunction as unknown:
            raise self.error(
                f"there is no function called {function}", node, self._suggest(function, unknown)
            ) from None
        except functions.BadArguments as bad:
            raise self.error(bad.message, node) from None

    def error(
        self, message: str, node: exp.Expr, hint: str | None = None, kind: type[QueryError] = QueryError
    ) -> QueryError:
        """An error at a node."""
        return self.source.error(message, span_of(node) or self.place, hint, kind)

    def _suggest(self, function: str, unknown: functions.UnknownFunction) -> str | None:
        words = [name for name in functions.names() if name[0].isalpha()]
        best = nearest(function, (*aggregates.names(), *words)) or next(iter(unknown.suggestions), None)
        return f"Did you mean {best}?" if best else "DESCRIBE FUNCTIONS lists what there is."

    # -- one method for each kind of node

    def _constant(self, node: exp.Expr) -> Expr:
        assert isinstance(node, Constant)
        return Literal(node.value, node.dtype)

    def _paren(self, node: exp.Expr) -> Expr:
        return self.bind(node.this)

    def _column(self, node: exp.Expr) -> Expr:
        if isinstance(node.this, exp.Star):
            raise self.error("* stands in a select list or in count(*) only", node)
        name = _name(node.this)
        qualifier = _name(node.args["table"]) if node.args.get("table") else None
        found = self.names.column(name, qualifier)
        if found is not None:
            return found
        if qualifier is not None:
            outer = self.names.column(qualifier, None)
            if outer is not None and isinstance(outer.dtype, pl.Struct):
                return self._field(outer, name, node)
            raise self.error(
                f"there is no column {qualifier.text}.{name.text}",
                node,
                did_you_mean(name.text, self.names.known(), "columns", self.names.pseudo()),
            )
        if name.text.lower() in _WITHOUT_PARENTHESES and name.text.lower() in functions.names():
            return self.call(name.text.lower(), [], node)
        hint = did_you_mean(name.text, self.names.known(), "columns", self.names.pseudo())
        if name.text.lower() in functions.names() or aggregates.find(name.text):
            hint = f"Functions are called with parentheses: {name.text}(...)."
        raise self.error(f"there is no column called {name.text}", node, hint)

    def _field(self, struct: Expr, name: Name, node: exp.Expr) -> Expr:
        assert isinstance(struct.dtype, pl.Struct)
        known = {f.name.lower(): f.name for f in struct.dtype.fields}
        if name.text.lower() not in known:
            raise self.error(
                f"this STRUCT has no field {name.text}", node, did_you_mean(name.text, known.values(), "fields")
            )
        if "get_field" not in functions.names():
            raise self.error("fields of a STRUCT aren't available in this version", node, kind=UnsupportedError)
        return self.call("get_field", [struct, Literal(known[name.text.lower()], pl.String())], node)

    def _dot(self, node: exp.Expr) -> Expr:
        inner = self.bind(node.this)
        if not isinstance(inner.dtype, pl.Struct):
            raise self.error(f"this is {type_name(inner.dtype)}, which has no fields", node)
        return self._field(inner, _name(node.args["expression"]), node)

    def _bracket(self, node: exp.Expr) -> Expr:
        inner = self.bind(node.this)
        index = self.bind(node.expressions[0])
        if isinstance(inner.dtype, pl.Struct) and isinstance(index, Literal) and isinstance(index.value, str):
            return self._field(inner, Name(index.value, span_of(node) or self.place), node)
        return self.call("get", [inner, index], node)

    def _star(self, node: exp.Expr) -> Expr:
        raise self.error("* stands alone in a select list, or in count(*)", node)

    def _unary(self, function: str, node: exp.Expr) -> Expr:
        inner = self.bind(node.this)
        number = (
            isinstance(inner, Literal) and isinstance(inner.value, int | float) and not isinstance(inner.value, bool)
        )
        if function == "neg" and number and isinstance(inner, Literal) and isinstance(inner.value, int | float):
            # -5 is one number; and so is the least INT, whose positive is a BIGINT.
            least = inner.value == 2**31 and inner.dtype == pl.Int64()
            return Literal(-inner.value, pl.Int32() if least else inner.dtype)
        if (
            function == "not"
            and isinstance(inner, Call)
            and inner.function == "is_null"
            and isinstance(node.this, exp.Is)
        ):
            return self.call("is_not_null", list(inner.args), node)
        return self.call(function, [inner], node)

    def _between(self, node: exp.Expr) -> Expr:
        return self.call(
            "between", [self.bind(node.this), self.bind(node.args["low"]), self.bind(node.args["high"])], node
        )

    def _in(self, node: exp.Expr) -> Expr:
        for item in node.expressions:
            if isinstance(item, Subselect):
                self._subselect(item)
        return self.call("in", [self.bind(node.this), *(self.bind(item) for item in node.expressions)], node)

    def _is(self, node: exp.Expr) -> Expr:
        left, right = self.bind(node.this), node.args["expression"]
        if isinstance(right, Constant) and right.value is None:
            return self.call("is_null", [left], node)
        return self.call("<=>", [left, self.bind(right)], node)

    def _distinct_from(self, node: exp.Expr) -> Expr:
        same = self.call("<=>", [self.bind(node.this), self.bind(node.args["expression"])], node)
        return self.call("not", [same], node)

    def _like(self, node: exp.Expr) -> Expr:
        inner, escape = (node.this, node.args["expression"]) if isinstance(node, exp.Escape) else (node, None)
        function = "ilike" if isinstance(inner, exp.ILike) else "like"
        args = [self.bind(inner.this), self.bind(inner.args["expression"])]
        if escape is not None:
            args.append(self.bind(escape))
        return self.call(function, args, node)

    def _concat(self, node: exp.Expr) -> Expr:
        function = "||" if "||" in functions.names() else "concat"
        return self.call(function, [self.bind(node.this), self.bind(node.args["expression"])], node)

    def _case(self, node: exp.Expr) -> Expr:
        operand = self.bind(node.this) if node.args.get("this") is not None else None
        args: list[Expr] = []
        for branch in node.args["ifs"]:
            test = self.bind(branch.this)
            if operand is not None:
                test = self.call("=", [operand, test], branch.this)
            args += [test, self.bind(branch.args["true"])]
        default = node.args.get("default")
        args.append(self.bind(default) if default is not None else Literal(None, pl.Null()))
        return self.call("case", args, node)

    def _cast(self, node: exp.Expr) -> Expr:
        dtype: pl.DataType = node.args["dtype"]
        inner = self.bind(node.this)
        try:
            return functions.cast(inner, dtype, bool(node.args.get("safe")))
        except functions.BadArguments as bad:
            raise self.error(bad.message, node) from None

    def _extract(self, node: exp.Expr) -> Expr:
        part = Literal(node.this.name.lower(), pl.String())
        function = "date_part" if "date_part" in functions.names() else "extract"
        return self.call(function, [part, self.bind(node.args["expression"])], node)

    def _function(self, node: exp.Expr) -> Expr:
        name = node.this.name if isinstance(node.this, exp.Expr) else str(node.this)
        lower = name.lower()
        if lower == "exists" and any(isinstance(a, Subselect) for a in node.expressions):
            raise self.error("EXISTS isn't available in this version", node, kind=UnsupportedError)
        if aggregates.find(lower) is not None and lower not in functions.names():
            return self.names.aggregate(node)
        if node.find(exp.Distinct) in node.expressions:
            raise self.error(f"DISTINCT goes with aggregates, and {name} is none", node)
        if lower in _CASTS and len(node.expressions) == 1:
            return functions.cast(self.bind(node.expressions[0]), _CASTS[lower])
        for argument in node.expressions:
            if isinstance(argument, exp.Star) and lower in functions.names():
                raise self.error(f"{name}(*) doesn't exist", node, "count(*) counts rows.")
        if lower not in functions.names():
            return self.call(name, [], node)  # it says which names are like this one
        return self.call(lower, [self.bind(argument) for argument in node.expressions], node)

    def _aggregate(self, node: exp.Expr) -> Expr:
        return self.names.aggregate(node)

    def _subselect(self, node: exp.Expr) -> Expr:
        raise self.error("a SELECT inside an expression isn't available in this version", node, kind=UnsupportedError)

    def _tuple(self, node: exp.Expr) -> Expr:
        raise self.error("a list of values doesn't stand here", node)


_CASTS: dict[str, pl.DataType] = {
    "boolean": pl.Boolean(), "tinyint": pl.Int8(), "smallint": pl.Int16(), "int": pl.Int32(), "bigint": pl.Int64(),
    "float": pl.Float32(), "double": pl.Float64(), "string": pl.String(), "timestamp": TIMESTAMP, "date": pl.Date(),
}  # fmt: skip
"""Spark's functions that are casts: `int(x)`."""

_HANDLERS: dict[type, Callable[[ExpressionBinder, exp.Expr], Expr]] = {
    Constant: ExpressionBinder._constant,
    CastTo: ExpressionBinder._cast,
    Windowed: ExpressionBinder._aggregate,
    Subselect: ExpressionBinder._subselect,
    exp.Filter: ExpressionBinder._aggregate,
    exp.IgnoreNulls: ExpressionBinder._aggregate,
    exp.Paren: ExpressionBinder._paren,
    exp.Column: ExpressionBinder._column,
    exp.Star: ExpressionBinder._star,
    exp.Dot: ExpressionBinder._dot,
    exp.Bracket: ExpressionBinder._bracket,
    exp.Between: ExpressionBinder._between,
    exp.In: ExpressionBinder._in,
    exp.Is: ExpressionBinder._is,
    exp.NullSafeNEQ: ExpressionBinder._distinct_from,
    exp.Like: ExpressionBinder._like,
    exp.ILike: ExpressionBinder._like,
    exp.Escape: ExpressionBinder._like,
    exp.DPipe: ExpressionBinder._concat,
    exp.Case: ExpressionBinder._case,
    exp.Extract: ExpressionBinder._extract,
    exp.Anonymous: ExpressionBinder._function,
    exp.Tuple: ExpressionBinder._tuple,
}


def _name(identifier: exp.Expr) -> Name:
    span = span_of(identifier) or Span(0, 1)
    return Name(identifier.name, span)


def is_aggregate_call(node: exp.Expr) -> bool:
    """Whether a node is the call of an aggregate, with or without FILTER and a window."""
    if isinstance(node, Windowed | exp.Filter | exp.IgnoreNulls):
        return True
    if not isinstance(node, exp.Anonymous):
        return False
    name = (node.this.name if isinstance(node.this, exp.Expr) else str(node.this)).lower()
    return aggregates.find(name) is not None and name not in functions.names()


def holds_aggregate(node: exp.Expr) -> bool:
    """Whether an aggregate is called anywhere in it."""
    return any(is_aggregate_call(part) for part in node.walk(prune=lambda n: isinstance(n, Subselect)))
