"""Answers of sessions: row by row in arrival order, each session a list of its rows."""

from __future__ import annotations

from dataclasses import dataclass

from tests.oracle.extents import grouped, place, result_row
from tests.oracle.progress import Arrived, KeyedPunctuation
from tests.oracle.query import Answer, Query
from tests.oracle.values import Row, same_key
from tests.oracle.windows.session import Sessions


@dataclass
class Session:
    """Rows that belong together; `final` once no row to come can join them."""

    rows: list[Arrived]
    final: bool = False

    @property
    def first(self) -> int:
        return min(r.ts for r in self.rows)

    @property
    def last(self) -> int:
        return max(r.ts for r in self.rows)


def sessioned(query: Query, window: Sessions) -> Answer:
    """What a query over sessions gives."""
    answer = Answer(rows=[])
    by = window.partition or query.keys
    partitions: dict[tuple[object, ...], list[Session]] = {}
    arrived = query.stream.arrived()
    for i, original in enumerate(arrived):
        r = place(window, original)
        rule = query.stream.progress
        for sessions in partitions.values():
            for session in sessions:
                said = r.before
                key = (
                    rule.key
                    if isinstance(rule, KeyedPunctuation)
                    else query.stream.clusters and query.stream.clusters.column
                )
                if key is not None and r.before_all != r.before:
                    of_its_key = same_key(session.rows[0].row[key]) == same_key(r.row[key])
                    said = r.before if of_its_key else r.before_all
                session.final = session.final or (said is not None and session.last + window.gap <= said)
        if query.passes(r.row):
            own = partitions.setdefault(tuple(same_key(r.row[k]) for k in by), [])
            near = [s for s in own if s.first - window.gap < r.ts < s.last + window.gap]
            joined = [s for s in near if not s.final]
            usable = bool(joined) or not r.late or (r.before is not None and r.ts + window.gap > r.before)
            if usable:
                own[:] = [s for s in own if s not in joined]
                own.append(Session([*(x for s in joined for x in s.rows), r]))
            if r.late and (not usable or any(s.final for s in near)):
                assert r.before is not None
                answer.late.append((r.row, r.before, 1))
        every = query.emit_every
        if every is not None and i and original.ts // every > max(e.ts for e in arrived[:i]) // every:
            still_open = [s for sessions in partitions.values() for s in sessions if not s.final]
            answer.snapshots.append((original.ts, results(query, window, still_open)))
    answer.rows = results(query, window, [s for sessions in partitions.values() for s in sessions])
    return answer


def results(query: Query, window: Sessions, sessions: list[Session]) -> list[Row]:
    """The rows of an answer for these sessions."""
    found: list[Row] = []
    for session in sessions:
        bounds: dict[str, int | None] = {"window_start": session.first, "window_end": session.last + window.gap}
        for group in grouped(query.keys, session.rows) if query.keys else [session.rows]:
            result = result_row(query, group, bounds)
            if query.keeps(result):
                found.append(result)
    return found
