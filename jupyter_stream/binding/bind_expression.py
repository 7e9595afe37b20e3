"""Expressions: from what is written to typed calls of the function table. Aggregates are handed to whoever asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Protocol

import polars as pl

from jupyter_stream import aggregates, functions
from jupyter_stream.aggregates.user import declared, declared_names
from jupyter_stream.binding.bind_lambda import bind_with_lambdas, takes_lambda
from jupyter_stream.binding.bind_rand import rand_of
from jupyter_stream.binding.elsewhere import instead
from jupyter_stream.binding.scope import NO_NUMBERS, ROW_NUM, Scope, left_out_of
from jupyter_stream.binding.window_functions import misplaced
from jupyter_stream.core.schema import TIMESTAMP, type_name
from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.functions import Call, Column, Expr, Literal
from jupyter_stream.functions.types import RANGES
from jupyter_stream.syntax.diagnose import did_you_mean, nearest
from jupyter_stream.syntax.nodes import (
    CastTo,
    ColumnRef,
    Constant,
    FieldOf,
    FunctionCall,
    ItemOf,
    Lambda,
    Months,
    Node,
    NullOf,
    Operation,
    Outer,
    RowNumber,
    Star,
    Subselect,
    UnitWord,
    ValueList,
    walk,
)
from jupyter_stream.syntax.source_text import Name, SourceText
from jupyter_stream.syntax.unit_words import BARE_ONLY, UNITS, unit

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

    def over(self, names: Names) -> ExpressionBinder:
        """The same over other names."""
        return ExpressionBinder(self.source, names)

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
            case Months():
                raise self.error(
                    "months and years differ in length: they can only be added to a time or subtracted from one",
                    node,
                    "Write ts + INTERVAL 1 MONTH; elsewhere write days or weeks: INTERVAL 30 DAYS.",
                )
            case ColumnRef():
                return self._column(node)
            case RowNumber():
                raise self.error(
                    "ROW_NUMBER() can be used only in the select list, in QUALIFY, or in WHERE, combined with AND",
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
                raise self.error(
                    "* can be used only by itself in the select list, or in count(*)", node, "Name the columns instead."
                )
            case Subselect():
                raise self.error(
                    "a scalar subquery can't be used here in this version",
                    node,
                    "Use it in WHERE, in the select list, in GROUP BY, in HAVING or in ON of an inner join.",
                    UnsupportedError,
                )
            case Outer():
                return self.bind(node.inner)
            case NullOf():
                return Literal(None, self.bind(node.inner).dtype)
            case Lambda():
                raise self.error(
                    "a lambda can't be used here",
                    node,
                    "Lambdas go with transform, filter, exists, forall, zip_with and aggregate.",
                )
            case ValueList():
                raise self.error("a list of values can't be used here", node, "Use it after IN: x IN :names.")

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
            return functions.checked(functions.resolve(function, args))
        except functions.UnknownFunction:
            said = misplaced(node, self.source) if isinstance(node, FunctionCall) else None
            if said is not None:
                raise said from None
            words = [name for name in functions.names() if name[0].isalpha()]
            best = nearest(function, (*declared_names(), *functions.own_names(), *aggregates.names(), *words))
            hint = f"Did you mean {best}?" if best else "DESCRIBE FUNCTIONS lists what there is."
            hint = instead(function, node, self.source) or hint
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
            hint = NO_NUMBERS if lower == ROW_NUM else hint
            outer = self.names.column(qualifier, None)
            if outer is not None and isinstance(outer.dtype, pl.Struct):
                return self._field(outer, name, node)
            if outer is not None and isinstance(outer.dtype, pl.String):
                hint = f"{qualifier.text} is STRING. If it holds JSON, write get_json_object({qualifier.text}, '$.{name.text}')."
            raise self.error(f"there is no column {qualifier.text}.{name.text}", node, hint)
        if functions.has(lower) and node.may_be_call:
            return self.call(lower, [], node)
        if functions.has(lower) or aggregates.find(lower) is not None:
            hint = f"Functions are called with parentheses: {name.text}(...)."
        elif lower == ROW_NUM:
            hint = NO_NUMBERS
        elif lower in ("window_start", "window_end", "window_id"):
            hint = f"{lower} needs a window with SLIDE: [RANGE 10 MINUTES SLIDE 1 MINUTE], [RANGE 5 MINUTES TUMBLING], ...."
        left_out = left_out_of(getattr(self.names, "scope", None), name.text)
        if left_out is not None:
            raise self.error(left_out[0], node, left_out[1])
        raise self.error(f"there is no column called {name.text}", node, hint)

    def _field(self, struct: Expr, name: Name, node: Node) -> Expr:
        if not isinstance(struct.dtype, pl.Struct):
            raise self.error(f"this is {type_name(struct.dtype)}, which has no fields", node)
        known = {f.name.lower(): f.name for f in struct.dtype.fields}
        if name.text.lower() not in known:
            hint = did_you_mean(name.text, known.values(), "fields")
            raise self.error(f"this STRUCT has no field {name.text}", node, hint)
        if not functions.has("get_field"):
            raise self.error("fields of a STRUCT aren't available in this version", node, kind=UnsupportedError)
        return self.call("get_field", [struct, Literal(known[name.text.lower()], pl.String())], node)

    def _item(self, node: ItemOf) -> Expr:
        inner, index = self.bind(node.inner), self.bind(node.index)
        if isinstance(inner.dtype, pl.Struct) and isinstance(index, Literal) and isinstance(index.value, str):
            return self._field(inner, Name(index.value, node.index.span), node)
        return self.call("[]", [inner, index], node)

    def _moved(self, node: Operation, moved: Expr, months: int) -> Expr:
        """A date or timestamp so many months later: on the same day, or on the month's last."""
        if moved.dtype not in (pl.Date(), TIMESTAMP):
            raise self.error(
                f"months are added to a DATE or a TIMESTAMP, not to {type_name(moved.dtype)}",
                node,
                "Write ts + INTERVAL 1 MONTH.",
            )
        day = self.call("add_months", [functions.cast(moved, pl.Date()), Literal(months, pl.Int32())], node)
        if moved.dtype == pl.Date():
            return day
        clock = self.call("-", [moved, functions.cast(functions.cast(moved, pl.Date()), TIMESTAMP)], node)
        return self.call("+", [functions.cast(day, TIMESTAMP), clock], node)

    def _operation(self, node: Operation) -> Expr:
        """An operator and those before it: `a + b + c` is `(a + b) + c`, and may have thousands of terms."""
        chain = [node]
        while isinstance(first := chain[-1].args[0], Operation) and self.names.special(first) is None:
            chain.append(first)
        if isinstance(first, Months) and chain[-1].function == "+" and len(chain[-1].args) == 2:
            turned = chain.pop()
            bound = self._moved(turned, self.bind(turned.args[1]), first.count)
        else:
            bound = self.bind(first)
        for operation in reversed(chain):
            other = operation.args[-1]
            if isinstance(other, Months) and operation.function in ("+", "-") and len(operation.args) == 2:
                bound = self._moved(operation, bound, other.count if operation.function == "+" else -other.count)
                continue
            bound = self._applied(operation, [bound, *(self.bind(arg) for arg in operation.args[1:])])
        return bound

    def _applied(self, node: Operation, args: list[Expr]) -> Expr:
        first = args[0]
        if node.function == "neg" and isinstance(first, Literal):
            number = first.value
            if number == RANGES.get(first.dtype, (None,))[0]:  # the least of its type: an error of each row
                return self.call(node.function, args, node)
            if isinstance(number, int | float) and not isinstance(number, bool):
                # -5 is one number; and so is the least INT, whose positive is a BIGINT.
                least = number == 2**31 and first.dtype == pl.Int64()
                return Literal(-number, pl.Int32() if least else first.dtype)
            if isinstance(number, Decimal):
                return Literal(-(2**63), pl.Int64()) if number == 2**63 else Literal(-number, first.dtype)
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
                "estimates of a summary can be used in WITH PREFERENCE only", node, "Count rows with count(*)."
            )
        if lower == "rand" and not node.args:
            return self._rand(node)
        own = functions.own_function(lower)
        if own is None and not functions.has(lower) and lower not in _CASTS:
            return self.call(name, [], node)  # it says which names are like this one
        if node.distinct:
            raise self.error(
                f"DISTINCT can be used in aggregates only, and {name} is not one", node, "Remove DISTINCT."
            )
        if takes_lambda(node):
            return bind_with_lambdas(node, self)
        if any(isinstance(argument, Star) for argument in node.args):
            raise self.error(f"{name}(*) doesn't exist", node, "count(*) counts rows.")
        if lower in BARE_ONLY and len(node.args) == 3 and not isinstance(node.args[0], UnitWord):
            raise self._no_unit(node.args[0], name)
        args = [self.bind(argument) for argument in node.args]
        if lower in ("struct", "row") and args:
            return self.call("named_struct", _with_names(node.args, args), node)
        if own is not None:
            try:
                return own.bind(args)
            except functions.BadArguments as bad:
                raise self.error(bad.message, node, f"Usage: {own.signature}.") from None
        if lower in _CASTS and len(args) == 1:
            try:
                return functions.cast(args[0], _CASTS[lower])
            except functions.BadArguments as bad:
                raise self.error(bad.message, node) from None
        return self.call(lower, args, node)

    def _rand(self, node: FunctionCall) -> Expr:
        number = self.names.column(Name(ROW_NUM, node.name.span), None)
        scope = getattr(self.names, "scope", None)
        if number is None or not isinstance(scope, Scope):
            raise self.error(
                "rand() can be used for the rows of a stream, and in the body of an aggregate",
                node,
                "Put it into a subquery: SELECT ... FROM (SELECT rand() AS r, ... FROM stream).",
            )
        return rand_of(number, scope.plan, node.span.start)

    def _no_unit(self, node: Node, function: str) -> QueryError:
        known = unit(node.value) if isinstance(node, Constant) else None
        hint = f"Write {function}({known or 'MONTH'}, ...)." + " It counts whole units." * ("diff" in function)
        return self.error(f"{function} takes a unit of time first, without quotes: {', '.join(UNITS)}", node, hint)


def is_aggregate_call(node: Node) -> bool:
    """Whether a node calls an aggregate, or is written as if it did: with FILTER or a window."""
    if not isinstance(node, FunctionCall):
        return False
    if node.where is not None or node.window is not None or node.ignore_nulls is not None or node.order:
        return True
    lower = node.name.text.lower()
    return declared(lower) is not None or (aggregates.find(lower) is not None and not functions.has(lower))


def holds_aggregate(node: Node) -> bool:
    """Whether an aggregate is called anywhere in it, other than with OVER behind it."""
    return any(is_aggregate_call(part) and not _is_over(part) for part in walk(node))


def _is_over(node: Node) -> bool:
    return isinstance(node, FunctionCall) and node.window is not None and node.window.over


def _with_names(nodes: Sequence[Node], values: Sequence[Expr]) -> list[Expr]:
    """The fields of a struct: columns and fields of structs go by their names, others are called col1, col2, ...; as in Spark."""
    taken: set[str] = set()
    made: list[Expr] = []
    for number, (node, value) in enumerate(zip(nodes, values, strict=True), 1):
        own = node.name.text if isinstance(node, ColumnRef | FieldOf) else f"col{number}"
        if isinstance(value, Column) and value.name.lower() == own.lower():
            own = value.name  # as it was declared
        name, again = own, 2
        while name.lower() in taken:
            name, again = f"{own}_{again}", again + 1
        taken.add(name.lower())
        made += [Literal(name, pl.String()), value]
    return made
