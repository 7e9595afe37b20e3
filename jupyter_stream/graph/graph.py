"""From a bound logical plan to operators. One visitor; every node our operators can answer has a case. Both engines run them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from jupyter_stream.approximation.estimates import EstimatesOperator
from jupyter_stream.approximation.ledger import ExtentLedger
from jupyter_stream.approximation.shed import ShedOperator
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.flow.filter import FilterOperator
from jupyter_stream.flow.in_order import InOrder
from jupyter_stream.flow.instant_ticker import InstantTicker
from jupyter_stream.flow.last_time import LastTime
from jupyter_stream.flow.meld import Meld
from jupyter_stream.flow.named import Named
from jupyter_stream.flow.numbered import Numbered
from jupyter_stream.flow.progress_for_all import ForAll
from jupyter_stream.flow.project import ProjectOperator
from jupyter_stream.flow.protocol import Operator
from jupyter_stream.flow.retime import Retime
from jupyter_stream.flow.revise import Numbers, Revise
from jupyter_stream.flow.sample import SampleOperator
from jupyter_stream.flow.steps import Boundary, Entry, Graph, Step, StepInput
from jupyter_stream.flow.ticker import Ticker
from jupyter_stream.flow.unnest import UnnestOperator
from jupyter_stream.flow.witness import Witness
from jupyter_stream.graph import planned, planned_promising
from jupyter_stream.graph.windowed import everything_is_final, nothing_is_final, windowed
from jupyter_stream.plan import promising
from jupyter_stream.plan.keyed import joint_key, key_of, keys_of_join, promised
from jupyter_stream.plan.lag import lag_of, of_pair
from jupyter_stream.plan.lifetimes import gives_at_once
from jupyter_stream.plan.logical import (
    Aggregate,
    Alive,
    Bags,
    BoundQuery,
    Derived,
    Distinct,
    Emit,
    ExtentChanges,
    ExtentRows,
    Filter,
    Join,
    Lookup,
    MatchRows,
    Newest,
    Over,
    Plan,
    Project,
    RelationJoin,
    Retimed,
    Sample,
    Scan,
    Shed,
    TableRelation,
    Top,
    ToStream,
    Union,
    Unnest,
    WindowFunctions,
    above_answers,
    under,
    walk,
)
from jupyter_stream.plan.needs import counts_derived, made_columns, numbered_streams
from jupyter_stream.plan.optimize import optimized
from jupyter_stream.plan.patterns import Edge, labelled
from jupyter_stream.plan.promising import Plain, Promising
from jupyter_stream.plan.relations import is_relation, makers
from jupyter_stream.plan.rules import order_joins
from jupyter_stream.plan.shedding import approximations
from jupyter_stream.plan.wording import step_in_words
from jupyter_stream.relations.instants_of_joins import LivesAtInstants, RelationAtInstants
from jupyter_stream.relations.to_stream import to_stream
from jupyter_stream.windowed.user_answers import Unfold
from jupyter_stream.windows import TimeWindow


@dataclass(frozen=True)
class AtBase:
    """An operator at the base of FROM, before WHERE.

    Attributes:
        put: given where rows go from there and what they come from, says where they go now.
        through: whether it goes below joins and what turns streams into relations, to the streams themselves.
        aggregates: whether below aggregates as well that are relations. What enters these may be a stream of its own.
    """

    put: Callable[[StepInput | None, Plan], StepInput | None]
    through: bool = False
    aggregates: bool = True

    def __call__(self, target: StepInput | None, plan: Plan) -> StepInput | None:
        """Where rows go now."""
        return self.put(target, plan)


def _above_or_through(at_base: AtBase | None) -> tuple[AtBase | None, AtBase | None]:
    """What is to be put above an operator, and what goes on to its inputs."""
    return (None, at_base) if at_base is not None and at_base.through else (at_base, None)


def answers(plan: Plan) -> bool:
    """Whether rows are answers, which come instant by instant when they are final (some of them, for a union)."""
    if isinstance(plan, Union):
        return any(answers(base(part)) for part in plan.parts)
    if isinstance(plan, Distinct):
        return not plan.lives
    made = isinstance(plan, Aggregate | ExtentRows | ExtentChanges | Alive | Bags | ToStream | RelationJoin)
    return made or plan.searches


def base(plan: Plan) -> Plan:
    """What makes a plan's rows, below selections and projections."""
    return under(plan, Filter, Project, Derived, Sample, Unnest, Lookup)


def build(query: BoundQuery) -> Graph:
    """Operators for a query. Raises `UnsupportedError` for what can't be run in the kernel."""
    plan = optimized(query.plan, query.maintenance, query.rates)
    graph = Graph(plan=labelled(plan), maintenance=query.maintenance, rates=query.rates)
    assert graph.plan is not None
    how = promising.chosen(query, plan)
    several = sum(not node.inputs for node in walk(query.plan)) > 1  # otherwise nothing is joined, in whatever order
    written = optimized(query.plan, query.maintenance, query.rates, reorder=False) if several else plan
    graph.notes = (
        *approximations(query), *promising.notes(query, how), *order_joins.note(written, plan, query.rates)
    )  # fmt: skip
    builder = _Builder(graph, Emit() if query.relation else query.emit, query, graph.plan, made_columns(plan), how)
    builder.visit(plan, None, nothing_is_final, None)
    graph.steps.reverse()
    for step in graph.steps:
        if step.edge is not None:  # hints, errors and tables of operators say its name
            step.control.name = step_in_words(step.control.name, step.edge.plan)
    return graph


class _Builder:
    def __init__(
        self,
        graph: Graph,
        emit: Emit,
        query: BoundQuery,
        edge: Edge,
        made: dict[int, frozenset[str]],
        how: Promising | Plain | None,
    ) -> None:
        self._graph = graph
        self._query = query
        self._promising = how if isinstance(how, Promising) else None
        self._maintenance = query.maintenance
        self._edges = edge.walk()  # in the order nodes are visited
        self._edge: Edge | None = None
        self._strategy = query.strategy
        self._made = made  # the columns that are read of the rows of joins, aggregates and projections
        self._numbered = [] if graph.plan is None else numbered_streams(graph.plan.plan)
        self._makers = makers(graph.plan.plan)[0] if query.relation and graph.plan is not None else []
        self._emit = emit  # until the outermost aggregate has been met: it gives provisional answers
        self._numbers = Numbers()
        self._keyed = True  # whether what is above takes promises for one key, or has nothing that could
        self._heard = False  # whether it has something that lets go of state by them
        self._paired = False  # whether it goes by what a join promises of one of its times
        self._ledger: ExtentLedger | None = None  # of the extents above streams that shed rows
        self._several = False  # whether a union above the outermost aggregates puts their provisional answers together

    def _step(
        self, operator: Operator, target: StepInput | None, edge: Edge | None = None, does: object = None
    ) -> StepInput:
        step = Step(operator, target, edge=edge, does=does)
        self._graph.steps.append(step)
        if target is not None:
            target.step.inputs.append(step)
        return StepInput(step, 0)

    def _retime(self, on: str, plan: Plan, target: StepInput | None, edge: Edge | None = None) -> StepInput:
        lag, pair = lag_of(plan, on), of_pair(plan, on)
        self._paired = pair is not None
        return self._step(Retime(on, lag, pair), target, edge, (on, lag, pair))

    def visit(self, plan: Plan, target: StepInput | None, boundary: Boundary, at_base: AtBase | None) -> None:
        """Add the operators of a plan, outermost first.

        Args:
            plan: what is to come.
            target: where its rows go.
            boundary: from which time on rows miss no final answer of what is above.
            at_base: what the aggregate above wants at the base of its FROM.
        """
        self._edge = next(e for e in self._edges if e.plan is plan)
        if any(plan is maker for maker in self._makers):
            target = self._step(LastTime(), target, does="last time")
        keyed, heard, paired = self._keyed, self._heard, self._paired
        if self._promising is not None and plan is self._promising.base:
            self._with_budget(self._promising, target, boundary, at_base)
            self._keyed = keyed
            return
        if not isinstance(plan, Filter | Project | Derived | Join | Lookup | Union | Scan):
            self._keyed = False
        if not isinstance(plan, Filter | Project | Derived | Sample | Unnest | Lookup | Join):
            self._paired = False
        self._visit(plan, target, boundary, at_base)
        self._keyed, self._heard, self._paired = keyed, heard, paired

    def _with_budget(
        self, how: Promising, target: StepInput | None, boundary: Boundary, at_base: AtBase | None
    ) -> None:
        """The operator that has the budget, over streams cut into slots."""
        self._keyed = False  # promises for one key end no slot
        at = at_base(target, how.base) if at_base else target
        if isinstance(how.base, Join):
            wanted = self._made.get(id(how.base))
            operator: Operator = planned_promising.promising_join(self._query, how, wanted, lambda: place.step)
            boundary = everything_is_final
        else:
            operator = planned_promising.promising_rows(self._query, how, lambda: place.step)
        place = self._step(operator, at, self._edge)
        for port, part in enumerate(how.base.inputs if isinstance(how.base, Join) else (promising.scan_of(how.base),)):
            take = self._visit if part is how.base else self.visit  # a stream without a selection is its own base
            take(part, StepInput(place.step, port), boundary, self._in_slots(how, port))

    def _in_slots(self, how: Promising, port: int) -> AtBase:
        cut, does = planned_promising.slots(how, port)
        return AtBase(lambda to, _: self._step(cut, to, does=does))

    def _visit(self, plan: Plan, target: StepInput | None, boundary: Boundary, at_base: AtBase | None) -> None:
        visit = _VISITS.get(type(plan))
        if visit is None:
            raise UnsupportedError(f"{type(plan).__name__} can't be run in the kernel yet")
        visit(self, plan, target, boundary, at_base)

    def _filter(self, plan: Filter, target: StepInput | None, boundary: Boundary, at_base: AtBase | None) -> None:
        kept = self._step(FilterOperator(plan.predicate), target, self._edge, plan.predicate)
        self.visit(plan.input, kept, boundary, at_base)

    def _project(self, plan: Project, target: StepInput | None, boundary: Boundary, at_base: AtBase | None) -> None:
        made = self._step(ProjectOperator(plan.items, self._made.get(id(plan))), target, self._edge, plan.items)
        self.visit(plan.input, made, boundary, at_base)

    def _derived(self, plan: Derived, target: StepInput | None, boundary: Boundary, at_base: AtBase | None) -> None:
        if any(plan is stream for stream in self._numbered):
            target, boundary = self._number(target), everything_is_final
        if plan.ordered:
            above = at_base(target, plan) if at_base else target
            self._keyed = self._heard = self._paired = False
            target, boundary, at_base = self._step(InOrder(), above, does="in order"), everything_is_final, None
        if plan.name is not None:
            target = self._step(Named(plan.name), target, self._edge, plan.name)
        self.visit(plan.input, target, boundary, at_base)

    def _retimed(self, plan: Retimed, target: StepInput | None, boundary: Boundary, at_base: AtBase | None) -> None:
        above = at_base(target, plan) if at_base else target  # what is seen there is the time from here on
        self.visit(plan.input, self._retime(plan.on, plan.input, above, self._edge), nothing_is_final, None)

    def _sample(self, plan: Sample, target: StepInput | None, boundary: Boundary, at_base: AtBase | None) -> None:
        self.visit(plan.input, self._step(SampleOperator(plan), target, self._edge, plan), boundary, at_base)

    def _shed(self, plan: Shed, target: StepInput | None, boundary: Boundary, at_base: AtBase | None) -> None:
        self.visit(plan.input, self._step(ShedOperator(plan, self._ledger), target, self._edge), boundary, at_base)

    def _estimates(self, plan: Aggregate, target: StepInput | None) -> StepInput | None:
        """What scales up the answers of an aggregate of some of the rows."""
        if plan.estimates is None:
            return target
        shed = next((node for node in walk(plan) if isinstance(node, Shed)), None)
        if shed is None:
            return self._step(EstimatesOperator(plan.estimates, plan.looked_at or 1.0), target)
        self._ledger = ExtentLedger(cast("TimeWindow", plan.window))
        return self._step(EstimatesOperator(plan.estimates, self._ledger, shed.error), target)

    def _unnest(self, plan: Unnest, target: StepInput | None, boundary: Boundary, at_base: AtBase | None) -> None:
        self.visit(plan.input, self._step(UnnestOperator(plan), target, self._edge, plan), boundary, at_base)

    def _union(self, plan: Union, target: StepInput | None, boundary: Boundary, at_base: AtBase | None) -> None:
        operator = Meld([p.schema.names for p in plan.parts], plan.schema.names)
        meld = self._step(operator, at_base(target, plan) if at_base else target, self._edge, plan)
        emit, self._several = self._emit, True
        for port, part in enumerate(plan.parts):
            self._emit = emit
            self.visit(part, StepInput(meld.step, port), boundary, None)

    def _scan(self, plan: Scan, target: StepInput | None, boundary: Boundary, at_base: AtBase | None) -> None:
        at = at_base(target, plan) if at_base else target
        key = promised(plan)
        if key is not None and not self._keyed:
            at = self._step(ForAll(key), at, does=key)
        entry = Entry(plan.stream, at, boundary, self._edge)
        self._graph.entries.append(entry)
        if at is not None:
            at.step.inputs.append(entry)

    def _lookup(self, plan: Lookup, target: StepInput | None, boundary: Boundary, at_base: AtBase | None) -> None:
        found = self._step(planned.lookup(plan, build), target, self._edge, plan)
        self.visit(plan.input, found, boundary, at_base)

    def _join(self, plan: Join, target: StepInput | None, boundary: Boundary, at_base: AtBase | None) -> None:
        self._once(plan)
        here, below = _above_or_through(at_base)
        above = here(target, plan) if here else target
        wanted = self._made.get(id(plan))
        joint = self._keyed and self._heard and joint_key(plan) is not None
        paired, self._paired = self._paired, False
        join = self._step(planned.join(plan, wanted, joint, paired), above, self._edge, (plan, wanted, joint, paired))
        for port, (part, promise) in enumerate(zip(plan.inputs, keys_of_join(plan), strict=True)):
            self._keyed = self._heard = promise is not None
            self.visit(part, StepInput(join.step, port), everything_is_final, below)

    def _over(self, plan: Over, target: StepInput | None, boundary: Boundary, at_base: AtBase | None) -> None:
        self._once(plan)
        above = at_base(target, plan) if at_base else target
        if plan.user:
            above = self._step(planned.user_answers(plan), above, does=plan)
        self.visit(plan.input, self._step(planned.over(plan), above, self._edge, plan), everything_is_final, None)

    def _match(self, plan: MatchRows, target: StepInput | None, boundary: Boundary, at_base: AtBase | None) -> None:
        self._once(plan)
        above = at_base(target, plan) if at_base else target
        self.visit(
            plan.input, self._step(planned.row_matches(plan), above, self._edge, plan), everything_is_final, None
        )

    def _extent_rows(
        self, plan: ExtentRows, target: StepInput | None, boundary: Boundary, at_base: AtBase | None
    ) -> None:
        above = at_base(target, plan) if at_base else target
        self.visit(plan.input, self._step(planned.extent_rows(plan), above, self._edge, plan), boundary, None)

    def _changes(
        self, plan: ExtentChanges, target: StepInput | None, boundary: Boundary, at_base: AtBase | None
    ) -> None:
        self._once(plan)
        above = at_base(target, plan) if at_base else target
        self.visit(plan.input, self._step(planned.extent_changes(plan), above, self._edge, plan), boundary, None)

    def _relation_of(
        self, plan: Alive | Newest | Distinct, target: StepInput | None, boundary: Boundary, at_base: AtBase | None
    ) -> None:
        self._emit = Emit()  # what enters a relation is final
        how = self._maintenance
        operator = planned.distinct(plan, how) if isinstance(plan, Distinct) else planned.alive(plan, how)
        here, below = _above_or_through(at_base)
        above = here(target, plan) if here else target
        made = self._step(operator, above, self._edge, (plan, how))
        made = self._number(made) if counts_derived(plan) else made
        self.visit(plan.input, made, everything_is_final, below)

    def _bags(self, plan: Bags, target: StepInput | None, boundary: Boundary, at_base: AtBase | None) -> None:
        here, below = _above_or_through(at_base)
        how = self._maintenance
        above = here(target, plan) if here else target
        bags = self._step(planned.bags(plan, how, self._query.rates), above, self._edge, (plan, how))
        for port, part in enumerate(plan.parts):
            self.visit(part, StepInput(bags.step, port), everything_is_final, below)

    def _relation_join(
        self, plan: RelationJoin, target: StepInput | None, boundary: Boundary, at_base: AtBase | None
    ) -> None:
        self._emit = Emit()
        here, below = _above_or_through(at_base)
        with_table = any(isinstance(part, TableRelation) for part in plan.inputs)  # which each query is told of
        does = None if with_table else plan
        above = here(target, plan) if here else target
        operator = planned.relation_join(plan, self._maintenance, self._query.rates, build)
        join = self._step(operator, above, self._edge, does)
        for port, part in enumerate(plan.inputs):
            if not isinstance(part, TableRelation):
                self.visit(part, StepInput(join.step, port), everything_is_final, below)

    def _top(self, plan: Top, target: StepInput | None, boundary: Boundary, at_base: AtBase | None) -> None:
        if self._revised(plan):
            top = self._step(planned.top_revised(plan, self._numbers), target, self._edge)
        else:
            top = self._step(planned.top(plan), target, self._edge, plan)
        self.visit(plan.input, top, boundary, at_base)

    def _functions(
        self, plan: WindowFunctions, target: StepInput | None, boundary: Boundary, at_base: AtBase | None
    ) -> None:
        if self._emit.mode == "changes" and not is_relation(plan):
            raise UnsupportedError(
                "EMIT CHANGES isn't available for window functions of extents in this version",
                hint="Write EMIT EVERY 1 SECOND, for provisional answers now and then.",
            )
        made = self._step(planned.window_functions(plan), target, self._edge, plan)
        self.visit(plan.input, made, boundary, at_base)

    def _to_stream(self, plan: ToStream, target: StepInput | None, boundary: Boundary, at_base: AtBase | None) -> None:
        if plan.looks is not None:
            self._at_instants(plan, plan.looks, target, at_base)
            return
        entering = None if at_base is None else replace(at_base, aggregates=False)
        made = self._step(to_stream(plan.kind), target, self._edge, plan.kind)
        self.visit(plan.input, made, everything_is_final, entering)

    def _grouped(self, plan: Aggregate, target: StepInput | None, boundary: Boundary, at_base: AtBase | None) -> None:
        relation = not plan.window.sliding and (at_base is None or at_base.aggregates)
        here, below = _above_or_through(at_base) if relation else (at_base, None)
        self._aggregate(plan, here(target, plan) if here else target, below)

    def _at_instants(
        self, plan: ToStream, window: TimeWindow, target: StepInput | None, at_base: AtBase | None
    ) -> None:
        """A join under SLIDE: rows of known ends come at once for all their instants, others when each is over."""
        if gives_at_once(plan):
            looked = self._step(LivesAtInstants(window), target, self._edge, window)
            self.visit(plan.input.inputs[0], looked, everything_is_final, at_base)
            return
        operator = RelationAtInstants(window)
        at = self._step(operator, target, self._edge, (window, self._maintenance))

        def put(to: StepInput | None, base: Plan) -> StepInput:
            return self._witness(operator.saw, at_base(to, base) if at_base else to, at.step)

        self.visit(plan.input, at, everything_is_final, AtBase(put, through=True))

    def _once(self, plan: Over | MatchRows | Join | ExtentChanges) -> None:
        """What gives each row once takes no provisional ones, and gives none: there is nothing to revise."""
        if self._emit.mode == "changes" and (not isinstance(plan, Join) or plan.kind not in ("inner", "semi")):
            what = _as_written(plan)
            raise UnsupportedError(
                f"EMIT CHANGES has nothing to change here: {what} gives each row once, when it is final",
                hint="Leave EMIT CHANGES out, or aggregate over a window with SLIDE.",
            )
        self._emit = Emit()

    def _ticker(self, interval: int) -> AtBase:
        return AtBase(
            lambda to, base: self._step((InstantTicker if answers(base) else Ticker)(interval), to, does=interval)
        )

    def _revised(self, plan: Top) -> bool:
        """Whether what comes are revisions of single answers rather than snapshots of all that are open."""
        several = any(isinstance(node, Union) for node in above_answers(plan))
        return self._emit.mode == "changes" or (self._emit.mode == "every" and several)

    def _aggregate(self, plan: Aggregate, target: StepInput | None, further: AtBase | None) -> None:
        """An aggregate; `further` is what one above it wants at the streams."""
        edge = self._edge
        emit, self._emit = self._emit, Emit()
        budgeted = self._promising is not None and self._promising.aggregate is plan
        provisional = emit.mode != "final" or budgeted
        _check_revisable(plan, provisional)
        revised = emit.mode == "changes" or (provisional and self._several)
        if revised:
            names = [name for name, _ in plan.keys]
            if plan.user:
                target = self._step(Unfold(plan.user), target)  # an answer is revised as a whole
            target = self._step(Revise(names, self._numbers, whole=emit.mode == "every"), target)
        if plan.user:
            target = self._step(planned.user_answers(plan, unfolds=not revised), target, does=(plan, revised))
        key = key_of(plan) if self._strategy is None else None
        # what answers provisionally, or is estimated, is told apart by its extents
        wanted = None if provisional or budgeted or plan.user else self._made.get(id(plan))
        target = self._estimates(plan, target)
        wanted = wanted if plan.estimates is None else None
        found = windowed(plan, key, provisional, self._strategy, wanted)
        boundary: Boundary = plan.window.final_from
        at_base = further
        if found.ticks:
            at_base = None if emit.mode != "every" or emit.interval is None else self._ticker(emit.interval)
        if found.saw is not None:
            saw = found.saw

            def put(to: StepInput | None, base: Plan) -> StepInput:
                return self._witness(saw, further(to, base) if further else to, at.step)

            at_base = AtBase(put, through=True)
        if budgeted:
            target = self._step(planned_promising.estimated(self._query, plan, lambda: at.step), target)
        at = self._step(found.operator, target, edge, None if budgeted else (plan, provisional, self._strategy))
        onward = at
        if plan.window.on is not None:
            onward = self._retime(plan.window.on, plan.input, at)
            boundary = nothing_is_final
        self._keyed = self._heard = key is not None
        if counts_derived(plan):
            onward, boundary = self._number(onward), everything_is_final
        self.visit(plan.input, onward, boundary, at_base)

    def _number(self, target: StepInput | None) -> StepInput:
        """The rows of a derived stream get numbers of their own; those that come late have to be known for that."""
        self._keyed = self._heard = False
        return self._step(Numbered(), target, does="numbered")

    def _witness(self, saw: Callable[[int, int], None], target: StepInput | None, serves: Step) -> StepInput:
        witness = self._step(Witness(saw), target, does="witness")
        witness.step.serves = serves
        return witness


def _check_revisable(plan: Aggregate, provisional: bool) -> None:
    """Raise where provisional answers are asked of rows that come when their extent is final."""
    below = base(plan.input)
    if provisional and isinstance(below, ToStream) and below.looks is not None and not gives_at_once(below):
        raise UnsupportedError(
            "EMIT has nothing to revise here: the rows of this join come when their extent is final",
            hint="Leave EMIT out; inner joins of streams under [RANGE 10 MINUTES SLIDE 1 MINUTE] have answers before.",
        )


def _as_written(plan: Over | MatchRows | Join | ExtentChanges) -> str:
    if isinstance(plan, Join):
        return f"a {plan.kind} join"
    return plan.kind.upper() if isinstance(plan, ExtentChanges) else plan.written


_VISITS: Mapping[type, Callable[[_Builder, Any, StepInput | None, Boundary, AtBase | None], None]] = {
    Scan: _Builder._scan,
    Derived: _Builder._derived,
    Filter: _Builder._filter,
    Project: _Builder._project,
    Union: _Builder._union,
    Retimed: _Builder._retimed,
    Sample: _Builder._sample,
    Shed: _Builder._shed,
    Unnest: _Builder._unnest,
    Aggregate: _Builder._grouped,
    ExtentRows: _Builder._extent_rows,
    ExtentChanges: _Builder._changes,
    Over: _Builder._over,
    MatchRows: _Builder._match,
    Join: _Builder._join,
    Lookup: _Builder._lookup,
    Alive: _Builder._relation_of,
    Newest: _Builder._relation_of,
    Distinct: _Builder._relation_of,
    Bags: _Builder._bags,
    ToStream: _Builder._to_stream,
    Top: _Builder._top,
    WindowFunctions: _Builder._functions,
    RelationJoin: _Builder._relation_join,
}
"""What adds the operators of each kind of node; `Builder.visit` says what it is given."""


__all__ = [
    "Boundary",
    "Entry",
    "Graph",
    "Step",
    "StepInput",
    "answers",
    "base",
    "build",
    "everything_is_final",
    "nothing_is_final",
]
