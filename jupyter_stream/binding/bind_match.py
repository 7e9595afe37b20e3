"""MATCH_RECOGNIZE: what the variables, measures and clauses of a row pattern mean, as a node over the rows before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from jupyter_stream.binding.as_relation import by_time, net
from jupyter_stream.binding.bind_aggregate import InputNames
from jupyter_stream.binding.bind_expression import ExpressionBinder
from jupyter_stream.binding.event_time import need_a_time
from jupyter_stream.binding.match_names import MatchNames, MatchValues
from jupyter_stream.binding.scope import Scope
from jupyter_stream.core.messages import TS
from jupyter_stream.core.row_pattern import AfterMatch, beginnings, least_rows, size
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.functions import Column, Expr
from jupyter_stream.plan.logical import MatchRows, Plan, Project, SortKey, ToStream
from jupyter_stream.plan.relations import is_relation, only_tables
from jupyter_stream.plan.time_columns import time_columns
from jupyter_stream.syntax.diagnose import did_you_mean
from jupyter_stream.syntax.query_syntax import MatchClause, MatchRef
from jupyter_stream.syntax.source_text import Name, SourceText

_CLAUSE: Final = "MATCH_RECOGNIZE"
_LARGEST: Final = 5_000
"""Variables of a pattern, its counts written out."""


def bind_match(item: MatchRef, below: Scope, source: SourceText) -> Scope:
    """The matches of a row pattern among the rows of a FROM item.

    Raises:
        QueryError: a mistake in it.
        UnsupportedError: something that isn't available.
    """
    clause = item.clause
    scope = _in_order(below, clause, source)
    variables = _variables(clause, source)
    made = MatchValues(scope, source)
    definitions = _definitions(clause, scope, variables, made, source)
    final = not clause.all_rows
    names = MatchNames(scope, source, variables, made, clause.finals, final)
    binder = ExpressionBinder(source, names)
    measures: list[tuple[str, Expr]] = []
    for measure in clause.measures:
        assert measure.alias is not None
        measures.append((measure.alias.text, binder.bind(measure.expression)))
    rows = InputNames(scope, source, _CLAUSE)
    partition = tuple(ExpressionBinder(source, rows).bind(node) for node in clause.partition)
    order, timed = _order(clause, scope, source)
    fields = _shown(clause, scope, partition, timed, measures, source)
    plan = MatchRows(
        scope.plan, clause.pattern, definitions, made.references, made.aggregates, tuple(measures), partition, order,
        clause.all_rows, _after(clause, variables, source), clause.within, not only_tables(scope.plan),
        None, Schema(tuple(fields)),
    )  # fmt: skip
    plan = replace(plan, time=_time_column(plan, scope))
    alias = () if item.alias is None else (item.alias.text.lower(),)
    return Scope(plan, alias)


# -- the rows


def _in_order(scope: Scope, clause: MatchClause, source: SourceText) -> Scope:
    """The rows that are searched: of a relation those that enter it, of a join under names of their own."""
    if scope.window is not None and not scope.window.keeps_all:
        raise source.error(
            f"{_CLAUSE} searches a stream, and here it stands behind a window",
            clause.word,
            "Say how long a match may be: PATTERN (...) WITHIN INTERVAL '1' HOUR, and leave the window out.",
        )
    plan = scope.plan
    if scope.joined is not None:
        plan = _named_apart(scope, clause, source)
    if is_relation(plan) and not only_tables(plan):
        plan = ToStream("istream", net(by_time(plan, source, clause.word)), plan.schema)
    scope = Scope(plan, scope.qualifiers)
    if not only_tables(plan):
        need_a_time(scope, clause.word, source)
    return scope


def _named_apart(scope: Scope, clause: MatchClause, source: SourceText) -> Plan:
    shown = scope.star()
    seen: set[str] = set()
    for name, _ in shown:
        if name.lower() in seen:
            raise source.error(
                f"two columns before {_CLAUSE} are called {name}",
                clause.word,
                f"Put the join into a subquery and name its columns: FROM (SELECT a.{name} AS x, ...) {_CLAUSE} (...).",
            )
        seen.add(name.lower())
    return Project(scope.plan, tuple(shown), Schema(tuple(Field(n, c.dtype) for n, c in shown)))


def _order(clause: MatchClause, scope: Scope, source: SourceText) -> tuple[tuple[SortKey, ...], str | None]:
    """What rows of one time are sorted by, and the column of the time."""
    binder = ExpressionBinder(source, InputNames(scope, source, "ORDER BY"))
    keys = [SortKey(binder.bind(k.expression), k.descending, k.nulls_last) for k in clause.order]
    table, time = only_tables(scope.plan), scope.time
    known = {name for name, apart in time_columns(scope.plan).items() if apart.exact}
    timeless = not table and time.column is None and time.pseudo is None and known == {TS}
    if timeless and keys:
        raise source.error(
            "these rows come in an order of their own, that in which they enter",
            clause.order[0].span,
            "Leave ORDER BY out.",
        )
    if not keys and not timeless:
        name = time.column or time.pseudo or "ts"
        raise source.error(f"ORDER BY is missing in {_CLAUSE}", clause.word, f"Write ORDER BY {name} before MEASURES.")
    if table or timeless:
        return tuple(keys), None
    first, written = keys[0], clause.order[0]
    if not isinstance(first.value, Column) or first.value.name not in known:
        own = time.column or time.pseudo
        raise source.error(
            f"{_CLAUSE} goes by the time of the stream, and {written.text} isn't it",
            written.span,
            f"Write ORDER BY {own}." if own else None,
        )
    if first.descending:
        raise source.error("time goes forward only", written.span, f"Write ORDER BY {first.value.name}, without DESC.")
    return tuple(keys[1:]), first.value.name


# -- the variables


def _variables(clause: MatchClause, source: SourceText) -> dict[str, tuple[str, ...]]:
    """What each name stands for, in lower case: variables of the pattern, and subsets."""
    if not least_rows(clause.pattern):
        raise source.error(
            "this pattern goes for no row at all, too: it has matches everywhere",
            clause.pattern_span,
            "Let one variable be there at least: A+ rather than A*.",
        )
    if size(clause.pattern) > _LARGEST:
        raise source.error(
            f"this pattern is {size(clause.pattern):,} variables long, and the most is {_LARGEST:,}",
            clause.pattern_span,
            "Give it smaller counts.",
        )
    found: dict[str, tuple[str, ...]] = {}
    for name in clause.used:
        found.setdefault(name.text.lower(), (name.text,))
    primary = dict(found)
    for name, parts in clause.subsets:
        if name.text.lower() in found:
            raise source.error(f"{name.text} is defined twice", name.span, "Give one of them another name.")
        found[name.text.lower()] = tuple(primary[_known(part, primary, source)][0] for part in parts)
    if len(primary) > 200:
        raise source.error("a pattern can have 200 variables", clause.pattern_span, "Split it.")
    return found


def _known(name: Name, variables: Mapping[str, tuple[str, ...]], source: SourceText) -> str:
    """The variable that is meant, in lower case."""
    if name.text.lower() not in variables:
        raise source.error(
            f"{name.text} is no variable of the pattern", name.span, did_you_mean(name.text, variables, "variables")
        )
    return name.text.lower()


def _definitions(
    clause: MatchClause,
    scope: Scope,
    variables: Mapping[str, tuple[str, ...]],
    made: MatchValues,
    source: SourceText,
) -> tuple[tuple[str, Expr], ...]:
    primary = {name.text.lower() for name in clause.used}
    found: dict[str, Expr] = {}
    for name, node in clause.definitions:
        _known(name, variables, source)
        (variable, *others) = variables[name.text.lower()]
        if others or name.text.lower() not in primary:
            raise source.error(f"{name.text} is a subset, and has no condition of its own", name.span, "Leave it out.")
        if variable in found:
            raise source.error(f"{name.text} is defined twice", name.span, "Combine the conditions with AND.")
        names = MatchNames(scope, source, variables, made, defined=variable)
        found[variable] = ExpressionBinder(source, names).condition(node, "DEFINE")
    _check_define(made, source, clause)
    return tuple(found.items())


def _check_define(made: MatchValues, source: SourceText, clause: MatchClause) -> None:
    wide = next((a for a in made.aggregates if any(arg.dtype.is_decimal() for arg in a.call.args)), None)
    if wide is not None:
        raise source.error(
            f"{wide.call.function} of DECIMAL numbers can't be used in DEFINE in this version",
            clause.definitions[0][0].span,
            "Cast them: sum(CAST(A.price AS DOUBLE)).",
            UnsupportedError,
        )


def _after(clause: MatchClause, variables: Mapping[str, tuple[str, ...]], source: SourceText) -> AfterMatch:
    name = clause.after_names
    if name is None:
        return clause.after
    named = variables[_known(name, variables, source)]
    if clause.after.to == "first" and beginnings(clause.pattern) <= set(named):
        raise source.error(
            f"a match begins with {name.text}, so that the same match would be found again and again",
            name.span,
            "Write AFTER MATCH SKIP TO NEXT ROW.",
        )
    return replace(clause.after, variables=named)


# -- what is given


def _shown(
    clause: MatchClause,
    scope: Scope,
    partition: Sequence[Expr],
    timed: str | None,
    measures: Sequence[tuple[str, Expr]],
    source: SourceText,
) -> list[Field]:
    """The columns: of the partition, of the order where all rows are given, measures, and the other columns of the rows."""
    own = [e.name for e in partition if isinstance(e, Column) and e.name in scope.schema.names]
    told = [Field(name, expr.dtype) for name, expr in measures]
    first = list(dict.fromkeys([*own, *([timed] if clause.all_rows and timed in scope.schema.names else [])]))
    types = {f.name: f.dtype for f in scope.schema}
    rest = [f for f in scope.schema if clause.all_rows and f.name not in first]
    fields = [*(Field(n, types[n]) for n in first if n is not None), *told, *rest]
    seen: set[str] = set()
    for field in fields:
        if field.name.lower() in seen:
            place = next(
                (m.alias.span for m in reversed(clause.measures) if m.alias and m.alias.text == field.name), clause.word
            )
            raise source.error(
                f"two columns of the matches are called {field.name}", place, "Give the measure another name."
            )
        seen.add(field.name.lower())
    if not fields:
        raise source.error(
            "nothing is told of the matches", clause.word, "Write MEASURES first(A.ts) AS begins, last(B.ts) AS ends."
        )
    return fields


def _time_column(plan: MatchRows, scope: Scope) -> str | None:
    """The column with the time of the row: its own, or that of the match's last one."""
    own = {scope.time.column, TS}
    if plan.all_rows:
        return scope.time.column
    last = {
        r.name
        for r in plan.references
        if isinstance(r.value, Column) and r.value.name in own and not (r.variables or r.first or r.offset or r.shift)
    }
    return next((name for name, e in plan.measures if isinstance(e, Column) and e.name in last), None)


__all__ = ["bind_match"]
