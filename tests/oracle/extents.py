"""Answers of windows with SLIDE: every extent on its own, from all rows that came in time for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tests.oracle.progress import Arrived
from tests.oracle.query import Answer, Query
from tests.oracle.values import Row, Value, same_key
from tests.oracle.windows import TimeExtents


def windowed(query: Query, window: TimeExtents) -> Answer:
    """What a query over a window with SLIDE gives."""
    arrived = query.stream.arrived()
    placed = [place(window, r) for r in arrived]
    taken = [r for r in placed if query.passes(r.row)]
    answer = Answer(rows=results(query, window, taken, placed))
    for r in taken:
        missed = missed_extents(window, r)
        if missed:
            assert r.before is not None
            answer.late.append((r.row, r.before, len(missed)))
    if query.emit_every is not None:
        # A snapshot holds the row that brought it about, and shows what was open when that row came.
        for i, r in enumerate(arrived):
            if i and r.ts // query.emit_every > max(e.ts for e in arrived[:i]) // query.emit_every:
                so_far = placed[: i + 1]
                kept = [x for x in so_far if query.passes(x.row)]
                answer.snapshots.append((r.ts, results(query, window, kept, so_far, placed[i].before, False)))
    return answer


def place(window: TimeExtents, r: Arrived) -> Arrived:
    """The row at its place on the axis the window is defined on. A punctuation on ts says nothing of another column."""
    if window.on is None:
        return r
    at = r.row[window.on]
    assert isinstance(at, int)
    return replace(r, ts=at, before=None, before_all=None)


def missed_extents(window: TimeExtents, r: Arrived) -> list[int]:
    """The extents that would hold the row but were final when it came."""
    if r.before is None:
        return []
    return [end for end in window.ends(r.ts, r.before) if window.holds(end, r.ts)]


def in_time(window: TimeExtents, end: int, r: Arrived) -> bool:
    """Whether the extent holds the row, and was still open when it came."""
    return window.holds(end, r.ts) and end not in missed_extents(window, r)


def results(
    query: Query,
    window: TimeExtents,
    taken: list[Arrived],
    arrived: list[Arrived],
    closed: int | None = None,
    final: bool = True,
) -> list[Row]:
    """The rows of all extents, or (not `final`) of those a punctuation `closed` leaves open.

    An ungrouped aggregate also has its empty extents between the first and the last one that hold rows. GROUP BY of the window
    alone is a grouping.
    """
    if not taken:
        return []
    times = [r.ts for r in taken]
    last = max(times)
    if window.range is None:
        # A landmark's last extent ends at the first multiple of the slide beyond the last row, and is open while others may come.
        last = max(*(r.ts for r in arrived), last if closed is None else closed)
    last += window.range or window.slide
    contents = {end: [r for r in taken if in_time(window, end, r)] for end in window.ends(min(times), last)}
    holding = [end for end, rows in contents.items() if rows]
    found: list[Row] = []
    for end, rows in contents.items():
        if not final and closed is not None and end <= closed:
            continue
        if query.keys or window.spelling == "group by":
            groups: Iterable[list[Arrived]] = grouped(query.keys, rows)
        else:
            groups = [rows] if holding and min(holding) <= end <= max(holding) else []
        for group in groups:
            result = result_row(query, group, {"window_start": window.start(end), "window_end": end})
            if query.keeps(result):
                found.append(result)
    return found


def grouped(keys: tuple[str, ...], rows: list[Arrived]) -> list[list[Arrived]]:
    """The rows in groups of equal keys."""
    groups: dict[tuple[object, ...], list[Arrived]] = {}
    for r in rows:
        groups.setdefault(tuple(same_key(r.row[k]) for k in keys), []).append(r)
    return list(groups.values())


def result_row(query: Query, group: list[Arrived], bounds: dict[str, int | None]) -> Row:
    """One row of an answer; an extent's has its bounds, a relation's has none."""
    row: dict[str, Value] = dict(bounds)
    row.update({k: group[0].row[k] for k in query.keys})
    row.update({f"a{i}": a.over(group) if bounds else a.alive(group) for i, a in enumerate(query.aggregates)})
    return row
