"""Expressions: from what is written to typed calls of the function table. Aggregates are handed to whoever asks for them."""

from __future__ import annotations

from typing import Protocol

import polars as pl

from jupyter_stream import aggregates, functions
from jupyter_stream.aggregates.user import declared, declared_names
from jupyter_stream.core.schema import TIMESTAMP, type_name
from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.functions import Call, Expr, Literal
from jupyter_stream.language.diagnose import did_you_mean, nearest
from jupyter_stream.language.nodes import (
    CastTo,
    ColumnRef,
    Constant,
    FieldOf,
    FunctionCall,
    ItemOf,
    Node,
    Operation,
    RowNumber,
    Star,
    Subselect,
    ValueList,
    walk,
)
from jupyter_stream.language.source_text import Name, SourceText
from jupyter_stream.language.window_functions import misplaced

_WITHOUT_PARENTHESES = ("current_date", "current_timestamp", "localtimestamp")
_CASTS: dict[str, pl.DataType] = {
    "boolean": pl.Boolean(), "tinyint": pl.Int8(), "smallint": pl.Int16(), "int": pl.Int32(), "bigint": pl.Int64(),
    "float": pl.Float32(), "double": pl.Float64(), "string": pl.String(), "timestamp": TIMESTAMP, "date": pl.Date(),
}  # fmt: skip
"""Spark's functions that are casts: `int(x)`."""


class Names(Protocol):
    """Where an expression's names come from."""

    def column(self, name: Name, qualifier: Name | None) -> Expr | None:
        """The column, None if there is none of that name. Raises `QueryError` if it may not stand here."""

    def known(self) -> tuple[str, ...]:
        """Names of columns, for suggestions."""

    def pseudo(self) -> tuple[str, ...]:
        """Other names that can be used like columns."""

    def aggregate(self, call: FunctionCall) -> Expr:
        """The value of an aggregate call. Raises `QueryError` where aggregates may not stand."""

    def special(self, node: Node) -> Expr | None:
        """The value of a node that means something else here, None if it doesn't."""


class ExpressionBinder:
    """Binds expressions over one set of names.

    Args:
        source: the cell, for errors.
        names: where columns come from.
    """

    def __init__(self, source: SourceText, names: Names) -> None:
        self.source = source
        self.names = names

    def bind(self, node: Node) -> Expr:
        """The typed expression.

        Raises:
            QueryError: an unknown column or function, types that don't go together.
            UnsupportedError: something that can't be run yet.
        """
        special = self.names.special(node)
        if special is not None:
            return special
        match node:
            case Constant():
                return Literal(node.value, node.dtype)
            case ColumnRef():
                return self._column(node)
            case RowNumber():
                raise self.error(
                    "ROW_NUMBER() stands in the select list, in QUALIFY, or in WHERE joined to the rest with AND",
                    node,
                    "Write SELECT ... WHERE ROW_NUMBER() OVER (PARTITION BY k ORDER BY n DESC) <= 3.",
                )
            case Operation():
                return self._operation(node)
            case FunctionCall():
                return self._function(node)
            case CastTo():
                return self._cast(node)
            case FieldOf():
                return self._field(self.bind(node.inner), node.name, node)
            case ItemOf():
                return self._item(node)
            case Star():
                raise self.error("* stands alone in a select list, or in count(*)", node)
            case Subselect():
                raise self.error(
                    "a SELECT can't stand for a value here in this version",
                    node,
                    "It can in WHERE, in the select list, in GROUP BY and in HAVING.",
                    UnsupportedError,
                )
            case ValueList():
                raise self.error("a list of values doesn't stand here", node)

    def condition(self, node: Node, clause: str) -> Expr:
        """A BOOLEAN expression, for WHERE and the like."""
        bound = self.bind(node)
        if isinstance(bound.dtype, pl.Boolean):
            return bound
        if isinstance(bound.dtype, pl.Null):
            return functions.cast(bound, pl.Boolean())
        shown = type_name(bound.dtype)
        raise self.error(
            f"{clause} takes a condition, and this is {shown}", node, "Compare it with something: x = 1, x > 0."
        )

    def call(self, function: str, args: list[Expr], node: Node) -> Expr:
        """A call of the function table, its complaints given a place."""
        try:
            return functions.resolve(function, args)
        except functions.UnknownFunction as unknown:
            said = misplaced(node, self.source) if isinstance(node, FunctionCall) else None
            if said is not None:
                raise said from None
            words = [name for name in functions.names() if name[0].isalpha()]
            best = nearest(function, (*declared_names(), *aggregates.names(), *words)) or next(
                iter(unknown.suggestions), None
            )
            hint = f"Did you mean {best}?" if best else "DESCRIBE FUNCTIONS lists what there is."
            if function.lower() in ("window", "session_window", "tumble", "hop"):
                hint = f"{function} stands in GROUP BY, or write the window behind the stream: [RANGE 10 MINUTES SLIDE 1 MINUTE]."
            raise self.error(f"there is no function called {function}", node, hint) from None
        except functions.BadArguments as bad:
            raise self.error(bad.message, node) from None

    def error(
        self, message: str, node: Node, hint: str | None = None, kind: type[QueryError] = QueryError
    ) -> QueryError:
        """An error at a node."""
        return self.source.error(message, node.span, hint, kind)

    # -- one method for each kind of node

    def _column(self, node: ColumnRef) -> Expr:
        name, qualifier = node.name, node.qualifier
        found = self.names.column(name, qualifier)
        if found is not None:
            return found
        lower = name.text.lower()
        hint = did_you_mean(name.text, self.names.known(), "columns", self.names.pseudo())
        if qualifier is not None:
            outer = self.names.column(qualifier, None)
            if outer is not None and isinstance(outer.dtype, pl.Struct):
                return self._field(outer, name, node)
            raise self.error(f"there is no column {qualifier.text}.{name.text}", node, hint)
        if lower in functions.names() and lower in _WITHOUT_PARENTHESES:
            return self.call(lower, [], node)
        if lower in functions.names() or aggregates.find(lower) is not None:
            hint = f"Functions are called with parentheses: {name.text}(...)."
        elif lower in ("window_start", "window_end", "window_id"):
            hint = (
                f"{lower} is of windows with SLIDE: [RANGE 10 MINUTES SLIDE 1 MINUTE], [RANGE 5 MINUTES TUMBLING], ...."
            )
        raise self.error(f"there is no column called {name.text}", node, hint)

    def _field(self, struct: Expr, name: Name, node: Node) -> Expr:
        if not isinstance(struct.dtype, pl.Struct):
            raise self.error(f"this is {type_name(struct.dtype)}, which has no fields", node)
        known = {f.name.lower(): f.name for f in struct.dtype.fields}
        if name.text.lower() not in known:
            hint = did_you_mean(name.text, known.values(), "fields")
            raise self.error(f"this STRUCT has no field {name.text}", node, hint)
        if "get_field" not in functions.names():
            raise self.error("fields of a STRUCT aren't available in this version", node, kind=UnsupportedError)
        return self.call("get_field", [struct, Literal(known[name.text.lower()], pl.String())], node)

    def _item(self, node: ItemOf) -> Expr:
        inner, index = self.bind(node.inner), self.bind(node.index)
        if isinstance(inner.dtype, pl.Struct) and isinstance(index, Literal) and isinstance(index.value, str):
            return self._field(inner, Name(index.value, node.index.span), node)
        return self.call("get", [inner, index], node)

    def _operation(self, node: Operation) -> Expr:
        args = [self.bind(arg) for arg in node.args]
        first = args[0]
        if node.function == "neg" and isinstance(first, Literal):
            number = first.value
            if isinstance(number, int | float) and not isinstance(number, bool):
                # -5 is one number; and so is the least INT, whose positive is a BIGINT.
                least = number == 2**31 and first.dtype == pl.Int64()
                return Literal(-number, pl.Int32() if least else first.dtype)
        if node.function == "not" and isinstance(first, Call) and first.function == "is_null":
            return self.call("is_not_null", list(first.args), node)
        return self.call(node.function, args, node)

    def _cast(self, node: CastTo) -> Expr:
        inner = self.bind(node.inner)
        try:
            return functions.cast(inner, node.dtype, node.safe)
        except functions.BadArguments as bad:
            raise self.error(bad.message, node) from None

    def _function(self, node: FunctionCall) -> Expr:
        name, lower = node.name.text, node.name.text.lower()
        if is_aggregate_call(node):
            return self.names.aggregate(node)
        if lower == "exists" and any(isinstance(a, Subselect) for a in node.args):
            raise self.error("EXISTS isn't available in this version", node, kind=UnsupportedError)
        if lower.startswith("summary."):
            raise self.error(
                "what a summary estimates can be named in WITH PREFERENCE only", node, "Count rows with count(*)."
            )
        if lower not in functions.names() and lower not in _CASTS:
            return self.call(name, [], node)  # it says which names are like this one
        if node.distinct:
            raise self.error(f"DISTINCT goes with aggregates, and {name} is none", node)
        if any(isinstance(argument, Star) for argument in node.args):
            raise self.error(f"{name}(*) doesn't exist", node, "count(*) counts rows.")
        args = [self.bind(argument) for argument in node.args]
        if lower in _CASTS and len(args) == 1:
            try:
                return functions.cast(args[0], _CASTS[lower])
            except functions.BadArguments as bad:
                raise self.error(bad.message, node) from None
        return self.call(lower, args, node)


def is_aggregate_call(node: Node) -> bool:
    """Whether a node calls an aggregate, or is written as if it did: with FILTER or a window."""
    if not isinstance(node, FunctionCall):
        return False
    if node.where is not None or node.window is not None or node.ignore_nulls is not None:
        return True
    lower = node.name.text.lower()
    return declared(lower) is not None or (aggregates.find(lower) is not None and lower not in functions.names())


def holds_aggregate(node: Node) -> bool:
    """Whether an aggregate is called anywhere in it, other than with OVER behind it."""
    return any(is_aggregate_call(part) and not _is_over(part) for part in walk(node))


def _is_over(node: Node) -> bool:
    return isinstance(node, FunctionCall) and node.window is not None and node.window.over
