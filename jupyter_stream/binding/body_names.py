"""What names mean in a user-defined aggregate's body: columns of the tables read, parameters, `oldest()`, a SELECT as a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol

import polars as pl

from jupyter_stream import aggregates, functions
from jupyter_stream.aggregates.user import declared
from jupyter_stream.aggregates.user.body import FIRST_PLACE, Folded, Oldest, Read, Subquery
from jupyter_stream.aggregates.user.distinct import distinct_of
from jupyter_stream.binding.bind_expression import ExpressionBinder
from jupyter_stream.core.schema import Schema
from jupyter_stream.functions import Call, Column, Expr
from jupyter_stream.functions.binding import constant
from jupyter_stream.syntax.diagnose import did_you_mean
from jupyter_stream.syntax.nodes import FieldOf, FunctionCall, Node, Operation, Star, Subselect
from jupyter_stream.syntax.query_syntax import QueryBody
from jupyter_stream.syntax.source_text import Name, SourceText, Span
from jupyter_stream.syntax.syntax import CreateAggregate


@dataclass(frozen=True)
class NamedTable:
    """A table a body can name."""

    number: int
    name: str
    schema: Schema


@dataclass
class Level:
    """What a statement or a SELECT reads: its tables, and in front of what is around it."""

    reads: list[tuple[NamedTable, str, Read]] = field(default_factory=list)
    outer: Level | None = None
    using: dict[str, Expr] = field(default_factory=dict)


class Binding(Protocol):
    """The body that is being bound, as far as names ask it."""

    source: SourceText
    statement: CreateAggregate
    parameters: Schema
    window: NamedTable | None

    def binder(self, level: Level, clause: str) -> ExpressionBinder:
        """Binds expressions of a statement."""

    def place(self, dtype: pl.DataType) -> tuple[int, Column]:
        """A new place for a value."""

    def chance(self, place: Span) -> Column:
        """A column for `rand()`."""

    def value(self, value: Subquery | Oldest, dtype: pl.DataType) -> Column:
        """A value worked out before the expression it stands in."""

    def cast(self, expr: Expr, dtype: pl.DataType, what: str, span: Span) -> Expr:
        """The expression as another type."""

    def subquery(
        self, kind: Literal["exists", "value", "in"], body: QueryBody, level: Level, value: Expr | None, span: Span
    ) -> Column:
        """A SELECT inside an expression."""


def all_reads(level: Level | None) -> list[tuple[NamedTable, str, Read]]:
    """The tables read here and around, innermost first."""
    return [] if level is None else [*level.reads, *all_reads(level.outer)]


class BodyNames:
    """Names of a statement in a body."""

    def __init__(self, body: Binding, level: Level, clause: str) -> None:
        self.body = body
        self.level = level
        self.clause = clause

    def column(self, name: Name, qualifier: Name | None) -> Expr | None:
        """A column of the tables read, innermost first; then a parameter."""
        level: Level | None = self.level
        while level is not None:
            found = []
            for table, called, read in level.reads:
                known = table.schema.find(name.text)
                if known is not None and (qualifier is None or qualifier.text.lower() == called):
                    found.append(Column(f"#{read.place + table.schema.names.index(known.name)}", known.dtype))
            if len(found) > 1 and qualifier is None and name.text.lower() in level.using:
                return level.using[name.text.lower()]
            if len(found) > 1:
                raise self.body.source.error(
                    f"{name.text} could be a column of several tables", name.span, f"Write t.{name.text}."
                )
            if found:
                return found[0]
            level = level.outer
        known = self.body.parameters.find(name.text) if qualifier is None else None
        if known is None:
            return None
        return Column(f"#{FIRST_PLACE + self.body.parameters.names.index(known.name)}", known.dtype)

    def known(self) -> tuple[str, ...]:
        """Columns and parameters."""
        return (*(n for t, _, _ in all_reads(self.level) for n in t.schema.names), *self.body.parameters.names)

    def pseudo(self) -> tuple[str, ...]:
        """Nothing else."""
        return ()

    def aggregate(self, call: FunctionCall) -> Expr:
        """None may stand here."""
        raise self.body.source.error(
            f"an aggregate can't be used in {self.clause}",
            call.span,
            "Write it into a SELECT: (SELECT max(x) FROM t).",
        )

    def special(self, node: Node) -> Expr | None:
        """`oldest()`, `oldest().column`, EXISTS, IN (SELECT ...) and a SELECT for one value."""
        if isinstance(node, FieldOf) and is_oldest(node.inner):
            return self._oldest(node.name, node)
        if is_oldest(node):
            return self._oldest(None, node)
        if isinstance(node, FunctionCall) and node.name.text.lower() == "rand" and not node.args:
            return self.body.chance(node.span)
        if isinstance(node, Subselect):
            return self.body.subquery("value", node.body, self.level, None, node.span)
        if isinstance(node, FunctionCall) and node.name.text.lower() == "exists" and len(node.args) == 1:
            (inner,) = node.args
            if isinstance(inner, Subselect):
                return self.body.subquery("exists", inner.body, self.level, None, node.span)
        if isinstance(node, Operation) and node.function == "in" and len(node.args) == 2:
            value, inner = node.args
            if isinstance(inner, Subselect):
                bound = ExpressionBinder(self.body.source, self).bind(value)
                return self.body.subquery("in", inner.body, self.level, bound, node.span)
        return None

    def _oldest(self, name: Name | None, node: Node) -> Expr:
        window, source = self.body.window, self.body.source
        if window is None:
            raise source.error(
                "oldest() needs the table inwindow, which this aggregate doesn't have",
                node.span,
                "Declare it before the states: TABLE inwindow (x DOUBLE);",
            )
        if name is None and len(window.schema) != 1:
            raise source.error(
                "inwindow has several columns", node.span, f"Say which one: oldest().{window.schema.names[0]}."
            )
        known = window.schema.fields[0] if name is None else window.schema.find(name.text)
        if known is None:
            assert name is not None
            hint = did_you_mean(name.text, window.schema.names, "columns")
            raise source.error(f"inwindow has no column called {name.text}", name.span, hint)
        return self.body.value(Oldest(window.schema.names.index(known.name)), known.dtype)


class GroupedNames(BodyNames):
    """Names of a select list: aggregates may stand there."""

    def __init__(self, body: Binding, level: Level) -> None:
        super().__init__(body, level, "a SELECT")
        self.keys: list[tuple[int, Column, Expr]] = []
        self.folded: list[Folded] = []

    def aggregate(self, call: FunctionCall) -> Expr:
        """The value of an aggregate over the rows selected: a base version of the user's, or a built-in one."""
        source = self.body.source
        if call.window is not None:
            raise source.error("the tables of an aggregate can't have windows", call.window.span, "Remove the window.")
        binder = self.body.binder(self.level, "an aggregate")
        nodes = () if len(call.args) == 1 and isinstance(call.args[0], Star) else call.args
        args = [binder.bind(node) for node in nodes]
        where = None if call.where is None else binder.condition(call.where, "FILTER")
        own = declared(call.name.text)
        if own is not None and own.base is not None and getattr(own.base, "statement", None) is not self.body.statement:
            program = own.base.program([a.dtype for a in args])
            cast = [
                self.body.cast(a, t, "the argument", n.span)
                for a, t, n in zip(args, program.arguments, nodes, strict=True)
            ]
            program = distinct_of(program) if call.distinct else program
            place, column = self.body.place(program.dtype)
            self.folded.append(Folded("", tuple(cast), False, where, place, program.dtype, program))
            return column
        function = aggregates.find(call.name.text)
        if function is None:
            hint = "An aggregate can't call itself." if own is not None else None
            raise source.error(f"there is no aggregate called {call.name.text} for tables", call.span, hint)
        try:
            types, dtype = function.resolve(tuple(a.dtype for a in args), call.distinct) if args else ((), pl.Int64())
            args = [functions.cast(a, t) for a, t in zip(args, types, strict=True)]
            if not args and function.name != "count":
                raise aggregates.BadArguments(f"{function.name} needs an argument")
            parameters: tuple[object, ...] = ()
            if function.constant_from is not None:
                rest = enumerate(args[function.constant_from :], function.constant_from)
                parameters = tuple(constant(function.name, i, a).value for i, a in rest)
                args = args[: function.constant_from]
            if function.name == "count_if":
                args, where = [], args[0] if where is None else functions.resolve("and", [where, args[0]])
        except functions.BadArguments as bad:
            raise source.error(str(bad), call.span) from None
        place, column = self.body.place(dtype)
        self.folded.append(
            Folded(
                aggregates.KEPT_AS.get(function.name, function.name),
                tuple(args),
                call.distinct,
                where,
                place,
                dtype,
                parameters=parameters,
            )
        )
        return column

    def over_groups(self, expr: Expr, span: Span) -> Expr:
        """Grouping columns put in; complains of columns that are left over."""
        for _, column, key in self.keys:
            if expr == key:
                return column
        if isinstance(expr, Call):
            return Call(expr.function, tuple(self.over_groups(a, span) for a in expr.args), expr.dtype)
        own = {f"#{read.place + i}" for table, _, read in self.level.reads for i in range(len(table.schema))}
        if isinstance(expr, Column) and expr.name in own:
            raise self.body.source.error(
                "this is neither grouped nor aggregated", span, "Add it to GROUP BY, or aggregate it."
            )
        return expr


def is_oldest(node: Node) -> bool:
    """Whether this is `oldest()`."""
    return isinstance(node, FunctionCall) and node.name.text.lower() == "oldest" and not node.args
