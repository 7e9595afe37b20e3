"""What names mean inside MATCH_RECOGNIZE: columns of one row of a match, counted within a variable's rows.

price          the last row's, in DEFINE the current one's          A.price       the last row's that goes for A
LAST(A.x, 1)   the row of A before that                             FIRST(A.x)    the first row of A
PREV(x, 2)     two rows before it, matched or not                   sum(A.x)      over the rows of A
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import polars as pl

from jupyter_stream.binding.bind_aggregate import Grouping, InputNames, check_qualifier, constant_value
from jupyter_stream.binding.bind_expression import ExpressionBinder
from jupyter_stream.binding.scope import Scope
from jupyter_stream.core.messages import TS
from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.functions import Column, Expr
from jupyter_stream.plan.logical import CLASSIFIER, MATCH_NUMBER, MatchAggregate, RowReference
from jupyter_stream.syntax.diagnose import did_you_mean
from jupyter_stream.syntax.nodes import ColumnRef, FunctionCall, Node, Star, rewritten, walk
from jupyter_stream.syntax.source_text import Name, SourceText, Span
from jupyter_stream.windows import LifetimeWindow

STEPS: Final[Mapping[str, int]] = {"prev": -1, "next": 1}
ENDS: Final = ("first", "last")
PLAIN: Final = ("count", "sum", "avg", "min", "max")
"""Aggregates that DEFINE may use: each row adds to them."""
_SAID: Final = ("match_number", "classifier", "match_rowtime")
_ONE_MATCH: Final = LifetimeWindow(1)
"""A window with an end, as a match is: aggregates that keep all their rows may be used."""


class MatchNames:
    """Names of one condition of DEFINE, or of MEASURES.

    Args:
        scope: what stands before MATCH_RECOGNIZE.
        source: the cell.
        variables: the variables that each name in lower case stands for: of the pattern, and of SUBSET.
        made: where references and aggregates are put, which all conditions and measures share.
        finals: where functions with FINAL before them stand.
        final: whether FINAL is meant where nothing is said.
        defined: the variable that is being defined; None in MEASURES.
    """

    def __init__(
        self,
        scope: Scope,
        source: SourceText,
        variables: Mapping[str, tuple[str, ...]],
        made: MatchValues,
        finals: frozenset[int] = frozenset(),
        final: bool = False,
        defined: str | None = None,
    ) -> None:
        self.scope = scope
        self.source = source
        self._variables = variables
        self._made = made
        self._finals = finals
        self._final = final
        self._defined = defined

    def column(self, name: Name, qualifier: Name | None) -> Expr | None:
        """The column of the last row of the variable, or of all."""
        row = RowNames(self.scope, self.source, self._variables)
        found = row.column(name, qualifier)
        if found is None:
            return None
        return self._made.reference(found, row.variables(name.span), final=self._final)

    def known(self) -> tuple[str, ...]:
        """Columns."""
        return RowNames(self.scope, self.source, self._variables).known()

    def pseudo(self) -> tuple[str, ...]:
        """The time."""
        return self.scope.pseudo

    def special(self, node: Node) -> Expr | None:
        """FIRST, LAST, PREV, NEXT, and what is said of the match."""
        if not isinstance(node, FunctionCall) or node.window is not None:
            return None
        name = node.name.text.lower()
        if name in _SAID and not node.args:
            return self._said(name, node)
        if name not in STEPS and name not in ENDS:
            return None
        shift = 0
        final = self._is_final(node)
        inner: Node = node
        if name in STEPS:
            inner, shift = self._argument(node, 1)
            shift *= STEPS[name]
            final = final or (isinstance(inner, FunctionCall) and self._is_final(inner))
        first, offset = False, 0
        if isinstance(inner, FunctionCall) and inner.name.text.lower() in ENDS and inner.window is None:
            first = inner.name.text.lower() == "first"
            inner, offset = self._argument(inner, 0)
        row = RowNames(self.scope, self.source, self._variables)
        value = ExpressionBinder(self.source, row).bind(inner)
        return self._made.reference(value, row.variables(inner.span), first, offset, shift, final)

    def aggregate(self, call: FunctionCall) -> Expr:
        """An aggregate over rows of the match."""
        if call.window is not None:
            raise self.source.error("an aggregate over a match has no window", call.window.span, "Remove the window.")
        row = RowNames(self.scope, self.source, self._variables)
        inside = (*call.args, *(() if call.where is None else (call.where,)), *(k.expression for k in call.order))
        for part in (p for node in inside for p in walk(node) if isinstance(p, ColumnRef | Star)):
            row.see(part.qualifier, part.span)
        bare = rewritten(call, self._bare)
        assert isinstance(bare, FunctionCall)
        bare = replace(bare, where=None if call.where is None else rewritten(call.where, self._bare))
        self._check_defined(call)
        return self._made.aggregate(bare, row.variables(call.span), self._is_final(call))

    def _check_defined(self, call: FunctionCall) -> None:
        if self._defined is not None and (call.name.text.lower() not in PLAIN or call.distinct or call.order):
            raise self.source.error(
                f"{self.source.slice(call.span)} can't be used in DEFINE in this version",
                call.span,
                "count, sum, avg, min and max can, without DISTINCT; in MEASURES any aggregate.",
                UnsupportedError,
            )

    def _bare(self, node: Node) -> Node | None:
        """A column without the variable before it."""
        if not isinstance(node, ColumnRef | Star) or node.qualifier is None:
            return None
        return replace(node, qualifier=None) if node.qualifier.text.lower() in self._variables else None

    def _is_final(self, call: FunctionCall) -> bool:
        return self._final or call.name.span.start in self._finals

    def _said(self, name: str, node: FunctionCall) -> Expr:
        if name == "match_rowtime":
            time = self.scope.time
            return self._made.reference(Column(TS, time.dtype), (), final=self._final)
        if self._defined is not None:
            raise self.source.error(
                f"{node.name.text}() can be used in MEASURES only", node.span, "Compare columns in DEFINE."
            )
        return Column(MATCH_NUMBER, pl.Int64()) if name == "match_number" else Column(CLASSIFIER, pl.String())

    def _argument(self, call: FunctionCall, default: int) -> tuple[Node, int]:
        """What is asked for, and how many rows are passed over."""
        usage = f"Write {call.name.text}(price) or {call.name.text}(price, 2)."
        if not 1 <= len(call.args) <= 2 or isinstance(call.args[0], Star) or call.where is not None or call.distinct:
            raise self.source.error(f"{call.name.text} takes a value of a row, and a number of rows", call.span, usage)
        if len(call.args) == 1:
            return call.args[0], default
        number = constant_value(
            ExpressionBinder(self.source, InputNames(self.scope, self.source, "an offset")).bind(call.args[1])
        )
        if type(number) is not int or number < 0:
            raise self.source.error(
                "a whole number that is known beforehand is expected here", call.args[1].span, usage
            )
        return call.args[0], number


class RowNames(InputNames):
    """Names of the columns of one row, all of which are said to be of one variable, or none."""

    def __init__(self, scope: Scope, source: SourceText, variables: Mapping[str, tuple[str, ...]]) -> None:
        super().__init__(scope, source, "MATCH_RECOGNIZE")
        self._variables = variables
        self._seen: dict[tuple[str, ...], Span] = {}

    def column(self, name: Name, qualifier: Name | None) -> Expr | None:
        """The column of the row."""
        plain = self.see(qualifier, name.span)
        return super().column(name, plain)

    def see(self, qualifier: Name | None, place: Span) -> Name | None:
        """Take note of the variable a column is qualified with; what remains to be looked up before it."""
        known = None if qualifier is None else self._variables.get(qualifier.text.lower())
        if known is not None:
            self._seen.setdefault(known, place)
            return None
        self._seen.setdefault((), place)
        if qualifier is not None:
            try:
                check_qualifier(self.scope, qualifier, self.source)
            except QueryError:
                raise self.source.error(
                    f"{qualifier.text} is no variable of the pattern",
                    qualifier.span,
                    did_you_mean(qualifier.text, self._variables, "variables"),
                ) from None
        return qualifier

    def variables(self, place: Span) -> tuple[str, ...]:
        """The variables its columns are of; () for all.

        Raises:
            QueryError: they are of several.
        """
        if len(self._seen) > 1:
            raise self.source.error(
                "this is over columns of one row, and names several variables",
                list(self._seen.values())[1],
                "Take each value by itself: LAST(A.x) + LAST(B.x).",
            )
        return next(iter(self._seen), ())

    def special(self, node: Node) -> Expr | None:
        """Nothing but a plain expression may stand here."""
        if isinstance(node, FunctionCall) and node.name.text.lower() in (*STEPS, *ENDS, *_SAID):
            raise self.source.error(
                f"{node.name.text} can't be used here",
                node.span,
                "FIRST and LAST can stand in PREV and NEXT; take other values apart: PREV(x) + FIRST(x).",
            )
        return super().special(node)


class MatchValues:
    """The references and aggregates of one MATCH_RECOGNIZE, each once."""

    def __init__(self, scope: Scope, source: SourceText) -> None:
        self._scope = scope
        self._source = source
        self._references: dict[tuple[object, ...], RowReference] = {}
        self._groups: dict[tuple[tuple[str, ...], bool], Grouping] = {}

    def reference(
        self,
        value: Expr,
        variables: tuple[str, ...],
        first: bool = False,
        offset: int = 0,
        shift: int = 0,
        final: bool = False,
    ) -> Column:
        """The column of a value of one row."""
        key = (value, variables, first, offset, shift, final)
        if key not in self._references:
            name = f"$row{len(self._references)}"
            self._references[key] = RowReference(name, value, variables, first, offset, shift, final, value.dtype)
        return Column(self._references[key].name, value.dtype)

    def aggregate(self, call: FunctionCall, variables: tuple[str, ...], final: bool) -> Expr:
        """The column of an aggregate, or what is made of several."""
        grouping = self._groups.get((variables, final))
        if grouping is None:
            grouping = Grouping(self._scope, self._source, f"$agg{len(self._groups)}_")
            grouping.window = _ONE_MATCH
            self._groups[variables, final] = grouping
        found = grouping.aggregate(call)
        if grouping.user:
            raise self._source.error(
                "a user-defined aggregate can't be used in MATCH_RECOGNIZE in this version",
                call.span,
                "Give all rows of each match, ALL ROWS PER MATCH, and aggregate them: GROUP BY n, of MATCH_NUMBER() AS n.",
                UnsupportedError,
            )
        return found

    @property
    def references(self) -> tuple[RowReference, ...]:
        """All of them."""
        return tuple(self._references.values())

    @property
    def aggregates(self) -> tuple[MatchAggregate, ...]:
        """All of them."""
        return tuple(
            MatchAggregate(call, variables, final)
            for (variables, final), grouping in self._groups.items()
            for call in grouping.calls
        )


__all__ = ["MatchNames", "MatchValues"]
