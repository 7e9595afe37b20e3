"""From when on answers are exact of a query that begins in the middle of live streams, as far as its windows tell.

Every row that an instant looks at has to have been seen. So the first rows are waited for, then as long as rows can be out of
order, then as long as they stay in windows. Not for streams with a past, which are read from their beginning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jupyter_stream.plan.catalog import StreamDef, Watermark
from jupyter_stream.plan.logical import (
    Aggregate,
    Alive,
    BoundQuery,
    Distinct,
    ExtentChanges,
    Join,
    MatchRows,
    Over,
    Plan,
    Retimed,
    Top,
)
from jupyter_stream.plan.relations import is_relation
from jupyter_stream.windows import Window


@dataclass(frozen=True)
class Refill:
    """What has to have come.

    Attributes:
        micros: how long rows stay in windows one after another, microseconds of the streams' time.
        also: what rows have to have done besides, in words.
        never: why answers are never exact again, in words; None where they will be.
    """

    micros: int
    also: tuple[str, ...] = ()
    never: str | None = None

    def at(self, first: Mapping[str, int], read: tuple[StreamDef, ...]) -> int | None:
        """The time from which answers are exact, by the first row that came of each stream.

        Returns:
            Microseconds; None while a stream has no row yet, or where times or their disorder don't tell.
        """
        waits = [disorder(stream) for stream in read]
        if self.also or any(wait is None for wait in waits) or not {s.name for s in read} <= first.keys():
            return None
        # a row that came before was at most so much later than the first one since
        newest = max(first[s.name] + (w or 0) for s, w in zip(read, waits, strict=True))
        return newest + 1 + self.micros


def refill(query: BoundQuery) -> Refill:
    """What has to have come for that query's answers to be exact."""
    paths = list(_paths(query.plan))
    never = next((p.never for p in paths if p.never is not None), None)
    return Refill(max(p.micros for p in paths), tuple(dict.fromkeys(w for p in paths for w in p.also)), never)


def disorder(stream: StreamDef) -> int | None:
    """How far behind the newest row a row can be and still count, microseconds; None where no length of time says so."""
    if stream.time.kind != "external":
        return 0
    return stream.time.progress.delay if isinstance(stream.time.progress, Watermark) else None


def _paths(plan: Plan) -> Iterator[Refill]:
    """One for each way from a stream to the answers."""
    if not plan.inputs:
        yield Refill(0)
    for port, below in enumerate(plan.inputs):
        for path in _paths(below):
            micros, also, never = path.micros, path.also, path.never or _never(plan)
            if isinstance(plan, Join) and plan.low is not None and plan.high is not None:
                yield Refill(micros + max(abs(plan.low), abs(plan.high)), also, never)
                continue
            for window in _windows(plan, port):
                if window.on is not None:
                    never = never or f"{window} goes by other times than those by which rows come"
                elif window.keeps_all and getattr(plan, "ends", False):
                    continue  # rows bring the ends of their lifetimes along
                elif window.keeps_all or (window.schedule is not None and window.span is None):
                    never = never or f"{window} counts rows from the beginning on"
                elif window.span is not None:
                    micros += window.span
                elif window.counts_rows or window.passes_rows:
                    also = (*also, f"{window} holds rows that came later")
                else:
                    also = (*also, f"a new extent of {window} has begun")
            yield Refill(micros, also, never)


def _never(plan: Plan) -> str | None:
    if isinstance(plan, Top) and not (plan.order or plan.partition or is_relation(plan)):
        return "LIMIT counts rows from the beginning on"
    if isinstance(plan, Retimed):
        return f"a window ON {plan.on} goes by other times than those by which rows come"
    return None


def _windows(plan: Plan, port: int) -> tuple[Window, ...]:
    """Those in which the rows of an input stay."""
    match plan:
        case Aggregate():
            return tuple(window for window, _ in plan.by_window)
        case Over() | MatchRows() | Alive() | Distinct() | ExtentChanges():
            return (plan.window,)
        case Join():
            return (plan.windows[port],)
    return ()


__all__ = ["Refill", "disorder", "refill"]
