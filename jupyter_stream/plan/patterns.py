"""Update patterns: in which order the rows of each edge of a plan are given and taken back (update-patterns paper §3 and §5.2).

- MON, monotonic: nothing is ever taken back.
- WKS, weakest non-monotonic: rows leave in the order they came, first in, first out.
- WK, weak: they leave in another order, but when is known the moment they come.
- STR, strict: some leave at times nobody knows beforehand, so somebody has to say so.

A pure function of the plan: what is done about it is said in `plan.structures`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from jupyter_stream.plan.logical import (
    Aggregate,
    Alive,
    Bags,
    Distinct,
    Join,
    Newest,
    Plan,
    RelationJoin,
    Scan,
    TableRelation,
    Top,
    ToStream,
    Union,
    WindowFunctions,
)
from jupyter_stream.plan.relations import is_relation

Pattern: TypeAlias = Literal["MON", "WKS", "WK", "STR"]
PATTERNS: tuple[Pattern, ...] = get_args(Pattern)
"""From the simplest to the most complex."""


@dataclass(frozen=True)
class Edge:
    """What leaves a node of a plan.

    Attributes:
        plan: the node.
        pattern: how its rows come and go.
        inputs: the edges that come to it.
    """

    plan: Plan
    pattern: Pattern
    inputs: tuple[Edge, ...]

    def walk(self) -> Iterator[Edge]:
        """This edge and all below it, outermost first."""
        yield self
        for edge in self.inputs:
            yield from edge.walk()


def labelled(plan: Plan) -> Edge:
    """A plan with every edge labelled."""
    return _label(plan, bounded=False)


def _label(plan: Plan, bounded: bool) -> Edge:
    """Label a plan, given whether the window its rows come under lets go of them."""
    inputs = tuple(_label(part, _bounded(plan, port, bounded)) for port, part in enumerate(plan.inputs))
    return Edge(plan, _pattern(plan, tuple(e.pattern for e in inputs), bounded), inputs)


def _bounded(plan: Plan, port: int, above: bool) -> bool:
    """The same for an input: windows stand with the node that needs them, and hold for the streams below it."""
    if plan.searches:
        return False
    match plan:
        case Alive(ends=False) | Distinct(ends=False):
            return not plan.window.keeps_all
        case Join():
            return not plan.windows[port].keeps_all
        case Aggregate():
            return not plan.window.keeps_all
        case Newest():
            return True
        case ToStream():
            return False
    return above


def _pattern(plan: Plan, inputs: tuple[Pattern, ...], bounded: bool) -> Pattern:
    """The five rules of §5.2; in front of them, what looks at chosen instants only: its answers are never taken back."""
    most: Pattern = "MON" if not inputs else max(inputs, key=PATTERNS.index)
    weak: Pattern = most if most in ("MON", "STR") else "WK"
    match plan:
        case Scan():
            return "WKS" if bounded else "MON"
        case TableRelation():
            return "STR"
        case _ if plan.searches or isinstance(plan, ToStream):
            return "WKS" if bounded else "MON"
        case Aggregate():
            if plan.window.sliding:
                return "WKS" if bounded else "MON"
            return "WK"  # rule 4
        case Union():
            return most  # rule 2
        case Join():
            return weak  # rule 3
        case Distinct():
            return weak  # rule 3
        case RelationJoin(kind="inner" | "semi"):
            return weak  # rule 3; a retroactive table is STR itself (rule 5)
        case RelationJoin():
            return "STR"  # rule 5: rows without a partner are a negation
        case Newest():
            return "STR"  # when a row leaves, rows to come decide
        case Bags(kind="net"):
            return most
        case Bags(kind="intersect" | "intersect all"):
            return weak  # rule 3
        case Bags():
            return "STR"  # rule 5
        case Top() | WindowFunctions():
            return "STR" if is_relation(plan) else most  # the last one leaves when a better one comes
    return most  # rule 1


__all__ = ["PATTERNS", "Edge", "Pattern", "labelled"]
