"""OVER: for every row, by definition, the rows of its partition up to it; which rows are given, and when they fire."""

from __future__ import annotations

from dataclasses import dataclass

from tests.oracle.aggregates import Aggregate
from tests.oracle.predicates import Predicate
from tests.oracle.progress import Arrived
from tests.oracle.query import Answer, Stream, duration
from tests.oracle.user import UserAggregate
from tests.oracle.values import Row, same_key


@dataclass(frozen=True)
class OverQuery:
    """Each row with aggregates over the rows before it.

    Attributes:
        stream: what it reads.
        aggregates: what it computes; their columns are called a0, a1, ...
        partition: PARTITION BY.
        rows: ROWS n PRECEDING.
        range: RANGE d PRECEDING, microseconds; neither: UNBOUNDED.
        peers: RANGE UNBOUNDED rather than ROWS UNBOUNDED.
        every: SLIDE m.
        slot: SLIDE d, microseconds.
        on_expiry: ACTIVE EXPIRATION.
        where: WHERE.
    """

    stream: Stream
    aggregates: tuple[Aggregate, ...]
    partition: tuple[str, ...] = ()
    rows: int | None = None
    range: int | None = None
    every: int = 1
    slot: int | None = None
    on_expiry: bool = False
    where: Predicate | None = None
    peers: bool = True
    window: None = None
    emit_every: None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the result's columns, in order."""
        return (*(name for name, _ in self.stream.columns), *(f"a{i}" for i in range(len(self.aggregates))))

    def sql(self) -> str:
        """The SELECT."""
        by = f"PARTITION BY {', '.join(self.partition)} " if self.partition else ""
        if self.rows is not None:
            length = f"ROWS {self.rows} PRECEDING"
        elif not self.peers:
            length = "ROWS UNBOUNDED PRECEDING"
        else:
            length = f"RANGE {'UNBOUNDED' if self.range is None else duration(self.range)} PRECEDING"
        slide = f" SLIDE {self.every}" if self.every > 1 else ""
        slide = slide if self.slot is None else f" SLIDE {duration(self.slot)}"
        over = f"OVER ({by}{length}{slide}{' ACTIVE EXPIRATION' if self.on_expiry else ''})"
        items = [name for name, _ in self.stream.columns]
        items += [f"{a.sql()} {over} AS a{i}" for i, a in enumerate(self.aggregates)]
        where = f" WHERE {self.where.sql()}" if self.where else ""
        return f"SELECT {', '.join(items)} FROM {self.stream.name}{where}"


def over(query: OverQuery) -> Answer:
    """What OVER gives: late rows are not used."""
    arrived = [r for r in query.stream.arrived() if query.where is None or query.where.truth(r.row) is True]
    answer = Answer(rows=[])
    answer.late = [(r.row, r.before, None) for r in arrived if r.late and r.before is not None]
    partitions: dict[object, list[Arrived]] = {}
    for r in sorted((r for r in arrived if not r.late), key=lambda r: (r.ts, r.number)):
        partitions.setdefault(tuple(same_key(r.row[c]) for c in query.partition), []).append(r)
    for rows in partitions.values():
        for i, r in enumerate(rows):
            if _given(query, rows, i):
                found: Row = dict(r.row)
                for n, aggregate in enumerate(query.aggregates):
                    one_by_one = isinstance(aggregate, UserAggregate) or not query.peers
                    found[f"a{n}"] = aggregate.alive(_seen(query, rows, i, one_by_one))
                answer.rows.append(found)
    return answer


def _given(query: OverQuery, rows: list[Arrived], i: int) -> bool:
    """Whether a row's answer is given at all."""
    if query.slot is not None:
        return all(later.ts // query.slot != rows[i].ts // query.slot for later in rows[i + 1 :])
    return (i + 1) % query.every == 0


def _seen(query: OverQuery, rows: list[Arrived], i: int, one_by_one: bool) -> list[Arrived]:
    """The rows a row's answer is over, those of its partition in time order. Peers behind it don't count `one_by_one`."""
    at = rows[i].ts
    if one_by_one and query.on_expiry:
        assert query.range is not None
        return [r for r in rows[i + 1 :] if r.ts <= at + query.range]
    if one_by_one:
        rows = rows[: i + 1]
    if query.on_expiry:
        assert query.range is not None
        return [r for r in rows if at < r.ts <= at + query.range]
    if query.rows is not None:
        return rows[max(0, i - query.rows) : i + 1]
    return [r for r in rows if r.ts <= at and (query.range is None or r.ts >= at - query.range)]
