"""Answers of slide-by-tuple windows: for every row that ends an extent, all rows in RANGE before it."""

from __future__ import annotations

from dataclasses import replace

from tests.oracle.extents import grouped, result_row
from tests.oracle.progress import Arrived
from tests.oracle.query import Answer, Query
from tests.oracle.values import Row
from tests.oracle.windows import TupleExtents


def tuple_extents(query: Query, window: TupleExtents) -> Answer:
    """What a query over a slide-by-tuple window gives. Late rows are not used, and not numbered."""
    arrived = query.stream.arrived()
    placed = [place(window, r) for r in arrived]
    taken = [r for r in placed if query.passes(r.row)]
    used = [r for r in taken if not r.late]
    answer = Answer(rows=results(query, window, used))
    for r in taken:
        if r.late:
            assert r.before is not None
            answer.late.append((r.row, r.before, missed_extents(window, used, r)))
    if query.emit_every is not None:
        for i, r in enumerate(arrived):  # the stream's own time says when, whatever the window is on
            if i and r.ts // query.emit_every > max(e.ts for e in arrived[:i]) // query.emit_every:
                so_far = [x for x in placed[: i + 1] if x in used]
                answer.snapshots.append((r.ts, results(query, window, so_far, placed[i].before)))
    return answer


def place(window: TupleExtents, r: Arrived) -> Arrived:
    """The row on the axis the window is defined on. A punctuation on ts says nothing of another column."""
    if window.on is None:
        return r
    at = r.row[window.on]
    assert isinstance(at, int)
    return replace(r, ts=at, before=None)


def ending(window: TupleExtents, used: list[Arrived]) -> list[Arrived]:
    """The rows that end an extent."""
    ordered = sorted(used, key=lambda r: (r.ts, r.number)) if window.by_rank else used
    return ordered[window.every - 1 :: window.every]


def missed_extents(window: TupleExtents, used: list[Arrived], late: Arrived) -> int | None:
    """How many extents would hold a late row but were final when it came; None where it is a RANGE behind: not known."""
    assert late.before is not None
    if late.ts <= late.before - window.range:
        return None
    return sum(window.holds(e.ts, late.ts) and e.ts < late.before for e in ending(window, used))


def results(query: Query, window: TupleExtents, used: list[Arrived], final_before: int | None = None) -> list[Row]:
    """The rows of all extents that end at `final_before` or later."""
    found: list[Row] = []
    for end in ending(window, used):
        if final_before is not None and end.ts < final_before:
            continue
        rows = [r for r in used if window.holds(end.ts, r.ts)]
        for group in grouped(query.keys, rows) if query.keys else [rows]:
            result = result_row(query, group, {"window_start": end.ts - window.range, "window_end": end.ts})
            if query.keeps(result):
                found.append(result)
    return found
