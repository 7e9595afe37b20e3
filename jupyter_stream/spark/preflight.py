"""Before anything starts: what each part of a query becomes on Spark, and the first that can't run, with the way round it.

Reads the bound plan and the support of its nodes; needs neither Spark nor Java.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from textwrap import wrap
from typing import Final

from jupyter_stream.errors import UnsupportedError
from jupyter_stream.plan.logical import BoundQuery, Plan
from jupyter_stream.plan.sampling import exact
from jupyter_stream.spark.inside import partition
from jupyter_stream.spark.nodes import SUPPORT, own_functions, row_numbers, tables_looked_into
from jupyter_stream.spark.rewrite import normal
from jupyter_stream.spark.rows import (
    ANSWERS_THAT_CAN_FAIL,
    ANYTHING_ELSE,
    BY_PARTITION,
    EMIT_CHANGES,
    EMIT_EVERY,
    ON_ONE_PARTITION,
    PREFERENCE,
    RUNS,
    TOLERANCE,
    Support,
)
from jupyter_stream.spark.stage import finished_here


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a part of a query.

    Attributes:
        depth: how deep it is in the plan; 0 for the outermost.
        what: the part, as EXPLAIN names it.
        support: its row in the table.
    """

    depth: int
    what: str
    support: Support


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a node is done.

    Attributes:
        depth: how deep it is in the plan.
        inside: whether by the kernel's operators, as all of its query.
        outermost: whether it is the outermost window or join, or above it.
        finishing: whether what is above that is done as its answers arrive.
    """

    depth: int = 0
    inside: bool = False
    outermost: bool = True
    finishing: bool = False

    def row(self, plan: Plan, row: Support) -> Support:
        """What becomes here of a node whose row of the table this is."""
        if row.kind != "native" or row.part in ("source", "progress"):
            return row
        if self.inside:
            return ANYTHING_ELSE
        return ANSWERS_THAT_CAN_FAIL if self.finishing and _passed(plan) else row

    def below(self, plan: Plan) -> _Place:
        """The place of its inputs."""
        outermost = self.outermost and _passed(plan)
        return replace(self, depth=self.depth + 1, outermost=outermost, finishing=self.finishing and outermost)


def _passed(plan: Plan) -> bool:
    return SUPPORT[type(plan)].operators is not None


def check(query: BoundQuery) -> tuple[Verdict, ...]:
    """A verdict for every part of a query, outermost first."""
    query = exact(query)
    verdicts = on_spark(query)
    if any(v.support.whole for v in verdicts):
        spread = BY_PARTITION if partition(query) else ON_ONE_PARTITION
        verdicts = [
            Verdict(0, "the query as a whole", spread),
            *_emitted(query, 1),
            *_verdicts_of(query.plan, _Place(1, inside=True)),
        ]
    if query.preference is not None:
        verdicts.insert(0, Verdict(0, "WITH PREFERENCE", PREFERENCE))
    if query.tolerance is not None or query.target is not None:
        verdicts.insert(0, Verdict(0, TOLERANCE.name, TOLERANCE))
    return tuple(verdicts)


def runs_inside(query: BoundQuery) -> bool:
    """Whether it runs as the kernel's operators inside Spark, since Spark has nothing for a part of it."""
    return any(v.support.whole for v in on_spark(query))


def on_spark(query: BoundQuery) -> list[Verdict]:
    """What its parts would become if all of them were to be Spark's own, outermost first; `whole` ones it has nothing for."""
    plan = normal(query.plan)
    return [*_emitted(query), *_verdicts_of(plan, _Place(finishing=finished_here(plan)))]


def _emitted(query: BoundQuery, depth: int = 0) -> Iterator[Verdict]:
    if query.emit.mode != "final" and not query.relation:
        row = EMIT_EVERY if query.emit.mode == "every" else EMIT_CHANGES
        yield Verdict(depth, row.name, row)


def _verdicts_of(plan: Plan, place: _Place) -> Iterator[Verdict]:
    node = SUPPORT[type(plan)]
    for what, row in node.parts(plan):
        yield Verdict(place.depth, what, place.row(plan, row))
    for what, row in tables_looked_into(plan):
        yield Verdict(place.depth, what, row)
    if not place.inside:
        for what, row in (*node.also(plan, place.outermost), *row_numbers(plan), *own_functions(plan)):
            yield Verdict(place.depth, what, row)
    for part in plan.inputs:
        yield from _verdicts_of(part, place.below(plan))


def refuse(query: BoundQuery) -> None:
    """Raise `UnsupportedError` for the first part of a query that can't run on Spark; do nothing if there is none."""
    for verdict in check(query):
        if verdict.support.kind not in RUNS:
            raise UnsupportedError(
                f"{verdict.what} can't run on Spark: {verdict.support.kind}", hint=verdict.support.how
            )


def explain(query: BoundQuery) -> str:
    """The parts of a query as a tree, with what each becomes on Spark."""
    verdicts = check(query)
    width = min(_WIDEST, max(2 * v.depth + len(v.what) for v in verdicts))
    refused = sum(v.support.kind not in RUNS for v in verdicts)
    lines = [line for v in verdicts for line in _in_columns(v, width)]
    lines.append("This query runs on Spark." if not refused else "This query can't run on Spark.")
    return "\n".join(lines)


def _in_columns(verdict: Verdict, width: int) -> Iterator[str]:
    """The part on the left, `width` wide, what becomes of it on the right; below each other where the part is wider."""
    indent = "  " * verdict.depth
    left = wrap(verdict.what, _LINE, initial_indent=indent, subsequent_indent=indent + "    ", break_on_hyphens=False)
    right = wrap(f"{verdict.support.kind}: {verdict.support.how}", _LINE - width - 2, break_on_hyphens=False)
    if len(left) > 1 or len(left[0]) > width:
        yield from left
        left = []
    yield from (f"{part:{width}}  {becomes}" for part, becomes in zip_longest(left, right, fillvalue=""))


_WIDEST: Final = 40
"""Characters of a part after which what becomes of the parts stands, in line; longer parts have it below them."""
_LINE: Final = 95
"""Characters of a line: a cell's output breaks longer ones in the middle of a word."""
