"""CREATE SUMMARY and WITH PREFERENCE, from what is written to what the catalog and the plan keep [promising-tuples §2, §4.1]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Final

import polars as pl

from jupyter_stream.binding.bind_expression import ExpressionBinder
from jupyter_stream.binding.scope import Scope, lookup
from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.functions import Column, Expr
from jupyter_stream.plan.catalog import Catalog, StreamDef
from jupyter_stream.plan.preference import Estimate, Preference, PreferenceItem, SummaryDef
from jupyter_stream.summaries import SUMMARIES, kind_named
from jupyter_stream.summaries.protocol import MEASURES, Measure
from jupyter_stream.summaries.spec import ATOMS, SummarySpec
from jupyter_stream.syntax.diagnose import did_you_mean
from jupyter_stream.syntax.nodes import FunctionCall, Node
from jupyter_stream.syntax.query_syntax import (
    Amount,
    FromItem,
    JoinRef,
    PreferenceClause,
    QueryBody,
    SelectBody,
    StreamRef,
    WindowClause,
    parts_of,
)
from jupyter_stream.syntax.source_text import Name, SourceText, Span
from jupyter_stream.syntax.syntax import CreateSummary

ESTIMATE: Final = "summary.estimate."
_LONGEST: Final = 2**62
_FUNCTIONS: Final = tuple(f"SUMMARY.Estimate.{m.capitalize()}" for m in MEASURES)


def bind_summary(statement: CreateSummary, catalog: Catalog) -> SummaryDef:
    """A summary of a declared stream.

    Raises:
        QueryError: no such stream, column or kind; granularities longer than time.
        UnsupportedError: the stream is a derived one.
    """
    source = statement.source
    entry = catalog.find(statement.stream.text)
    if entry is None:
        raise source.error(
            f"there is no stream called {statement.stream.text}",
            statement.stream.span,
            did_you_mean(statement.stream.text, [n for n in catalog.names if "(" not in n], "streams"),
        )
    if not isinstance(entry, StreamDef):
        raise source.error(
            f"{entry.name} is a derived stream, and can't have a summary",
            statement.stream.span,
            "Create it on the stream that the rows come from.",
            UnsupportedError,
        )
    if entry.table is not None:
        raise source.error(
            f"{entry.name} is a table, and can't have a summary",
            statement.stream.span,
            "Query the table itself: all its rows are there.",
        )
    columns: list[str] = []
    for name in statement.columns:
        field = entry.schema.find(name.text)
        if field is None:
            hint = did_you_mean(name.text, entry.schema.names, "columns")
            raise source.error(f"{entry.name} has no column {name.text}", name.span, hint)
        if field.name in columns:
            raise source.error(f"{field.name} appears twice", name.span, "Remove one of the two.")
        columns.append(field.name)
    kind = SUMMARIES[0]
    if statement.kind is not None:
        found = kind_named(statement.kind.text)
        if found is None:
            hint = did_you_mean(statement.kind.text, [k.name for k in SUMMARIES], "kinds")
            raise source.error(f"there is no kind of summary called {statement.kind.text}", statement.kind.span, hint)
        kind = found
    if statement.granularity < ATOMS:
        raise source.error(
            f"a granularity must be at least {ATOMS} microseconds long",
            statement.granularity_span,
            "Write GRANULARITY 1 MINUTE.",
        )
    if statement.granularity * statement.rate ** (statement.depth - 1) >= _LONGEST:
        raise source.error(
            "the oldest granularity would be too long: COLLAPSE multiplies it too often",
            statement.granularity_span,
            "Write COLLAPSE (4, 3).",
        )
    types = entry.schema.polars()
    numeric = tuple(c for c in columns if types[c].is_numeric()) if "sum" in kind.measures else ()
    spec = SummarySpec(tuple(columns), statement.granularity, statement.rate, statement.depth, kind, numeric)
    return SummaryDef(statement.name.text, entry.name, spec, statement.text)


def with_window(body: QueryBody, clause: PreferenceClause, source: SourceText) -> QueryBody:
    """The query with the preference's WINDOW behind each stream of FROM.

    Raises:
        QueryError: a stream has a window already.
    """
    if clause.window is None or clause.window_span is None or not isinstance(body, SelectBody):
        return body
    span = clause.window_span
    if any(part.window is not None for part in parts_of(body.source)):
        raise source.error("the streams already have a window", span, "Leave one of the two out.")
    window = WindowClause(span, range=Amount("time", clause.window, span))
    return replace(body, source=_windowed(body.source, window))


def _windowed(item: FromItem, window: WindowClause) -> FromItem:
    if isinstance(item, JoinRef):
        left, right = item.parts
        return replace(item, parts=(_windowed(left, window), _windowed(right, window)))
    return replace(item, window=window)


def bind_preference(
    clause: PreferenceClause,
    body: QueryBody,
    source: SourceText,
    catalog: Catalog,
    bind_part: Callable[[FromItem], Scope],
) -> Preference:
    """A preference of one SELECT.

    Args:
        clause: as written.
        body: the query it is of.
        source: the cell, for errors.
        catalog: where summaries are.
        bind_part: the names of a FROM item.

    Raises:
        QueryError: an expression that no summary estimates, or about several streams at once.
        UnsupportedError: a query it can't be of.
    """
    if not isinstance(body, SelectBody):
        raise source.error(
            "a preference needs a single SELECT, and this query combines several",
            clause.span,
            "Give the set operation a name with CREATE STREAM, or write one query for each SELECT.",
            UnsupportedError,
        )
    parts = _leaves(body.source)
    if len(parts) > 2 or not all(isinstance(part, StreamRef) for part in parts):
        raise source.error(
            "a preference needs one stream, or a join of two",
            clause.span,
            "Name streams in FROM, at most two.",
            UnsupportedError,
        )
    scopes = [bind_part(replace(part, window=None)) for part in parts]
    items = tuple(_item(node, span, scopes, parts, source, catalog) for node, span in clause.items)
    return Preference(clause.order, items, clause.fade, clause.window)


def _leaves(item: FromItem) -> list[FromItem]:
    return [leaf for part in item.parts for leaf in _leaves(part)] if isinstance(item, JoinRef) else [item]


def _item(
    node: Node, span: Span, scopes: list[Scope], parts: list[FromItem], source: SourceText, catalog: Catalog
) -> PreferenceItem:
    names = _StreamNames(scopes, parts, source, catalog)
    value = ExpressionBinder(source, names).bind(node)
    if not names.estimates:
        raise source.error(
            "a preference must use an estimate of a summary",
            span,
            "Write SUMMARY.Estimate.Count(column), after CREATE SUMMARY ... ON stream (column).",
        )
    if not (value.dtype.is_numeric() or isinstance(value.dtype, pl.Boolean)):
        raise source.error("a preference must be a number", span, "Write SUMMARY.Estimate.Count(column).")
    assert names.port is not None
    return PreferenceItem(names.port, value, tuple(names.estimates), source.slice(span))


@lru_cache(maxsize=256)
def _alike(summary: SummaryDef, stream: str) -> SummaryDef:
    """The like of a summary on another stream: the same one each time, so that queries share it."""
    return SummaryDef(f"{summary.name}, as declared for {summary.stream},", stream, summary.spec, summary.text)


class _StreamNames:
    """Columns of the streams in FROM, all of one of them, and what summaries estimate of them."""

    def __init__(self, scopes: list[Scope], parts: list[FromItem], source: SourceText, catalog: Catalog) -> None:
        self._scopes = scopes
        self._parts = parts
        self._source = source
        self._catalog = catalog
        self.port: int | None = None
        self.estimates: list[Estimate] = []

    def column(self, name: Name, qualifier: Name | None) -> Expr | None:
        """A column of one of the streams."""
        found = [
            (port, column)
            for port, scope in enumerate(self._scopes)
            if qualifier is None or qualifier.text.lower() in scope.qualifiers
            if (column := lookup(scope, name, qualifier, self._source)) is not None
        ]
        if len(found) > 1:
            which = " or ".join(f"{s.qualifiers[0]}.{name.text}" for s in self._scopes if s.qualifiers)
            raise self._source.error(f"both streams have a column {name.text}", name.span, f"Write {which}.")
        if not found:
            return None
        port, column = found[0]
        if self.port is not None and self.port != port:
            raise self._source.error(
                "an expression of a preference can't mix columns of two streams",
                name.span,
                "Write one expression for each stream, with a comma between them.",
            )
        self.port = port
        return column

    def known(self) -> tuple[str, ...]:
        """All columns."""
        return tuple(dict.fromkeys(n for scope in self._scopes for n in scope.schema.names))

    def pseudo(self) -> tuple[str, ...]:
        """What the streams have besides."""
        return ()

    def aggregate(self, call: FunctionCall) -> Expr:
        """Refused: a preference is about one row."""
        raise self._source.error(
            "an aggregate can't be used in a preference",
            call.span,
            "Use an estimate instead: SUMMARY.Estimate.Count(x).",
        )

    def special(self, node: Node) -> Expr | None:
        """An estimate."""
        if not isinstance(node, FunctionCall) or not node.name.text.lower().startswith(ESTIMATE):
            return None
        measure = next((m for m in MEASURES if m == node.name.text.lower().removeprefix(ESTIMATE)), None)
        if measure is None:
            hint = did_you_mean(node.name.text, _FUNCTIONS, "estimates")
            raise self._source.error(f"there is no estimate called {node.name.text}", node.name.span, hint)
        if not node.args:
            raise self._source.error(f"{node.name.text} takes a column", node.span, f"Write {node.name.text}(column).")
        binder = ExpressionBinder(self._source, self)
        columns: list[str] = []
        for argument in node.args:
            bound = binder.bind(argument)
            if not isinstance(bound, Column):
                raise self._source.error(
                    "an estimate takes the name of a column",
                    argument.span,
                    "Write the column alone, and calculate outside: 2 * SUMMARY.Estimate.Sum(x).",
                )
            columns.append(bound.name)
        estimate = self._estimate(measure, columns, node)
        self.estimates.append(estimate)
        return Column(estimate.name, pl.Float64())

    def _estimate(self, measure: Measure, columns: list[str], node: FunctionCall) -> Estimate:
        assert self.port is not None
        part = self._parts[self.port]
        assert isinstance(part, StreamRef)
        stream = part.name.text
        mine = [s for s in self._catalog.summaries.values() if s.stream.lower() == stream.lower()]
        if measure == "count":
            fit = [s for s in mine if sorted(s.spec.columns) == sorted(columns)]
        else:
            fit = [s for s in mine if len(columns) == 1 and columns[0] in s.spec.columns]
        if not fit and measure == "count":
            fit = self._like_a_partners(stream, columns)
        if not fit:
            raise self._no_summary(stream, columns, node, mine)
        able = next((s for s in fit if measure in s.spec.kind.measures), None)
        if able is not None and measure != "count" and columns[0] not in able.spec.measured:
            raise self._source.error(f"{columns[0]} is not a number", node.span, "Write SUMMARY.Estimate.Count(...).")
        if able is None:
            kinds = [k.name for k in SUMMARIES if measure in k.measures]
            raise self._source.error(
                f"{fit[0].name} is a {fit[0].spec.kind.name}, which doesn't estimate a {measure}",
                node.span,
                f"Create a summary USING {' or '.join(kinds)}." if kinds else "Write SUMMARY.Estimate.Count(...).",
            )
        at = able.spec.measured.index(columns[0]) if measure != "count" else 0
        return Estimate(f"$estimate{len(self.estimates)}", measure, at, able)

    def _like_a_partners(self, stream: str, columns: list[str]) -> list[SummaryDef]:
        """One of this stream like that of another in FROM, where only one of them has been declared.

        In a join of equals both sides are asked how often a value occurs, and people declare one summary for both.
        """
        others = {p.name.text.lower() for p in self._parts if isinstance(p, StreamRef)} - {stream.lower()}
        for other in self._catalog.summaries.values():
            if other.stream.lower() in others and sorted(other.spec.columns) == sorted(columns):
                return [_alike(other, stream)]
        return []

    def _no_summary(self, stream: str, columns: list[str], node: FunctionCall, mine: list[SummaryDef]) -> QueryError:
        listed = ", ".join(columns)
        there = "".join(f" There is {s.name}, of {', '.join(s.spec.columns)}." for s in mine)
        return self._source.error(
            f"there is no summary of {listed} on {stream}",
            node.span,
            f"Write CREATE SUMMARY {stream}_{columns[0]} ON {stream} ({listed}) "
            f"WITH GRANULARITY 1 MINUTE AND COLLAPSE (4, 3);{there}",
        )


__all__ = ["bind_preference", "bind_summary", "with_window"]
