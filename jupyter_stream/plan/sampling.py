"""Where a sample of the streams can stand without a bias in the answer, and the plans with one (stream-manager paper §5.1.2).

A sample is pushed down through selections, projections and unions to the streams. Not for what becomes of answers: `weighed`.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import cast

from jupyter_stream.plan.logical import BoundQuery, Plan, Sample, Scan, walk
from jupyter_stream.plan.relations import is_relation


def unsampled(plan: Plan) -> str | None:
    """Why the streams of a plan can't be sampled, for people; None where they can."""
    for node in walk(plan):
        if node.unsampled is not None:
            return node.unsampled
    if sum(node.holds == "groups" for node in walk(plan)) > 1:
        return "it has several aggregates, of which one would take estimates of the other for what is"
    if any(len(node.inputs) > 1 and _over_groups(node) for node in walk(plan)):
        return "it puts answers of groups together with other rows, of which each has a precision of another kind"
    return None


def _over_groups(node: Plan) -> bool:
    """Whether there is an aggregate below a node."""
    return any(below.holds == "groups" for part in node.inputs for below in walk(part))


def unshed(plan: Plan) -> str | None:
    """Why rows of the streams can't be left out while a query runs, and its answers still say of how many they are."""
    reason = unsampled(plan)
    if reason is not None:
        return reason
    grouped = next((node for node in walk(plan) if node.holds == "groups"), None)
    if grouped is None:
        return "its answer is the rows that are alive, and goes on with those left out" if is_relation(plan) else None
    (window,) = grouped.windows_kept
    if window.schedule is None or window.length is None:
        return (
            f"nothing says which rows an answer is of: {window} has no SLIDE"
            if not window.sliding
            else "its window never ends"
        )
    return None


def at_streams(plan: Plan, put: Callable[[Scan], Plan]) -> Plan:
    """The plan with something above each stream it reads."""
    if not plan.inputs:
        return put(cast("Scan", plan))
    return plan.with_inputs([at_streams(part, put) for part in plan.inputs])


def sampled(plan: Plan, share: float) -> Plan:
    """The plan over a sample of its streams."""
    seeds = Seeds()
    return at_streams(plan, lambda scan: Sample(scan, 100 * share, seeds.of(scan), True, scan.schema))


class Seeds:
    """What chance starts from at each stream a plan reads, also where it reads one twice; other ones than those of a SAMPLE."""

    def __init__(self) -> None:
        self._read: Counter[str] = Counter()

    def of(self, scan: Scan) -> int:
        """That of the next place at which the stream is read."""
        name = scan.stream.name
        before = self._read[name]
        self._read[name] += 1
        return zlib.crc32(f"approximate {name}{f' {before}' if before else ''}".encode())


def exact(query: BoundQuery) -> BoundQuery:
    """A query as it was before anything was given up."""
    return query if query.written is None else replace(query, plan=query.written, changed=(), fits="", written=None)


__all__ = ["Seeds", "at_streams", "exact", "sampled", "unsampled", "unshed"]
