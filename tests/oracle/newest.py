"""Relations over the newest rows: the state after each row that arrives, from the newest rows then."""

from __future__ import annotations

from tests.oracle.extents import grouped, result_row
from tests.oracle.progress import Arrived
from tests.oracle.query import Answer, Query
from tests.oracle.relation import net
from tests.oracle.values import Row
from tests.oracle.windows.newest import NewestRows


def newest(query: Query, window: NewestRows) -> Answer:
    """What an aggregate over the newest rows gives. No row is late for it."""
    counted = [r for r in query.stream.arrived() if window.where is None or window.where.truth(r.row) is True]
    answer = Answer(rows=[])
    for i, r in enumerate(counted):
        now = state(query, window, counted[: i + 1])
        answer.changes += net(r.ts, answer.rows, now)
        answer.rows = now
    return answer


def state(query: Query, window: NewestRows, so_far: list[Arrived]) -> list[Row]:
    """The relation after some rows."""
    partitions = grouped(window.partition, so_far) if window.partition else [so_far]
    alive = [r for rows in partitions for r in rows[-window.rows :] if query.passes(r.row)]
    groups = grouped(query.keys, alive) if query.keys else [alive]
    rows = [result_row(query, group, {}) for group in groups]
    return [row for row in rows if query.keeps(row)]
