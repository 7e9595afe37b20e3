"""From a bound logical plan to operators. One visitor; every node our operators can answer has a case. Both engines run them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.operators import planned, planned_promising
from jupyter_stream.operators.filter import Filter as FilterOperator
from jupyter_stream.operators.for_all import ForAll
from jupyter_stream.operators.instant_ticker import InstantTicker
from jupyter_stream.operators.looks import LivesLooked, RelationLooked
from jupyter_stream.operators.meld import Meld
from jupyter_stream.operators.named import Named
from jupyter_stream.operators.project import Project as ProjectOperator
from jupyter_stream.operators.protocol import Operator
from jupyter_stream.operators.retime import Retime
from jupyter_stream.operators.revise import Numbers, Revise
from jupyter_stream.operators.sample import Sample as SampleOperator
from jupyter_stream.operators.steps import Boundary, Entry, Graph, Part, Step, Target
from jupyter_stream.operators.ticker import Ticker
from jupyter_stream.operators.to_stream import to_stream
from jupyter_stream.operators.user_answers import Unfold
from jupyter_stream.operators.witness import Witness
from jupyter_stream.plan import promising
from jupyter_stream.plan.behind import behind, of_pair
from jupyter_stream.plan.keyed import joint_key, key_of, keys_of_join, promised
from jupyter_stream.plan.logical import (
    Aggregate,
    Alive,
    Bags,
    Derived,
    Distinct,
    Emit,
    ExtentChanges,
    ExtentRows,
    Filter,
    Join,
    Lookup,
    Newest,
    Over,
    Plan,
    Project,
    Query,
    RelationJoin,
    Retimed,
    Sample,
    Scan,
    TableRelation,
    Top,
    ToStream,
    Union,
    above_answers,
)
from jupyter_stream.plan.needs import made_columns
from jupyter_stream.plan.optimize import optimized
from jupyter_stream.plan.patterns import Edge, labelled
from jupyter_stream.plan.promising import Plain, Promising
from jupyter_stream.plan.rules import order_joins
from jupyter_stream.windows import LifetimeWindow, RowWindow, SessionWindow, TimeWindow, TupleWindow


def nothing_is_final(punctuation: int) -> int:
    """The boundary of a plan that gives no answer late rows could miss: a selection passes them on."""
    return MIN_TIME


def everything_is_final(punctuation: int) -> int:
    """The boundary of a plan whose answers at every instant before the punctuation are final."""
    return punctuation


@dataclass(frozen=True)
class AtBase:
    """An operator at the base of FROM, before WHERE.

    Attributes:
        put: given where rows go from there and what they come from, says where they go now.
        through: whether it goes below joins and what turns streams into relations, to the streams themselves.
    """

    put: Callable[[Target | None, Plan], Target | None]
    through: bool = False

    def __call__(self, target: Target | None, plan: Plan) -> Target | None:
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
    return isinstance(plan, Aggregate | ExtentRows | ExtentChanges | Over | Alive | Bags | ToStream | RelationJoin)


def base(plan: Plan) -> Plan:
    """What makes a plan's rows, below selections and projections."""
    while isinstance(plan, Filter | Project | Derived | Sample | Lookup):
        plan = plan.input
    return plan


def build(query: Query) -> Graph:
    """Operators for a query. Raises `UnsupportedError` for what can't be run in the kernel."""
    plan = optimized(query.plan, query.maintenance, query.rates)
    graph = Graph(plan=labelled(plan), maintenance=query.maintenance, rates=query.rates)
    assert graph.plan is not None
    how = promising.chosen(query, plan)
    written = optimized(query.plan, query.maintenance, query.rates, reorder=False)
    graph.notes = (*promising.notes(query, how), *order_joins.note(written, plan, query.rates))
    builder = _Builder(graph, Emit() if query.relation else query.emit, query, graph.plan, made_columns(plan), how)
    builder.visit(plan, None, nothing_is_final, None)
    graph.steps.reverse()
    return graph


class _Builder:
    def __init__(
        self,
        graph: Graph,
        emit: Emit,
        query: Query,
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
        self._emit = emit  # until the outermost aggregate has been met: it gives provisional answers
        self._numbers = Numbers()
        self._keyed = True  # whether what is above takes promises for one key, or has nothing that could
        self._heard = False  # whether it has something that lets go of state by them
        self._paired = False  # whether it goes by what a join promises of one of its times
        self._several = False  # whether a union above the outermost aggregates puts their provisional answers together

    def _step(self, operator: Operator, target: Target | None, edge: Edge | None = None, does: object = None) -> Target:
        step = Step(operator, target, edge=edge, does=does)
        self._graph.steps.append(step)
        if target is not None:
            target.step.inputs.append(step)
        return Target(step, 0)

    def _retime(self, on: str, plan: Plan, target: Target | None, edge: Edge | None = None) -> Target:
        lag, pair = behind(plan, on), of_pair(plan, on)
        self._paired = pair is not None
        return self._step(Retime(on, lag, pair), target, edge, (on, lag, pair))

    def visit(self, plan: Plan, target: Target | None, boundary: Boundary, at_base: AtBase | None) -> None:
        """Add the operators of a plan, outermost first.

        Args:
            plan: what is to come.
            target: where its rows go.
            boundary: from which time on rows miss no final answer of what is above.
            at_base: what the aggregate above wants at the base of its FROM.
        """
        self._edge = next(e for e in self._edges if e.plan is plan)
        keyed, heard, paired = self._keyed, self._heard, self._paired
        if self._promising is not None and plan is self._promising.base:
            self._with_budget(self._promising, target, boundary, at_base)
            self._keyed = keyed
            return
        if not isinstance(plan, Filter | Project | Derived | Join | Lookup | Union | Scan):
            self._keyed = False
        if not isinstance(plan, Filter | Project | Derived | Sample | Lookup | Join):
            self._paired = False
        self._visit(plan, target, boundary, at_base)
        self._keyed, self._heard, self._paired = keyed, heard, paired

    def _with_budget(self, how: Promising, target: Target | None, boundary: Boundary, at_base: AtBase | None) -> None:
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
            take(part, Target(place.step, port), boundary, self._in_slots(how, port))

    def _in_slots(self, how: Promising, port: int) -> AtBase:
        cut, does = planned_promising.slots(how, port)
        return AtBase(lambda to, _: self._step(cut, to, does=does))

    def _visit(self, plan: Plan, target: Target | None, boundary: Boundary, at_base: AtBase | None) -> None:
        match plan:
            case Filter(predicate=predicate):
                kept = self._step(FilterOperator(predicate), target, self._edge, predicate)
                self.visit(plan.input, kept, boundary, at_base)
            case Project(items=items):
                made = self._step(ProjectOperator(items, self._made.get(id(plan))), target, self._edge, items)
                self.visit(plan.input, made, boundary, at_base)
            case Derived():
                self.visit(plan.input, self._step(Named(plan.name), target, self._edge, plan.name), boundary, at_base)
            case Retimed():
                above = at_base(target, plan) if at_base else target  # what is seen there is the time from here on
                retime = self._retime(plan.on, plan.input, above, self._edge)
                self.visit(plan.input, retime, nothing_is_final, None)
            case Sample():
                self.visit(plan.input, self._step(SampleOperator(plan), target, self._edge, plan), boundary, at_base)
            case Union():
                meld = self._step(
                    Meld([p.schema.names for p in plan.parts], plan.schema.names),
                    at_base(target, plan) if at_base else target,
                    self._edge,
                    plan,
                )
                emit, self._several = self._emit, True
                for port, part in enumerate(plan.parts):
                    self._emit = emit
                    self.visit(part, Target(meld.step, port), boundary, None)
            case Scan():
                at = at_base(target, plan) if at_base else target
                key = promised(plan)
                if key is not None and not self._keyed:
                    at = self._step(ForAll(key), at, does=key)
                entry = Entry(plan.stream, at, boundary, self._edge)
                self._graph.entries.append(entry)
                if at is not None:
                    at.step.inputs.append(entry)
            case Lookup():
                self.visit(
                    plan.input, self._step(planned.lookup(plan, build), target, self._edge, plan), boundary, at_base
                )
            case Join():
                self._once(plan)
                here, below = _above_or_through(at_base)
                above = here(target, plan) if here else target
                wanted = self._made.get(id(plan))
                joint = self._keyed and self._heard and joint_key(plan) is not None
                paired, self._paired = self._paired, False
                join = self._step(
                    planned.join(plan, wanted, joint, paired), above, self._edge, (plan, wanted, joint, paired)
                )
                for port, (part, promise) in enumerate(zip(plan.inputs, keys_of_join(plan), strict=True)):
                    self._keyed = self._heard = promise is not None
                    self.visit(part, Target(join.step, port), everything_is_final, below)
            case Over():
                self._once(plan)
                above = at_base(target, plan) if at_base else target
                if plan.user:
                    above = self._step(planned.user_answers(plan), above, does=plan)
                self.visit(
                    plan.input, self._step(planned.over(plan), above, self._edge, plan), everything_is_final, None
                )
            case ExtentRows():
                above = at_base(target, plan) if at_base else target
                self.visit(plan.input, self._step(planned.extent_rows(plan), above, self._edge, plan), boundary, None)
            case ExtentChanges():
                self._once(plan)
                above = at_base(target, plan) if at_base else target
                self.visit(
                    plan.input, self._step(planned.extent_changes(plan), above, self._edge, plan), boundary, None
                )
            case Aggregate():
                self._aggregate(plan, at_base(target, plan) if at_base else target)
            case Alive() | Newest() | Distinct():
                self._emit = Emit()  # what enters a relation is final
                how = self._maintenance
                operator = planned.distinct(plan, how) if isinstance(plan, Distinct) else planned.alive(plan, how)
                here, below = _above_or_through(at_base)
                above = here(target, plan) if here else target
                self.visit(plan.input, self._step(operator, above, self._edge, (plan, how)), everything_is_final, below)
            case Bags():
                here, below = _above_or_through(at_base)
                how = self._maintenance
                above = here(target, plan) if here else target
                bags = self._step(planned.bags(plan, how, self._query.rates), above, self._edge, (plan, how))
                for port, part in enumerate(plan.parts):
                    self.visit(part, Target(bags.step, port), everything_is_final, below)
            case RelationJoin():
                self._emit = Emit()
                here, below = _above_or_through(at_base)
                with_table = any(isinstance(part, TableRelation) for part in plan.inputs)  # which each query is told of
                does = None if with_table else plan
                above = here(target, plan) if here else target
                operator = planned.relation_join(plan, self._maintenance, self._query.rates, build)
                join = self._step(operator, above, self._edge, does)
                for port, part in enumerate(plan.inputs):
                    if not isinstance(part, TableRelation):
                        self.visit(part, Target(join.step, port), everything_is_final, below)
            case Top():
                if self._revised(plan):
                    top = self._step(planned.top_revised(plan, self._numbers), target, self._edge)
                else:
                    top = self._step(planned.top(plan), target, self._edge, plan)
                self.visit(plan.input, top, boundary, at_base)
            case ToStream(looks=TimeWindow() as looks):
                self._looks(plan, looks, target, at_base)
            case ToStream():
                self.visit(
                    plan.input,
                    self._step(to_stream(plan.kind), target, self._edge, plan.kind),
                    everything_is_final,
                    at_base,
                )
            case _:
                raise UnsupportedError(f"{type(plan).__name__} can't be run in the kernel yet")

    def _looks(self, plan: ToStream, window: TimeWindow, target: Target | None, at_base: AtBase | None) -> None:
        """A join under SLIDE: rows of known ends come at once for all their instants, others when each is over."""
        if planned.gives_at_once(plan):
            looked = self._step(LivesLooked(window), target, self._edge, window)
            self.visit(plan.input.inputs[0], looked, everything_is_final, at_base)
            return
        operator = RelationLooked(window)
        at = self._step(operator, target, self._edge, (window, self._maintenance))

        def put(to: Target | None, base: Plan) -> Target:
            return self._witness(operator.saw, at_base(to, base) if at_base else to, at.step)

        self.visit(plan.input, at, everything_is_final, AtBase(put, through=True))

    def _once(self, plan: Over | Join | ExtentChanges) -> None:
        """What gives each row once takes no provisional ones, and gives none: there is nothing to revise."""
        if self._emit.mode == "changes" and (not isinstance(plan, Join) or plan.kind not in ("inner", "semi")):
            what = "OVER" if isinstance(plan, Over) else plan.kind.upper()
            what = f"a {plan.kind} join" if isinstance(plan, Join) else what
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

    def _aggregate(self, plan: Aggregate, target: Target | None) -> None:
        edge = self._edge
        emit, self._emit = self._emit, Emit()
        ticks = emit.interval if emit.mode == "every" else None
        budgeted = self._promising is not None and self._promising.aggregate is plan
        provisional = emit.mode != "final" or budgeted
        below = base(plan.input)
        if provisional and isinstance(below, ToStream) and below.looks is not None and not planned.gives_at_once(below):
            raise UnsupportedError(
                "EMIT has nothing to revise here: the rows of this join come when their extent is final",
                hint="Leave EMIT out; inner joins of streams under [RANGE 10 MINUTES SLIDE 1 MINUTE] have answers before.",
            )
        revised = emit.mode == "changes" or (provisional and self._several)
        if revised:
            names = [name for name, _ in plan.keys]
            if plan.user:
                target = self._step(Unfold(plan.user), target)  # an answer is revised as a whole
            target = self._step(Revise(names, self._numbers, whole=emit.mode == "every"), target)
        if plan.user:
            target = self._step(planned.user_answers(plan, unfolds=not revised), target, does=(plan, revised))
        key = key_of(plan) if self._strategy is None else None
        operator: Operator
        at_base: AtBase | None = None
        if plan.beside and not isinstance(plan.window, RowWindow):
            operator = planned.side_by_side(plan, provisional, self._strategy)
            boundary: Boundary = operator.boundary
            if ticks is not None:
                at_base = self._ticker(ticks)
        elif isinstance(plan.window, TimeWindow) and key is not None:
            operator = planned.keyed_windows(plan, plan.window, key, provisional)
            boundary = operator.boundary
            if ticks is not None:
                at_base = self._ticker(ticks)
        elif isinstance(plan.window, TimeWindow):
            # what answers provisionally, or is estimated, is told apart by its extents
            wanted = None if provisional or budgeted or plan.user else self._made.get(id(plan))
            operator = planned.window_aggregate(plan, plan.window, provisional, self._strategy, wanted=wanted)
            boundary = operator.boundary
            if ticks is not None:
                at_base = self._ticker(ticks)
        elif isinstance(plan.window, TupleWindow):
            operator = planned.slide_by_tuple(plan, plan.window, provisional)
            boundary = everything_is_final
            if ticks is not None:
                at_base = self._ticker(ticks)
        elif isinstance(plan.window, RowWindow) and plan.window.slide is not None:
            operator = planned.row_window_aggregate(plan, plan.window, provisional)
            boundary = nothing_is_final  # no row is late for a row number
            if ticks is not None:
                at_base = self._ticker(ticks)
        elif isinstance(plan.window, RowWindow):
            operator = planned.row_relation(plan, plan.window)
            boundary = nothing_is_final
        elif isinstance(plan.window, SessionWindow):
            if key is not None:
                operator = planned.keyed_sessions(plan, plan.window, key, provisional)
            else:
                operator = planned.session_aggregate(plan, plan.window, provisional)
            boundary = everything_is_final
            if ticks is not None:
                at_base = self._ticker(ticks)
        elif isinstance(plan.window, LifetimeWindow):
            operator = planned.relation_aggregate(plan, plan.window)
            boundary = everything_is_final
            saw = operator.saw
            at_base = AtBase(lambda to, _: self._witness(saw, to, at.step), through=True)
        else:
            raise UnsupportedError(f"{plan.window} can't be run in the kernel yet")
        if budgeted:
            target = self._step(planned_promising.estimated(self._query, plan, lambda: at.step), target)
        at = self._step(operator, target, edge, None if budgeted else (plan, provisional, self._strategy))
        onward = at
        if plan.window.on is not None:
            onward = self._retime(plan.window.on, plan.input, at)
            boundary = nothing_is_final
        self._keyed = self._heard = key is not None
        self.visit(plan.input, onward, boundary, at_base)

    def _witness(self, saw: Callable[[int, int], None], target: Target | None, serves: Step) -> Target:
        witness = self._step(Witness(saw), target, does="witness")
        witness.step.serves = serves
        return witness


__all__ = [
    "Boundary",
    "Entry",
    "Graph",
    "Part",
    "Step",
    "Target",
    "answers",
    "base",
    "build",
    "everything_is_final",
    "nothing_is_final",
]
