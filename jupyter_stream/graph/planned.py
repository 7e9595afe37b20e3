"""Each plan node's operator: from what the binder says to an operator's configuration. Both engines make their operators here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

import polars as pl

from jupyter_stream import aggregates
from jupyter_stream.aggregates.user import HELD
from jupyter_stream.aggregates.whole_rows import EXTENT
from jupyter_stream.core.messages import TS, UNTIL
from jupyter_stream.core.time import show_duration
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.flow.protocol import Operator
from jupyter_stream.flow.revise import Numbers
from jupyter_stream.flow.table_lookup import TableLookup, TableLookupConfig
from jupyter_stream.flow.top import Limit, TopOfExtents
from jupyter_stream.flow.top_revised import TopRevised
from jupyter_stream.functions.expression import Column, Expr, columns
from jupyter_stream.graph.selected_tables import Build, held
from jupyter_stream.joins.window_join import WindowJoin
from jupyter_stream.joins.window_join_config import WindowJoinConfig
from jupyter_stream.partials.group_aggregate import GroupAggregate, GroupBy
from jupyter_stream.partials.window_functions import RowFunctions
from jupyter_stream.plan.keyed import joint_key, keys_of_join
from jupyter_stream.plan.lifetimes import longest_life
from jupyter_stream.plan.logical import (
    Aggregate,
    AggregateCall,
    Alive,
    Bags,
    Distinct,
    ExtentChanges,
    ExtentRows,
    Join,
    Lookup,
    MatchRows,
    Newest,
    Over,
    RelationJoin,
    Top,
    WindowFunctions,
)
from jupyter_stream.plan.needs import in_time_order
from jupyter_stream.plan.rates import Rates
from jupyter_stream.plan.references import bounds, judged, referring
from jupyter_stream.plan.relations import is_relation, only_tables
from jupyter_stream.plan.removal import by_values
from jupyter_stream.plan.strategy import Strategy, choose
from jupyter_stream.plan.time_columns import progressing
from jupyter_stream.plan.time_of import integer_time
from jupyter_stream.plan.upkeep import Maintenance
from jupyter_stream.relations.alive import AliveOperator
from jupyter_stream.relations.bags import BagsOperator
from jupyter_stream.relations.distinct import DistinctConfig, DistinctOperator
from jupyter_stream.relations.except_on import ExceptOn
from jupyter_stream.relations.expiry import Expiring, Fifo, Partitions, Scanned
from jupyter_stream.relations.net import Net
from jupyter_stream.relations.newest_rows import NewestOperator
from jupyter_stream.relations.relation_aggregate import Feed, RelationAggregate, RelationAggregateConfig
from jupyter_stream.relations.relation_join import RelationJoinOperator
from jupyter_stream.relations.row_relation import RowRelation, RowRelationConfig
from jupyter_stream.relations.top_of_relation import TopOfRelation
from jupyter_stream.relations.window_functions import WindowFunctionsOfRelation
from jupyter_stream.windowed.extent_aggregate import ExtentAggregate, KeyedExtentAggregate
from jupyter_stream.windowed.extent_changes import ExtentChangesOperator
from jupyter_stream.windowed.extent_rows import ExtentRowsOperator
from jupyter_stream.windowed.functions_of_extents import WindowFunctionsOfExtents
from jupyter_stream.windowed.key_extents import keyed_windows
from jupyter_stream.windowed.over_window import OverConfig, OverOperator
from jupyter_stream.windowed.row_window import RowWindowAggregate
from jupyter_stream.windowed.session_extents import session_aggregate
from jupyter_stream.windowed.several_windows import Inputs, SeveralWindows, WindowPart
from jupyter_stream.windowed.successive_changes import SuccessiveChanges
from jupyter_stream.windowed.tuple_extents import slide_by_tuple
from jupyter_stream.windowed.user_answers import UserAnswers
from jupyter_stream.windowed.window_aggregate import WindowAggregate, WindowAggregateConfig
from jupyter_stream.windows import LifetimeWindow, RowWindow, SessionWindow, TimeWindow, TupleWindow, Window

_UNKNOWN = 60_000_000
"""How long rows are taken to live where nothing says it, in microseconds: it decides only how many partitions there are."""


def window_aggregate(
    plan: Aggregate,
    window: TimeWindow,
    provisional: bool,
    asked: Strategy | None = None,
    gaps: bool = True,
    wanted: frozenset[str] | None = None,
) -> WindowAggregate:
    """Aggregates over windows of time, by the strategy asked for or the planner's own choice.

    `wanted`: the columns of their answers that somebody reads; None for all.
    """
    gaps = gaps and all(c.function != EXTENT for c in plan.aggregates)  # an extent without rows has none to give
    choice = choose(window, bool(plan.keys), asked)
    if plan.user and choice.strategy != "paned-wid":
        raise UnsupportedError(
            "this strategy isn't available for user-defined aggregates",
            hint="Leave the strategy out, or write strategy='paned-wid'.",
        )
    return WindowAggregate(WindowAggregateConfig(window, _computed(plan), provisional, choice, gaps, wanted))


def several_windows(plan: Aggregate, alone: Callable[[Aggregate, bool], Operator]) -> SeveralWindows:
    """Aggregates over several windows that look at the same instants.

    `alone`: makes the operator of one of them, given whether it is the longest.
    """
    keys = [expr for _, expr in plan.keys]
    read = [e for c in plan.calls for e in (*c.args, *([c.where] if c.where is not None else []))]
    inputs = Inputs([*keys, *read])

    def window_part(window: Window, calls: tuple[AggregateCall, ...], longest: bool) -> WindowPart:
        calls = tuple(
            replace(
                call,
                args=tuple(inputs.column(a) for a in call.args),
                where=None if call.where is None else inputs.column(call.where),
            )
            for call in calls
        )
        keys = tuple((n, inputs.column(e)) for n, e in plan.keys)
        own = replace(plan, keys=keys, window=window, aggregates=calls, other_windows=())
        columns = tuple((c.name, c.dtype) for c in calls)
        return WindowPart(
            alone(own, longest), columns, frozenset(c.name for c in calls if aggregates.of_nothing(c.function) == 0)
        )

    first = window_part(plan.window, plan.aggregates, True)
    others = [window_part(window, calls, False) for window, calls in plan.other_windows]
    name = f"window aggregates {' beside '.join(str(w) for w in (plan.window, *(w for w, _ in plan.other_windows)))}"
    return SeveralWindows(name, [n for n, _ in plan.keys], inputs, first, others)


def row_window_aggregate(plan: Aggregate, window: RowWindow, provisional: bool) -> RowWindowAggregate:
    """Aggregates over windows of rows."""
    inputs, calls = _inputs(replace(plan, aggregates=plan.calls))
    partition = _partition(plan, window.partition)
    own, rest = calls[: len(plan.aggregates)], iter(calls[len(plan.aggregates) :])
    others = []
    for other, made in plan.other_windows:
        assert isinstance(other, RowWindow)  # its extents end with those of `window`, which rows end
        others.append((other, tuple(islice(rest, len(made)))))
    computed = GroupBy(_keys(plan), inputs, own)
    return RowWindowAggregate(window, computed, partition, others, plan.where, provisional)


def row_relation(plan: Aggregate, window: RowWindow) -> RowRelation:
    """Aggregates over the newest rows, as a relation."""
    inputs, calls = _inputs(plan)
    return RowRelation(RowRelationConfig(window, _keys(plan), inputs, calls, plan.where))


def sessions(plan: Aggregate, window: SessionWindow, key: int | None, provisional: bool) -> ExtentAggregate:
    """Aggregates over sessions. `key`: the grouping column that punctuations may speak of; None for none."""
    return session_aggregate(window, _computed(plan), _partition(plan, window.partition), provisional, key)


def windows_of_keys(plan: Aggregate, window: TimeWindow, key: int, provisional: bool) -> KeyedExtentAggregate:
    """Aggregates over windows of time where punctuations speak of one grouping column."""
    return keyed_windows(window, _computed(plan), key, provisional)


def _computed(plan: Aggregate) -> GroupBy:
    inputs, calls = _inputs(plan)
    return GroupBy(_keys(plan), inputs, calls, integer_time(plan))


def _partition(plan: Aggregate, columns: Sequence[tuple[str, Expr]]) -> tuple[int, ...]:
    """Which of the grouping columns are a window's PARTITION BY."""
    wanted = {expr for _, expr in columns}
    return tuple(i for i, (_, expr) in enumerate(plan.keys) if expr in wanted)


def relation_aggregate(plan: Aggregate, window: LifetimeWindow) -> RelationAggregate:
    """Aggregates as a relation."""
    inputs, calls = _inputs(plan)
    time = frozenset({window.on}) if window.on is not None else progressing(plan.input)
    of_tables = not plan.keys and only_tables(plan)
    return RelationAggregate(
        RelationAggregateConfig(window, _keys(plan), inputs, calls, time, _feed(plan), begun=of_tables)
    )


def distinct(plan: Distinct, maintenance: Maintenance) -> Operator:
    """Each value once: δ* where ends are known; counts by value where rows are taken back."""
    if is_relation(plan.input):
        return BagsOperator("distinct", (plan.input.schema.names,), plan.schema)
    longest = longest_life(plan.input) if plan.ends else plan.window.range
    if longest is not None and plan.window.on is None and (plan.lives or maintenance.upkeep == "upa"):
        name = "distinct" if plan.ends else f"distinct {plan.window}"
        return DistinctOperator(
            DistinctConfig(plan.schema, longest, plan.ends, plan.lives, maintenance.partitions, f"{name} by δ*")
        )
    keys = tuple((f.name, Column(f.name, f.dtype), f.dtype) for f in plan.schema)
    return RelationAggregate(
        RelationAggregateConfig(plan.window, keys, (), (), progressing(plan.input), _feed(plan), "distinct")
    )


def _feed(plan: Aggregate | Distinct) -> Feed:
    if is_relation(plan.input):
        return "changes"
    return "until" if plan.ends else "rows"


def bags(plan: Bags, maintenance: Maintenance, rates: Rates) -> Operator:
    """A set operation."""
    if plan.on:
        return ExceptOn(plan.schema, plan.on, by_values(plan, maintenance, rates))
    if plan.kind == "net" and maintenance.upkeep != "nt":
        return Net(plan.schema)
    return BagsOperator(plan.kind, tuple(p.schema.names for p in plan.parts), plan.schema)


def relation_join(plan: RelationJoin, maintenance: Maintenance, rates: Rates, build: Build) -> RelationJoinOperator:
    """A join of relations."""
    return RelationJoinOperator(plan, by_values(plan, maintenance, rates), partial(held, build=build))


def top(plan: Top) -> Operator:
    """The first rows."""
    if is_relation(plan.input):
        return TopOfRelation(plan)
    return TopOfExtents(plan) if plan.order or plan.partition else Limit(plan)


def top_revised(plan: Top, numbers: Numbers) -> TopRevised:
    """The first rows of each extent, as they are so far."""
    return TopRevised(plan, numbers)


def window_functions(plan: WindowFunctions) -> Operator:
    """Window functions of a relation, or of each extent."""
    inputs, calls = _inputs_of([c.aggregate for c in plan.calls if c.aggregate is not None])
    columns = [e.name for e in inputs if isinstance(e, Column)]
    names = [f.name for f in plan.input.schema if not f.dtype.is_nested()]
    functions = RowFunctions(plan.order, plan.calls, columns, calls, names)
    if is_relation(plan.input):
        return WindowFunctionsOfRelation(plan, functions)
    return WindowFunctionsOfExtents(plan, functions)


def alive(plan: Alive | Newest, maintenance: Maintenance) -> AliveOperator | NewestOperator:
    """Rows while they live, kept by how they end."""
    if isinstance(plan, Newest):
        return NewestOperator(plan.window, plan.schema.names)
    living: Expiring = Fifo()
    longest = longest_life(plan.input) if plan.ends else None
    if plan.ends:
        direct = maintenance.upkeep == "direct"
        living = Scanned() if direct else Partitions(longest or _UNKNOWN, maintenance.partitions)
    return AliveOperator(plan.window, plan.schema.names, plan.ends, living, longest)


def windows_of_tuples(plan: Aggregate, window: TupleWindow, provisional: bool) -> ExtentAggregate:
    """Aggregates over windows that slide by rows."""
    window = replace(window, by_rank=window.by_rank or in_time_order(plan.input))
    return slide_by_tuple(window, _computed(plan), provisional)


def lookup(plan: Lookup, build: Build) -> TableLookup:
    """A look-up in a table."""
    table = plan.table.table
    assert table is not None
    names = tuple(zip(plan.table.schema.names, plan.right_names, strict=True))
    return TableLookup(
        TableLookupConfig(plan.kind, table, partial(held, table, build), names, plan.keys, plan.residual)
    )


def join(plan: Join, wanted: frozenset[str] | None = None, joint: bool = False, paired: bool = False) -> WindowJoin:
    """A join of two streams; of its rows only the columns wanted.

    Args:
        plan: the join.
        wanted: columns.
        joint: whether somebody hears what is promised of one key.
        paired: whether somebody hears what is promised of either time.
    """
    made = WindowJoin(join_config(plan, wanted, joint, paired))
    if bounds(plan) != (plan.low, plan.high):
        found = referring(plan)
        assert found is not None
        made.control.name += (
            f", {('left', 'right')[found.port]} rows wait for {show_duration(found.constraint.within)} only:"
            f" {found.constraint}"
        )
    return made


def join_config(
    plan: Join, wanted: frozenset[str] | None = None, joint: bool = False, paired: bool = False
) -> WindowJoinConfig:
    """Which rows of two streams meet."""
    lifetimes = (plan.windows[0].span, plan.windows[1].span)
    low, high = bounds(plan)
    extents = next((w.schedule for w in plan.windows if w.schedule is not None), None)
    if extents is not None:
        lifetimes = (None, None)  # equal extents say who meets
        # the first pair of keys is the extents' starts, which the operator works out faster than their expression
        plan = replace(plan, keys=tuple(pair for pair in plan.keys if not all(columns(e) == {TS} for e in pair)))
    return WindowJoinConfig(
        plan.kind,
        plan.left.schema,
        plan.right.schema,
        plan.right_names,
        plan.schema,
        plan.keys,
        plan.residual,
        low,
        high,
        lifetimes,
        wanted,
        promised=keys_of_join(plan),
        extents=extents,
        ends=wanted is None or UNTIL in wanted,
        judged=judged(plan),
        joint=joint_key(plan) if joint else None,
        paired=paired,
    )


def over(plan: Over) -> OverOperator:
    """Rows with aggregates over their predecessors."""
    inputs, calls = _inputs(plan)
    return OverOperator(OverConfig(plan.window, inputs, calls, plan.user))


def row_matches(plan: MatchRows) -> Operator:
    """The matches of a row pattern. Their room is imported by the first query that has one: `%load_ext` doesn't wait for it."""
    from jupyter_stream.matches.row_matches import RowMatches, RowMatchesConfig, made_to_fail

    arguments: dict[Expr, int] = {}
    references = tuple(arguments.setdefault(r.value, len(arguments)) for r in plan.references)
    calls = []
    for call in (a.call for a in plan.aggregates):
        function = aggregates.find(call.function)
        assert function is not None
        form = function.form([a.dtype for a in call.args], call.distinct, call.parameters)
        inputs = tuple(arguments.setdefault(a, len(arguments)) for a in call.args)
        where = None if call.where is None else arguments.setdefault(call.where, len(arguments))
        calls.append(GroupAggregate(function, form, inputs, where, call.dtype, call.name))
    measured = {name for name, _ in plan.measures}
    told = made_to_fail(plan)  # rows that may be told of are kept as they are
    read = frozenset[str]().union(*map(columns, plan.expressions)) if told else frozenset()
    kept = [n for n in plan.input.schema.names if (n in plan.schema.names and n not in measured) or n in read]
    return RowMatches(RowMatchesConfig(plan, tuple(arguments), references, tuple(calls), tuple(kept)))


def user_answers(plan: Aggregate | Over, unfolds: bool = True) -> UserAnswers:
    """What turns rows held for user-defined aggregates into their answers, each a list unless it `unfolds`."""
    if isinstance(plan, Over):
        gives_all = not plan.returns and not plan.window.on_expiry
        return UserAnswers(plan.user, [c.column for c in plan.user], gives_all)
    return UserAnswers(plan.user, [c.name for c in plan.aggregates if c.function == HELD], unfolds=unfolds)


def extent_rows(plan: ExtentRows) -> ExtentRowsOperator:
    """What turns gathered rows into rows again."""
    return ExtentRowsOperator(plan.column, plan.schema.names)


def extent_changes(plan: ExtentChanges) -> Operator:
    """What consecutive extents have not in common."""
    return (
        SuccessiveChanges(plan) if plan.window.schedule is None else ExtentChangesOperator(plan, plan.window.schedule)
    )


def _keys(plan: Aggregate) -> tuple[tuple[str, Expr, pl.DataType], ...]:
    return tuple((name, expr, expr.dtype) for name, expr in plan.keys)


def _inputs(plan: Aggregate | Over) -> tuple[tuple[Expr, ...], tuple[GroupAggregate, ...]]:
    return _inputs_of(plan.aggregates)


def _inputs_of(asked: Sequence[AggregateCall]) -> tuple[tuple[Expr, ...], tuple[GroupAggregate, ...]]:
    """Each distinct argument and FILTER condition once, and the aggregates over them."""
    inputs: dict[Expr, int] = {}
    calls = []
    for call in asked:
        function = aggregates.find(call.function)
        assert function is not None
        calls.append(
            GroupAggregate(
                function,
                function.form([a.dtype for a in call.args], call.distinct, call.parameters),
                tuple(inputs.setdefault(a, len(inputs)) for a in call.args),
                None if call.where is None else inputs.setdefault(call.where, len(inputs)),
                call.dtype,
                call.name,
            )
        )
    return tuple(inputs), tuple(calls)
