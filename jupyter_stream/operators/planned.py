"""Each plan node's operator: from what the binder says to an operator's configuration. Both engines make their operators here."""

from __future__ import annotations

from collections.abc import Sequence
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
from jupyter_stream.functions.expression import Column, Expr, columns
from jupyter_stream.operators.alive import Alive as AliveOperator
from jupyter_stream.operators.bags import Bags as BagsOperator
from jupyter_stream.operators.distinct import Distinct as DistinctOperator
from jupyter_stream.operators.distinct import DistinctConfig
from jupyter_stream.operators.except_on import ExceptOn
from jupyter_stream.operators.extent_changes import ExtentChanges as ExtentChangesOperator
from jupyter_stream.operators.extent_rows import ExtentRows as ExtentRowsOperator
from jupyter_stream.operators.keyed_session import KeyedSessionAggregate
from jupyter_stream.operators.keyed_window import KeyedWindowAggregate, KeyedWindowConfig
from jupyter_stream.operators.net import Net
from jupyter_stream.operators.newest_rows import NewestRows
from jupyter_stream.operators.over_window import Over as OverOperator
from jupyter_stream.operators.over_window import OverConfig
from jupyter_stream.operators.protocol import Operator
from jupyter_stream.operators.relation_aggregate import Feed, RelationAggregate, RelationAggregateConfig, progressing
from jupyter_stream.operators.relation_join import RelationJoin as RelationJoinOperator
from jupyter_stream.operators.revise import Numbers
from jupyter_stream.operators.row_relation import RowRelation, RowRelationConfig
from jupyter_stream.operators.row_window import RowWindowAggregate, RowWindowConfig
from jupyter_stream.operators.selected import Build, held
from jupyter_stream.operators.session_aggregate import SessionAggregate, SessionAggregateConfig
from jupyter_stream.operators.side_by_side import Beside, Inputs, SideBySide
from jupyter_stream.operators.slide_by_tuple import SlideByTuple, SlideByTupleConfig, in_time_order
from jupyter_stream.operators.successive_changes import SuccessiveChanges
from jupyter_stream.operators.table_lookup import TableLookup, TableLookupConfig
from jupyter_stream.operators.top import Limit, TopOfExtents
from jupyter_stream.operators.top_of_relation import TopOfRelation
from jupyter_stream.operators.top_revised import TopRevised
from jupyter_stream.operators.user_answers import UserAnswers
from jupyter_stream.operators.window_aggregate import WindowAggregate, WindowAggregateConfig
from jupyter_stream.operators.window_join import WindowJoin
from jupyter_stream.operators.window_join_config import WindowJoinConfig
from jupyter_stream.plan.keyed import joint_key, keys_of_join
from jupyter_stream.plan.logical import (
    Aggregate,
    AggregateCall,
    Alive,
    Bags,
    Distinct,
    ExtentChanges,
    ExtentRows,
    Filter,
    Join,
    Lookup,
    Newest,
    Over,
    Plan,
    Project,
    RelationJoin,
    Retimed,
    Sample,
    Scan,
    TableRelation,
    Top,
    ToStream,
    Union,
)
from jupyter_stream.plan.rates import Rates
from jupyter_stream.plan.references import bounds, judged, referring
from jupyter_stream.plan.relations import is_relation, only_tables
from jupyter_stream.plan.strategy import Strategy, choose
from jupyter_stream.plan.taken_back import by_values
from jupyter_stream.plan.upkeep import Maintenance
from jupyter_stream.state.expiry import Expiring, Fifo, Partitions, Scanned
from jupyter_stream.state.group_aggregate import GroupAggregate
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
    inputs, calls = _inputs(plan)
    gaps = gaps and all(c.function != EXTENT for c in plan.aggregates)  # an extent without rows has none to give
    choice = choose(window, bool(plan.keys), asked)
    if plan.user and choice.strategy != "paned-wid":
        raise UnsupportedError(
            "user-defined aggregates run over panes", hint="Leave the strategy out, or write strategy='paned-wid'."
        )
    return WindowAggregate(
        WindowAggregateConfig(window, _keys(plan), inputs, calls, integer_time(plan), provisional, choice, gaps, wanted)
    )


def side_by_side(plan: Aggregate, provisional: bool, asked: Strategy | None = None) -> SideBySide:
    """Aggregates over several windows that look at the same instants."""
    keys = [expr for _, expr in plan.keys]
    read = [e for c in plan.calls for e in (*c.args, *([c.where] if c.where is not None else []))]
    inputs = Inputs([*keys, *read])

    def beside(window: Window, calls: tuple[AggregateCall, ...], longest: bool) -> Beside:
        calls = tuple(
            replace(
                call,
                args=tuple(inputs.column(a) for a in call.args),
                where=None if call.where is None else inputs.column(call.where),
            )
            for call in calls
        )
        own = replace(plan, keys=tuple((n, inputs.column(e)) for n, e in plan.keys), window=window, aggregates=calls)
        operator: WindowAggregate | SlideByTuple
        if isinstance(window, TimeWindow):
            operator = window_aggregate(own, window, provisional, asked, gaps=longest)
        else:
            assert isinstance(window, TupleWindow)
            operator = slide_by_tuple(own, window, provisional)
        columns = tuple((c.name, c.dtype) for c in calls)
        return Beside(operator, columns, frozenset(c.name for c in calls if c.function == "count"))

    first = beside(plan.window, plan.aggregates, True)
    others = [beside(window, calls, False) for window, calls in plan.beside]
    name = f"window aggregates {' beside '.join(str(w) for w in (plan.window, *(w for w, _ in plan.beside)))}"
    boundary = first.operator.boundary if isinstance(first.operator, WindowAggregate) else lambda p: p
    return SideBySide(name, [n for n, _ in plan.keys], inputs, first, others, boundary)


def row_window_aggregate(plan: Aggregate, window: RowWindow, provisional: bool) -> RowWindowAggregate:
    """Aggregates over windows of rows."""
    inputs, calls = _inputs(replace(plan, aggregates=plan.calls))
    partition = _partition(plan, window.partition)
    own, rest = calls[: len(plan.aggregates)], iter(calls[len(plan.aggregates) :])
    beside = []
    for other, made in plan.beside:
        assert isinstance(other, RowWindow)
        beside.append((other, tuple(islice(rest, len(made)))))
    return RowWindowAggregate(
        RowWindowConfig(window, _keys(plan), partition, inputs, own, tuple(beside), plan.where, provisional)
    )


def row_relation(plan: Aggregate, window: RowWindow) -> RowRelation:
    """Aggregates over the newest rows, as a relation."""
    inputs, calls = _inputs(plan)
    return RowRelation(RowRelationConfig(window, _keys(plan), inputs, calls, plan.where))


def session_aggregate(plan: Aggregate, window: SessionWindow, provisional: bool) -> SessionAggregate:
    """Aggregates over sessions."""
    inputs, calls = _inputs(plan)
    partition, integer = _partition(plan, window.partition), integer_time(plan)
    return SessionAggregate(SessionAggregateConfig(window, _keys(plan), partition, inputs, calls, integer, provisional))


def keyed_sessions(plan: Aggregate, window: SessionWindow, key: int, provisional: bool) -> KeyedSessionAggregate:
    """The same where punctuations speak of one grouping column."""
    inputs, calls = _inputs(plan)
    partition, integer = _partition(plan, window.partition), integer_time(plan)
    config = SessionAggregateConfig(window, _keys(plan), partition, inputs, calls, integer, provisional)
    return KeyedSessionAggregate(config, key)


def keyed_windows(plan: Aggregate, window: TimeWindow, key: int, provisional: bool) -> KeyedWindowAggregate:
    """Aggregates over windows of time where punctuations speak of one grouping column."""
    inputs, calls = _inputs(plan)
    return KeyedWindowAggregate(
        KeyedWindowConfig(window, _keys(plan), key, inputs, calls, integer_time(plan), provisional)
    )


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


def gives_at_once(plan: ToStream) -> bool:
    """Whether all instants at which a join's rows are looked at are known when they are joined."""
    below, looks = plan.input, plan.looks
    if looks is None or looks.length is None:
        return False  # a landmark is looked at for as long as rows come
    return isinstance(below, Alive) and below.ends and longest_life(below.input) is not None


def longest_life(plan: Plan) -> int | None:
    """The longest a joined row can live, microseconds; None if nothing says so."""
    while isinstance(plan, Filter | Project | Sample | Lookup):
        plan = plan.input
    match plan:
        case Join():
            lives = [w.range for w in plan.windows if isinstance(w, LifetimeWindow) and w.range is not None]
            return min(lives, default=None)
        case Distinct(lives=True):
            return plan.window.range
    return None


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


def alive(plan: Alive | Newest, maintenance: Maintenance) -> AliveOperator | NewestRows:
    """Rows while they live, kept by how they end."""
    if isinstance(plan, Newest):
        return NewestRows(plan.window, plan.schema.names)
    living: Expiring = Fifo()
    longest = longest_life(plan.input) if plan.ends else None
    if plan.ends:
        direct = maintenance.upkeep == "direct"
        living = Scanned() if direct else Partitions(longest or _UNKNOWN, maintenance.partitions)
    return AliveOperator(plan.window, plan.schema.names, plan.ends, living, longest)


def slide_by_tuple(plan: Aggregate, window: TupleWindow, provisional: bool) -> SlideByTuple:
    """Aggregates over windows that slide by rows."""
    inputs, calls = _inputs(plan)
    window = replace(window, by_rank=window.by_rank or in_time_order(plan.input))
    return SlideByTuple(SlideByTupleConfig(window, _keys(plan), inputs, calls, integer_time(plan), provisional))


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
    lengths = [w.range if isinstance(w, LifetimeWindow | TimeWindow) else None for w in plan.windows]
    lifetimes = (lengths[0], lengths[1])
    low, high = bounds(plan)
    extents: TimeWindow | None = None
    if any(isinstance(w, TimeWindow) for w in plan.windows):
        lifetimes = (None, None)  # equal extents say who meets
        # the first pair of keys is the extents' starts, which the operator works out faster than their expression
        extents = next(w for w in plan.windows if isinstance(w, TimeWindow))
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
    if isinstance(plan.window, TimeWindow):
        return ExtentChangesOperator(plan, plan.window)
    return SuccessiveChanges(plan)


def _keys(plan: Aggregate) -> tuple[tuple[str, Expr, pl.DataType], ...]:
    return tuple((name, expr, expr.dtype) for name, expr in plan.keys)


def _inputs(plan: Aggregate | Over) -> tuple[tuple[Expr, ...], tuple[GroupAggregate, ...]]:
    """Each distinct argument and FILTER condition once, and the aggregates over them."""
    inputs: dict[Expr, int] = {}
    calls = []
    for call in plan.aggregates:
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


def integer_time(plan: Plan) -> bool:
    """Whether the progressing attribute below is an integer."""
    match plan:
        case Aggregate(window=window) if window.on is not None:
            field = plan.input.schema.find(window.on)
            return field is not None and field.dtype.is_integer()
        case Retimed(on=on):
            field = plan.schema.find(on)
            return field is not None and field.dtype.is_integer()
        case Scan(stream=stream):
            field = stream.schema.find(stream.time.column or "")
            return field is not None and field.dtype.is_integer()
        case Union(parts=parts):
            return integer_time(parts[0])
    return integer_time(next(p for p in plan.inputs if not isinstance(p, TableRelation)))
