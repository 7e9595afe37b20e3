"""Answers of aggregates without SLIDE: the state at every instant, from all rows alive then, and the net changes."""

from __future__ import annotations

from collections import Counter

from tests.oracle.extents import grouped, result_row
from tests.oracle.progress import Arrived
from tests.oracle.query import Answer, Query
from tests.oracle.values import Row, same_key
from tests.oracle.windows import Lifetime


def relation(query: Query, window: Lifetime) -> Answer:
    """What an aggregate without SLIDE gives: late rows are not used."""
    arrived = query.stream.arrived()
    in_time = [r for r in arrived if not r.late]
    taken = [r for r in in_time if query.passes(r.row)]
    answer = Answer(rows=[])
    for r in arrived:
        if r.late and query.passes(r.row):
            assert r.before is not None
            answer.late.append((r.row, r.before, None))
    if not in_time:
        return answer
    first, last = min(r.ts for r in in_time), max(r.ts for r in in_time)
    ends = [end for end in (window.until(r.ts) for r in taken) if end is not None]
    former: list[Row] = []
    for at in sorted({first, last, *(r.ts for r in taken), *ends}):
        now = state(query, window, taken, at)
        answer.changes += net(at, former, now)
        if at <= last:
            answer.rows = now
        former = now
    return answer


def state(query: Query, window: Lifetime, taken: list[Arrived], at: int) -> list[Row]:
    """The relation at one instant, not before the first input row: an ungrouped one has its row even when nothing is alive."""
    alive = [r for r in taken if r.ts <= at and (window.range is None or at < r.ts + window.range)]
    groups = grouped(query.keys, alive) if query.keys else [alive]
    rows = [result_row(query, group, {}) for group in groups]
    return [row for row in rows if query.keeps(row)]


def net(at: int, former: list[Row], now: list[Row]) -> list[tuple[int, int, Row]]:
    """The fewest changes that make one bag of rows out of another."""

    def count(rows: list[Row]) -> Counter[tuple[object, ...]]:
        return Counter(tuple(same_key(v) for v in row.values()) for row in rows)

    by_key = {tuple(same_key(v) for v in row.values()): row for row in [*former, *now]}
    before, after = count(former), count(now)
    gone = [(at, -1, by_key[key]) for key in (before - after).elements()]
    come = [(at, +1, by_key[key]) for key in (after - before).elements()]
    return gone + come
