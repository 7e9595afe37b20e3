"""What names mean in a user-defined aggregate's body: columns of the tables read, parameters, `oldest()`, a SELECT as a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol

import polars as pl

from jupyter_stream.aggregates.user.body import FIRST_PLACE, Folded, Oldest, Read, Subquery
from jupyter_stream.binding.bind_expression import ExpressionBinder, is_aggregate_call
from jupyter_stream.binding.body_aggregates import bind_called
from jupyter_stream.core.schema import Schema
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.functions import Call, Column, Expr
from jupyter_stream.syntax.diagnose import did_you_mean
from jupyter_stream.syntax.nodes import FieldOf, FunctionCall, Node, Operation, RowNumber, Subselect
from jupyter_stream.syntax.query_syntax import QueryBody, SelectBody
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
    """What a statement or a SELECT reads: its tables, and in front of what is around it.

    Attributes:
        reads: the tables, with the names they go by.
        outer: what is around it.
        using: columns of USING, by their names in lower case.
        merged: the same by the columns of the tables that are one there.
    """

    reads: list[tuple[NamedTable, str, Read]] = field(default_factory=list)
    outer: Level | None = None
    using: dict[str, Expr] = field(default_factory=dict)
    merged: dict[str, Expr] = field(default_factory=dict)


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
        if _is_rand(node):
            self._refuse_extras(node)
            return self.body.chance(node.span)
        if isinstance(node, RowNumber):
            raise self.body.source.error(
                "row numbers aren't available in the body of an aggregate",
                node.span,
                "Write ORDER BY ... LIMIT n, or count the rows before: (SELECT count(*) FROM t AS o WHERE o.n <= t.n).",
                UnsupportedError,
            )
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

    def _refuse_extras(self, node: Node) -> None:
        """Raise where something that goes with aggregates only stands behind `oldest()` or `rand()`, or in it."""
        call = node.inner if isinstance(node, FieldOf) else node
        if is_aggregate_call(call) or getattr(call, "distinct", False):
            raise self.body.source.error(
                "FILTER, OVER, DISTINCT and IGNORE NULLS go with aggregates only, and this is none",
                call.span,
                "Leave them out.",
            )

    def _oldest(self, name: Name | None, node: Node) -> Expr:
        self._refuse_extras(node)
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
    """Names of a select list, and of what is asked of its groups: aggregates may stand there, and aliases written before."""

    def __init__(self, body: Binding, level: Level) -> None:
        super().__init__(body, level, "a SELECT")
        self.aliases: dict[str, Expr] = {}
        self.keys: list[tuple[int, Column, Expr]] = []
        self.folded: list[Folded] = []

    def column(self, name: Name, qualifier: Name | None) -> Expr | None:
        """A column or a parameter; an alias where neither has the name."""
        known = super().column(name, qualifier)
        return self.aliases.get(name.text.lower()) if known is None and qualifier is None else known

    def known(self) -> tuple[str, ...]:
        """Columns, parameters and aliases."""
        return (*super().known(), *self.aliases)

    def grouped(self, body: SelectBody) -> bool:
        """Whether a SELECT of which this is the list has an answer for each group, or one over all rows."""
        return bool(self.folded or self.keys or body.grouping_sets or body.group_all)

    def aggregate(self, call: FunctionCall) -> Expr:
        """The value of an aggregate over the rows selected."""
        return bind_called(self, call)

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


def _is_rand(node: Node) -> bool:
    return isinstance(node, FunctionCall) and node.name.text.lower() == "rand" and not node.args


def is_oldest(node: Node) -> bool:
    """Whether this is `oldest()`."""
    return isinstance(node, FunctionCall) and node.name.text.lower() == "oldest" and not node.args
