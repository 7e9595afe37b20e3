"""Operators in their places: what a query's graph is made of. Not for how a plan becomes one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.flow.protocol import Finds, Operator
from jupyter_stream.plan.catalog import StreamDef
from jupyter_stream.plan.patterns import Edge
from jupyter_stream.plan.rates import Rates
from jupyter_stream.plan.structures import kept
from jupyter_stream.plan.upkeep import Maintenance

Boundary: TypeAlias = Callable[[int], int]
"""From which time on rows miss no final answer, given a punctuation; both in microseconds."""


class SharedSteps(Protocol):
    """Steps that several queries share, as those queries' EXPLAIN sees them."""

    names: Sequence[str]
    """The queries' names; its state is counted with the first."""


@dataclass(eq=False)
class Step:
    """An operator in its place.

    Attributes:
        operator: what it does.
        target: the step its output goes to and the input there; None for the last, of a query or of a part that queries share.
        inputs: the steps (or streams) that feed it, by their input there.
        edge: the plan's edge that leaves it, None for what only helps another operator.
        does: what equals it in steps that do the same with equal inputs; None if it is one query's own whatever it does.
        serves: the step above that it tells of rows, past those between; None for nearly all.
        said: the last punctuation it gave.
        part: what it belongs to if queries share it, None while it is one query's own.
    """

    operator: Operator
    target: StepInput | None
    inputs: list[Step | Entry] = field(default_factory=list)
    edge: Edge | None = None
    does: object = None
    serves: Step | None = None
    said: int = MIN_TIME
    part: SharedSteps | None = None

    @property
    def control(self) -> ControlTable:
        """The operator's control table."""
        return self.operator.control


@dataclass(frozen=True)
class StepInput:
    """An input of a step."""

    step: Step
    port: int


@dataclass(eq=False)
class Entry:
    """Where a stream enters.

    Attributes:
        stream: which one.
        target: where its rows go; None if straight to the result.
        boundary: from which time on rows miss no final answer, given a punctuation.
        edge: the plan's edge that leaves it.
    """

    stream: StreamDef
    target: StepInput | None
    boundary: Boundary
    edge: Edge | None = None


@dataclass
class Graph:
    """The operators of one query, those it shares with others among them.

    Attributes:
        entries: where streams enter.
        steps: the operators, each after those that feed it.
        edges: the query's own edges that leave steps which were another's first.
        plan: the edge that leaves all of it, as the plan was when it was optimized.
        maintenance: how the state of relations is kept.
        rates: what had been measured of the streams.
        notes: what EXPLAIN says of the query as a whole.
    """

    entries: list[Entry] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    edges: dict[Step | Entry, Edge] = field(default_factory=dict)
    plan: Edge | None = None
    maintenance: Maintenance = field(default_factory=Maintenance)
    rates: Rates = field(default_factory=Rates)
    notes: tuple[str, ...] = ()

    def edge(self, node: Step | Entry) -> Edge | None:
        """The query's edge that leaves a node."""
        return self.edges.get(node, node.edge)

    def replace(self, pairs: Mapping[Step | Entry, Step | Entry]) -> None:
        """Have steps of another query, the values, instead of some of its own, the keys."""
        self.edges |= {other: own.edge for own, other in pairs.items() if own.edge is not None}
        steps = [pairs.get(s, s) for s in self.steps]
        self.steps = [s for s in steps if isinstance(s, Step)]

    def keeps(self, step: Step) -> str | None:
        """The structure its state is in, in words; None without any, and where that is not known."""
        edge, settings = self.edge(step), step.control.settings
        partitions = int(settings.get("partitions", self.maintenance.partitions))
        how = replace(self.maintenance, partitions=partitions)
        operator = step.operator
        also = operator.by_values if isinstance(operator, Finds) else ()
        return None if edge is None else kept(edge, how, also)

    @property
    def root(self) -> Step | Entry:
        """What gives the answers."""
        return self.steps[-1] if self.steps else self.entries[0]
