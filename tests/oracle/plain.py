"""SELECT without aggregates over a window with SLIDE: the rows of every extent, as an aggregate that lists them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.oracle.aggregates import Aggregate
from tests.oracle.answer import answer
from tests.oracle.progress import Arrived
from tests.oracle.query import Answer, Query
from tests.oracle.values import Row, Value, same_key
from tests.oracle.windows import RowExtents, Sessions, TimeExtents, TupleExtents

_MARK = "rows_of_the_extent"


@dataclass(frozen=True)
class Rows(Aggregate):
    """All rows of an extent, as tuples of some columns.

    Attributes:
        columns: which.
        distinct: each value once.
    """

    columns: tuple[str, ...] = ()

    def sql(self) -> str:
        return _MARK

    def over(self, rows: list[Arrived]) -> Value:
        found = [tuple(r.row[c] for c in self.columns) for r in rows]
        return tuple({same_key(v): v for v in found}.values()) if self.distinct else tuple(found)


@dataclass(frozen=True)
class PlainSelect(Query):
    """A SELECT of columns, which the one aggregate lists."""

    @property
    def listed(self) -> Rows:
        (listed,) = self.aggregates
        assert isinstance(listed, Rows)
        return listed

    @property
    def columns(self) -> tuple[str, ...]:
        return ("window_start", "window_end", *self.listed.columns)

    def sql(self) -> str:
        names = ", ".join(self.listed.columns)
        return super().sql().replace(f"{_MARK} AS a0", f"DISTINCT {names}" if self.listed.distinct else names)

    def answer(self) -> Answer:
        found = answer(self)
        found.rows = self._unfolded(found.rows)
        found.snapshots = [(at, self._unfolded(rows)) for at, rows in found.snapshots]
        return found

    def _unfolded(self, rows: list[Row]) -> list[Row]:
        return [
            {
                **{n: row[n] for n in ("window_start", "window_end")},
                **dict(zip(self.listed.columns, values, strict=True)),
            }
            for row in rows
            for values in row["a0"]  # type: ignore[union-attr]
        ]


def plain(query: Query, columns: tuple[str, ...], distinct: bool = False) -> PlainSelect:
    """Some columns of the rows of a query's window, in place of its aggregates."""
    window = query.window
    if isinstance(window, RowExtents | TupleExtents):
        window = replace(window, paper=False)
    elif isinstance(window, TimeExtents):
        spelling = {"paper": "bracket", "group by": "table function"}.get(window.spelling, window.spelling)
        window = replace(window, spelling=spelling)
    elif isinstance(window, Sessions) and window.spelling == "group by":
        window = replace(window, spelling="bracket")
    listed = Rows("rows", distinct=distinct, columns=columns)
    return PlainSelect(query.stream, window, (listed,), (), query.where, emit_every=query.emit_every)


@dataclass(frozen=True)
class Changes(Query):
    """ISTREAM or DSTREAM of another query: what consecutive extents have not in common.

    Attributes:
        of: the query.
        kind: which.
    """

    of: Query | None = None
    kind: str = "ISTREAM"

    @property
    def columns(self) -> tuple[str, ...]:
        assert self.of is not None
        return self.of.columns

    def sql(self) -> str:
        assert self.of is not None
        return self.of.sql().replace("SELECT", f"SELECT {self.kind}", 1)

    def answer(self) -> Answer:
        assert self.of is not None and isinstance(self.window, TimeExtents)
        found = self.of.answer() if isinstance(self.of, PlainSelect) else answer(self.of)
        window, names = self.window, self.columns[2:]
        held: dict[int, list[tuple[object, Row]]] = {}
        for row in found.rows:
            value = same_key(tuple(row[n] for n in names))
            held.setdefault(row["window_end"], []).append((value, row))  # type: ignore[arg-type]
        ends = set(held) | {end + window.slide for end in held}
        if window.range is None and held:
            ends.discard(max(held) + window.slide)  # a landmark's last extent is the end of it
        rows: list[Row] = []
        for end in ends:
            now, before = held.get(end, []), held.get(end - window.slide, [])
            more, less = (now, before) if self.kind == "ISTREAM" else (before, now)
            gone = [value for value, _ in less]
            for value, row in more:
                if value in gone:
                    gone.remove(value)
                else:
                    rows.append({**row, "window_start": window.start(end), "window_end": end})
        return Answer(rows, found.late)


def changes_of(query: Query, kind: str) -> Changes:
    """What enters the extents of a query, or leaves them."""
    return Changes(query.stream, query.window, query.aggregates, query.keys, of=query, kind=kind)
