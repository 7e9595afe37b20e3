"""Static approximation (stream-manager paper §5.1): a plan changed once, before it runs, so that it fits into what it may have.

Before: SELECT count(*) FROM trades [RANGE 1 HOUR SLIDE 1 MINUTE]     After: ... FROM trades [RANGE 20 MINUTES SLIDE 1 MINUTE]
Before: SELECT price FROM trades WHERE price > 10                     After: ... FROM trades SAMPLE(25) WHERE price > 10

Windows are shrunk, or streams are sampled, as little as is enough. Neither where less input would make more of the answer.
Not for how much a plan needs: `footprint`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from jupyter_stream.core.time import show_duration
from jupyter_stream.errors import QueryError
from jupyter_stream.functions import Literal
from jupyter_stream.plan.footprint import Known, needed
from jupyter_stream.plan.logical import BoundQuery, Plan, streams, walk
from jupyter_stream.plan.sampling import sampled, unsampled
from jupyter_stream.plan.tolerance import Room, Tolerance, in_words, percent
from jupyter_stream.plan.weighed import Account, weighed
from jupyter_stream.windows import Window

_SHARES: Final = (0.9, 0.8, 0.75, 0.6, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.08, 0.05, 0.04, 0.03, 0.02, 0.01)
"""Shares of the rows that are tried, and"""
_PARTS: Final = (3 / 4, 2 / 3, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 6, 1 / 10, 1 / 12, 1 / 15, 1 / 20, 1 / 30, 1 / 60)
"""of the length of windows: people can read what comes of an hour or a day."""
_LEAST: Final = Tolerance(sample=0.01)
"""How far it may go where nothing was said: windows as short as a sixtieth."""


@dataclass(frozen=True)
class Reduction:
    """A way to need less.

    Attributes:
        plan: changed so.
        changed: in words.
        share: of the rows of the streams.
        part: of the length of windows.
    """

    plan: Plan
    changed: tuple[str, ...] = ()
    share: float = 1.0
    part: float = 1.0


def reduced(query: BoundQuery, target: Room, known: Known) -> BoundQuery:
    """The query changed as little as is enough to fit; as it is, where it does already.

    Raises:
        QueryError: it can't be made to fit, with the reasons.
    """
    plan = query.plan
    before = needed(plan, target, known)
    about = f"about {in_words(target.kind, before)}"
    if before <= target.amount:
        return _accounted(query, Reduction(plan), f"{target} is enough for all of it: {about}")
    allowed = query.tolerance or _LEAST
    whole = Reduction(plan)
    kinds = (_samples, _shorter) if _scales(plan) else (_shorter, _samples)
    orders: tuple[Callable[[], Iterator[Reduction]], ...] = (
        lambda: kinds[0](whole, allowed, query.tolerance is None),
        lambda: kinds[1](whole, allowed, query.tolerance is None),
        lambda: (
            both
            for one in kinds[0](whole, allowed, query.tolerance is None)
            for both in kinds[1](one, allowed, query.tolerance is None)
        ),
    )
    least = before
    for ways in orders:
        for way in ways():
            amount = needed(way.plan, target, known)
            if amount <= target.amount:
                said = f"{about} before, {in_words(target.kind, amount)} now, for a limit of {target}"
                return _accounted(query, way, said)
            least = min(least, amount)
    raise QueryError(
        f"this query can't be made to fit into {target}: it needs {about}, and at the least {in_words(target.kind, least)}",
        hint=" ".join(_reasons(plan, query.tolerance)),
    )


def _accounted(query: BoundQuery, way: Reduction, fits: str) -> BoundQuery:
    """The query with answers that say what was given up."""
    share = Literal(way.share, pl.Float64())
    done = "; ".join(way.changed) or "exact"
    account = Account(Literal(1 / way.share, pl.Float64()), share, done, always=True, part=way.part)
    return replace(query, plan=weighed(way.plan, account), written=query.plan, changed=way.changed, fits=fits)


def _samples(way: Reduction, allowed: Tolerance, free: bool) -> Iterator[Reduction]:
    """Samples of the streams, the largest first."""
    if allowed.sample is None or unsampled(way.plan) is not None:
        return
    names = " and ".join(s.name for s in streams(way.plan))
    for share in dict.fromkeys([*(s for s in _SHARES if s >= allowed.sample), allowed.sample]):
        yield Reduction(sampled(way.plan, share), (*way.changed, f"SAMPLE {percent(share)} of {names}"), share)


def _shorter(way: Reduction, allowed: Tolerance, free: bool) -> Iterator[Reduction]:
    """Windows shortened, by the least first."""
    if not free and allowed.window is None:
        return
    for part in _PARTS:
        found = shortened(way.plan, part, allowed.window or 1)
        if found is not None:
            yield Reduction(found[0], (*way.changed, *found[1]), way.share, part)


def shortened(plan: Plan, part: float, least: int) -> tuple[Plan, tuple[str, ...]] | None:
    """The plan with windows of that part of their length, and what became of which; None where none can be shortened so far.

    Args:
        plan: the plan.
        part: of a window's length that is left.
        least: the least length of a window, microseconds.
    """
    said: dict[str, None] = {}

    def shorter(window: Window) -> Window:
        length = window.span if window.span is not None else window.length
        if length is None or window.counts_rows:
            return window
        grain = window.schedule.slide if window.schedule is not None else 1
        to = max(int(length * part), least)
        to = to - to % grain if to % grain and to > grain and length % grain == 0 else to
        found = window.shortened(to) if to >= least else None
        if found is None:
            return window
        said[f"{_clause(length)} became {_clause(to).removeprefix('RANGE ')}"] = None
        return found

    made = _rebuilt(plan, shorter, False)
    return (made, tuple(said)) if said else None


def _clause(micros: int) -> str:
    return f"RANGE {show_duration(micros).upper()}"


def _rebuilt(plan: Plan, shorten: Callable[[Window], Window], spared: bool) -> Plan:
    """The plan with windows shortened, but for those where less input would make more of the answer."""
    parts = [
        _rebuilt(part, shorten, spared or plan.grows_by_less(port) is not None) for port, part in enumerate(plan.inputs)
    ]
    plan = plan.with_inputs(parts)
    own = spared or (len(plan.inputs) == 1 and plan.grows_by_less(0) is not None)
    own = own or any(plan.grows_by_less(port) is not None for port in range(len(plan.inputs)) if plan.windows_kept)
    return plan if own or not plan.windows_kept else plan.shortened(shorten)


def _scales(plan: Plan) -> bool:
    """Whether a sample's answers go on meaning what they meant: the least of a sample is not about the least of all."""
    return unsampled(plan) is None and not any({"min", "max"} & {*node.unscaled} for node in walk(plan))


def _reasons(plan: Plan, tolerance: Tolerance | None) -> Iterator[str]:
    """Why no more can be given up."""
    reason = unsampled(plan)
    if reason is not None:
        yield f"Its streams can't be sampled: {reason}."
    spared = [
        r for node in walk(plan) for port in range(len(node.inputs)) if (r := node.grows_by_less(port)) is not None
    ]
    for why in dict.fromkeys(spared):
        yield f"A window can't be shortened: {why}."
    if tolerance is not None:
        yield f"WITH TOLERANCE allows {tolerance}."
    if reason is None and not spared and tolerance is None:
        yield "Give it more, group by fewer values, or select less."


__all__ = ["Reduction", "reduced", "shortened"]
