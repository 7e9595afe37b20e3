"""What a plan costs per unit of time (update-patterns paper §5.4.1), from the rates of its streams.

The unit is a row looked at; the time, a second of the stream's own. Rates are measured where the plan runs, and guessed before.
Good for comparing plans of one query, not for predicting milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log2

from jupyter_stream.functions.expression import Call, Expr, columns, fold, in_words
from jupyter_stream.plan.logical import (
    Aggregate,
    Alive,
    Bags,
    Distinct,
    Filter,
    Join,
    Plan,
    Project,
    RelationJoin,
    Scan,
    TableRelation,
    Top,
    Union,
)
from jupyter_stream.plan.patterns import Edge, labelled
from jupyter_stream.plan.rates import Rates
from jupyter_stream.windows import Window

_SECOND = 1_000_000
_FOREVER = 86_400.0
"""Seconds a row counts as remembered where no window lets go of it."""
_EQUAL, _OTHER = 0.1, 1 / 3
"""Guessed share of rows that fulfil an equality, and any other condition (the textbook ones, System R)."""
_LEFT_OVER = 0.6
"""Guessed share of rows that a negation lets through (§6.4 counted 40 percent that end before their time)."""
_VALUES = 100.0
"""Guessed number of different values of a column."""
_CHANGE = 100.0
"""Rows looked at in the time that a change takes which is looked up by key among the rows alive of both sides. By query 4 of the
paper, 500 tuples a step: changes took 19 ms a step in windows of 250 ms, 16 in windows of 10 s, 2 in windows of 50 s, in which
hardly any value ends; lifetimes 11, 11 and 8."""


@dataclass(frozen=True)
class EdgeEstimate:
    """What is expected of an edge and the node it leaves.

    Attributes:
        rate: rows per second that enter.
        size: rows alive.
        own: cost of the node.
        inputs: those of the edges that come to it.
    """

    rate: float
    size: float
    own: float
    inputs: tuple[EdgeEstimate, ...]

    @property
    def total(self) -> float:
        """The cost of the node and all below it."""
        return self.own + sum(e.total for e in self.inputs)


def cost(plan: Plan, rates: Rates) -> float:
    """Rows looked at per second."""
    return estimate(labelled(plan), rates).total


def estimate(edge: Edge, rates: Rates) -> EdgeEstimate:
    """The estimates of a labelled plan, edge by edge: `inputs` are those of its edges' inputs."""
    return _estimate(edge, rates, None)


def by_changes(plan: RelationJoin, rates: Rates) -> bool:
    """Whether a join of values that are alive is cheaper over changes than over lifetimes, as far as has been measured.

    Over lifetimes, a value is given anew each time the row by which it was given ends (δ*, §5.3.1), and is joined again. Over
    changes it is given when it begins and when it ends, and then rows alive are looked up by key: less, where the next row with
    a value comes long before the last one ends.
    """
    left, right = (_begin(labelled(part), rates) for part in plan.inputs)
    if left is None or right is None:
        return False
    edges = estimate(labelled(plan), rates)
    (begin, again), (other, other_again) = left, right
    sizes = [e.size for e in edges.inputs]
    keys = _keys_by_input(plan)
    share = 1 / max(different(e, k, rates) for e, k in zip(edges.inputs, keys, strict=True)) if plan.keys else 1.0
    looks = 2 * sum(
        changes * (_CHANGE + theirs * share) for changes, theirs in zip((begin, other), sizes[::-1], strict=True)
    )
    pairs = (again * sizes[1] + other_again * sizes[0]) * share
    return looks < again + other_again + 3 * pairs  # a pair is made, kept, and taken together with the one before


def _begin(edge: Edge, rates: Rates) -> tuple[float, float] | None:
    """Of a DISTINCT: values that begin to live per second, and how often one is given; None where nothing has been measured.

    Rows with a value are taken to come at random: the next one comes too late with a probability of e to the minus number of
    rows of a value in a window.
    """
    plan = edge.plan
    if isinstance(plan, Project):
        return _begin(edge.inputs[0], rates)
    if not isinstance(plan, Distinct) or not plan.window.range:
        return None
    measured = {node.plan.stream.name for node in edge.walk() if isinstance(node.plan, Scan)} <= set(rates.streams)
    if not measured or not set(plan.schema.names) <= set(rates.values):
        return None
    below = _estimate(edge, rates, None).inputs[0]
    values = min(below.size, _product(plan.schema.names, rates))
    if not values:
        return None
    begin = below.rate * exp(-below.size / values)
    return begin, begin + values * _SECOND / plan.window.range


def shares(edge: Edge, rates: Rates) -> dict[int, float]:
    """By `id` of each edge below and including this one: the share of the plan's cost its node has."""
    whole = estimate(edge, rates)
    found: dict[int, float] = {}

    def visit(edge: Edge, of: EdgeEstimate) -> None:
        found[id(edge)] = of.own / whole.total if whole.total else 0.0
        for below, its in zip(edge.inputs, of.inputs, strict=True):
            visit(below, its)

    visit(edge, whole)
    return found


def _seconds(plan: Plan, port: int, above: float | None) -> float | None:
    """How long rows of an input live, where a window of the node says so."""
    window: Window
    match plan:
        case Alive(ends=False) | Distinct(ends=False):
            window = plan.window
        case Join():
            window = plan.windows[port]
        case Aggregate(ends=False):
            window = plan.window
        case _:
            return above
    if window.span is not None and not window.ends_with_rows:
        return window.span / _SECOND
    return _FOREVER if window.keeps_all else above


def _estimate(edge: Edge, rates: Rates, lives: float | None) -> EdgeEstimate:
    plan = edge.plan
    inputs = tuple(_estimate(e, rates, _seconds(plan, port, lives)) for port, e in enumerate(edge.inputs))
    rate, size, own = _node(edge, inputs, rates, lives)
    if any(e.pattern == "STR" for e in edge.inputs) and not isinstance(plan, Aggregate):
        own *= 2  # negative rows are work too
    return EdgeEstimate(rate, size, own, inputs)


def _node(
    edge: Edge, inputs: tuple[EdgeEstimate, ...], rates: Rates, lives: float | None
) -> tuple[float, float, float]:
    """Output rate, rows alive and own cost of a node."""
    plan = edge.plan
    arriving, alive = sum(e.rate for e in inputs), sum(e.size for e in inputs)
    match plan:
        case Scan(stream=stream):
            rate = rates.streams.get(stream.name, 1.0)
            return rate, rate * (lives or 0.0), 0.0
        case TableRelation():
            return 0.0, _VALUES, 0.0
        case Filter(predicate=predicate):
            share = passing(predicate, rates)
            return arriving * share, alive * share, arriving
        case Union():
            return arriving, alive, arriving
        case Join(kind="inner") | RelationJoin(kind="inner"):
            left, right = inputs
            share = 1 / max(different(e, k, rates) for e, k in zip(inputs, _keys_by_input(plan), strict=True))
            if plan.residual is not None:
                share *= passing(plan.residual, rates)
            made = (left.rate * right.size + right.rate * left.size) * share
            return made, left.size * right.size * share, left.rate * right.size + right.rate * left.size
        case Join() | RelationJoin():
            left, right = inputs
            return left.rate + right.rate, left.size, left.rate * right.size + right.rate * left.size
        case Distinct():
            values = min(alive, _product(plan.schema.names, rates))
            return arriving * (values / alive if alive else 1.0), values, arriving * values / 2
        case Bags(kind="net"):
            return arriving, alive, arriving
        case Bags():
            by = [left for left, _ in plan.on] or list(plan.schema.names)
            work = sum(2 * e.rate * log2(2 + min(e.size, _product(by, rates))) for e in inputs)
            return inputs[0].rate, inputs[0].size * _LEFT_OVER, work
        case _ if plan.searches or isinstance(plan, Aggregate):
            keys = [n for n, _ in plan.keys] if isinstance(plan, Aggregate) else []
            return 2 * arriving, min(alive, _product(keys, rates)), 2 * arriving
        case Top():
            return arriving, float(plan.limit or alive), arriving
    return arriving * plan.share, alive * plan.share, arriving


def _keys_by_input(plan: Join | RelationJoin) -> tuple[list[Expr], list[Expr]]:
    return [one for one, _ in plan.keys], [other for _, other in plan.keys]


def different(e: EdgeEstimate, keys: list[Expr], rates: Rates) -> float:
    """How many different keys rows have that are alive together."""
    names = [n for key in keys for n in columns(key)]
    return max(1.0, min(e.size, _product(names, rates)))


def _product(names: list[str] | tuple[str, ...], rates: Rates) -> float:
    found = 1.0
    for name in names:
        found *= rates.values.get(name, _VALUES)
    return found


def passing(predicate: Expr, rates: Rates) -> float:
    """Share of rows that fulfil a condition."""

    def share(expr: Expr, parts: tuple[tuple[float, str], ...]) -> tuple[float, str]:
        text = in_words(expr, tuple(words for _, words in parts))
        measured = rates.passed.get(text)
        if measured is not None:
            return measured, text
        function = expr.function if isinstance(expr, Call) else None
        if function == "and":
            return parts[0][0] * parts[1][0], text
        if function == "or":
            return min(1.0, parts[0][0] + parts[1][0]), text
        return _EQUAL if function == "=" else _OTHER, text

    return fold(predicate, share)[0]


__all__ = ["EdgeEstimate", "Rates", "by_changes", "cost", "different", "estimate", "passing", "shares"]
