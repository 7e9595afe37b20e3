"""Aggregates over aggregates without SLIDE, whatever window these have: what holds at each instant, and what enters."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle import axis
from tests.oracle.search import searching
from tests.relations.test_oracle_sets import arrivals, session_over
from tests.tiers import thinned

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure

Rows = list[tuple[str | None, int | None, int]]


@dataclass(frozen=True)
class Inner:
    """count(*), sum(n) and max(n) of a stream under a window without SLIDE.

    Attributes:
        rows: the newest so many, of each key where `partitioned`; None for a window over time.
        range: how long rows live, in microseconds; None for ever.
        least: WHERE n >= least; None without.
        grouped: whether by k.
    """

    rows: int | None
    range: int | None
    partitioned: bool
    least: int | None
    grouped: bool

    def window(self) -> str:
        if self.rows is not None:
            return f"[{'PARTITION BY k ' if self.partitioned else ''}ROWS {self.rows}]"
        return f"[RANGE {self.range} MICROSECONDS]" if self.range is not None else "[RANGE UNBOUNDED]"

    def sql(self) -> str:
        window = self.window()
        where = "" if self.least is None else f" WHERE n >= {self.least}"
        key, group = ("k, ", " GROUP BY k") if self.grouped else ("", "")
        return f"SELECT {key}count(*) AS c, sum(n) AS t, max(n) AS m FROM s {window}{where}{group}"

    def at(self, instant: int, rows: Rows) -> Counter:
        there = [r for r in rows if r[2] <= instant]
        if not there:
            return Counter()
        groups: dict[object, list[int | None]] = {} if self.grouped else {None: []}
        for k, n in self._alive(instant, there):
            if self.least is None or (n is not None and n >= self.least):
                groups.setdefault(k if self.grouped else None, []).append(n)
        found: Counter = Counter()
        for k, values in groups.items():
            known = [n for n in values if n is not None]
            answer = (len(values), sum(known) if known else None, max(known, default=None))
            found[(k, *answer) if self.grouped else answer] += 1
        return found

    def _alive(self, instant: int, there: Rows) -> list[tuple[str | None, int | None]]:
        if self.rows is None:
            return [(k, n) for k, n, ts in there if self.range is None or instant < ts + self.range]
        alive, count = [], Counter()
        for k, n, _ in reversed(there):
            partition = k if self.partitioned else ""
            count[partition] += 1
            if count[partition] <= self.rows:
                alive.append((k, n))
        return alive

    def instants(self, rows: Rows) -> list[int]:
        times = {ts for _, _, ts in rows}
        return sorted(times | ({ts + self.range for ts in times} if self.rows is None and self.range else set()))

    def states(self, rows: Rows) -> list[tuple[int, list[tuple]]]:
        """The rows at each instant from the first row of the stream on."""
        return [(at, list(self.at(at, rows).elements())) for at in self.instants(rows)]

    def entries(self, rows: Rows) -> list[tuple[int, tuple]]:
        """(instant, row) of the rows that enter."""
        found, before = [], Counter()
        for instant in self.instants(rows):
            now = self.at(instant, rows)
            found += [(instant, row) for row in (now - before).elements()]
            before = now
        return found


inners = st.builds(
    Inner,
    st.none() | st.integers(1, 4) | st.integers(1, 4),
    st.none() | st.integers(1, 12),
    st.booleans(),
    st.none() | st.integers(0, 3),
    st.booleans(),
)

OUTERS = {
    "SELECT max(c) AS a, sum(t) AS b, count(*) AS d FROM ({})": lambda rows: [
        (
            max((r[-3] for r in rows), default=None),
            sum(r[-2] for r in rows if r[-2] is not None) if any(r[-2] is not None for r in rows) else None,
            len(rows),
        )
    ],
    "SELECT c, count(*) AS d FROM ({}) GROUP BY c": lambda rows: list(Counter(r[-3] for r in rows).items()),
    "SELECT DISTINCT c, m FROM ({})": lambda rows: list({(r[-3], r[-1]) for r in rows}),
    "SELECT x.c AS a, y.m AS b FROM ({0}) x, ({0}) y WHERE x.c <= y.c": lambda rows: [
        (x[-3], y[-1]) for x in rows for y in rows if x[-3] <= y[-3]
    ],
}


def changes(states: list[tuple[int, Counter]]) -> Counter:
    """(row, sign, instant) of the net changes from state to state."""
    found: Counter = Counter()
    before: Counter = Counter()
    for instant, now in states:
        for row, count in (now - before).items():
            found[*row, 1, instant] += count
        for row, count in (before - now).items():
            found[*row, -1, instant] += count
        before = now
    return found


@pytest.mark.parametrize("outer", OUTERS)
@searching
@given(inners, arrivals(), st.lists(st.integers(1, 5), max_size=8))
def test_what_is_above_is_right_at_every_instant(outer: str, inner: Inner, s: Rows, pieces: list[int]) -> None:
    query = outer.format(inner.sql())
    with session_over({"s": s}, pieces) as session:
        (view,) = session.execute(f"CREATE VIEW v AS {query}")
        assert view.wait(200), query
        got = Counter(view.changes().rows())
        assert not view.late.height
    assert got == changes([(at, Counter(OUTERS[outer](now))) for at, now in inner.states(s)]), query


@searching
@given(inners, arrivals(), st.lists(st.integers(1, 5), max_size=8), st.integers(1, 9), st.integers(1, 9))
def test_windows_are_over_what_enters(inner: Inner, s: Rows, pieces: list[int], length: int, slide: int) -> None:
    queries = (
        f"SELECT sum(c) AS a, count(*) AS d FROM ({inner.sql()}) [RANGE {length} MICROSECONDS SLIDE {slide} MICROSECONDS]",
        f"SELECT sum(c) AS a, count(*) AS d FROM ({inner.sql()}) [RANGE {length} MICROSECONDS]",
        f"SELECT c, count(*) OVER (RANGE {length} MICROSECONDS PRECEDING) AS d FROM ({inner.sql()})",
        f"SELECT count(*) AS d, sum(c) AS a FROM ({inner.sql()}) [SESSION {length} MICROSECONDS]",
        f"SELECT sum(c) AS a, count(*) [RANGE {length} MICROSECONDS SLIDE {slide} MICROSECONDS] AS d FROM ({inner.sql()})",
    )
    with session_over({"s": s}, pieces) as session:
        handles = session.execute(";".join(queries))
        assert all(h.wait(200) for h in handles), inner.sql()
        extents, lately, over, sessions, behind = handles
        assert Counter(behind.to_polars().rows()) == Counter(extents.to_polars().rows()), queries[-1]
        gave = [row for row in extents.to_polars().rows() if row[-1]]
        revised, passed, gaps = Counter(lately.changes().rows()), over.to_polars().rows(), sessions.to_polars().rows()
    entries = inner.entries(s)
    expected = []
    for end in sorted({e for at, _ in entries for e in range(at + 1, at + length + 1) if e % slide == 0}):
        held = [row[-3] for at, row in entries if end - length <= at < end]
        expected.append((end - length, end, sum(held), len(held)))
    assert Counter(gave) == Counter(expected), queries[0]
    states = []
    for instant in sorted({at + d for at, _ in entries for d in (0, length)}):
        alive = [row[-3] for at, row in entries if at <= instant < at + length]
        states.append((instant, Counter([(sum(alive) if alive else None, len(alive))])))
    assert revised == changes(states), queries[1]
    near = [(row[-3], sum(1 for other, _ in entries if at - length <= other <= at)) for at, row in entries]
    assert Counter(passed) == Counter(near), queries[2]
    assert sum(row[-2] for row in gaps) == len(entries), queries[3]


@searching
@given(
    st.lists(inners, min_size=2, max_size=3, unique_by=Inner.window),
    st.none() | st.integers(0, 3),
    st.booleans(),
    arrivals(),
    st.lists(st.integers(1, 5), max_size=8),
)
def test_several_windows_without_slide_say_what_each_says_alone(
    windows: list[Inner], least: int | None, grouped: bool, s: Rows, pieces: list[int]
) -> None:
    windows = [replace(w, least=least, grouped=grouped) for w in windows]
    items = [f"count(*) {w.window()} AS c{i}, max(n) {w.window()} AS m{i}" for i, w in enumerate(windows)]
    key, group = ("k, ", " GROUP BY k") if grouped else ("", "")
    query = f"SELECT {key}{', '.join(items)} FROM s{'' if least is None else f' WHERE n >= {least}'}{group}"
    with session_over({"s": s}, pieces) as session:
        (handle,) = session.execute(query)
        assert handle.wait(200), query
        got = Counter(handle.changes().rows())
    states = []
    for instant in sorted({at for w in windows for at in w.instants(s)}):
        alone = [{row[:-3]: (row[-3], row[-1]) for row in w.at(instant, s)} for w in windows]
        found = dict.fromkeys(k for rows in alone for k in rows)
        nothing = (0, None)
        states.append((instant, Counter((*k, *(v for rows in alone for v in rows.get(k, nothing))) for k in found)))
    assert got == changes(states), query


@searching
@given(
    arrivals(),
    st.lists(st.integers(1, 5), max_size=8),
    st.integers(1, 30),
    st.integers(1, 9),
    st.none() | st.integers(1, 30),
    st.booleans(),
)
def test_a_relation_over_extents_ends_with_the_last_of_these(
    s: Rows, pieces: list[int], length: int, slide: int, lives: int | None, as_view: bool
) -> None:
    inner = f"SELECT k, count(*) AS c FROM s [RANGE {length} MICROSECONDS SLIDE {slide} MICROSECONDS] GROUP BY k"
    window = "" if lives is None else f" [RANGE {lives} MICROSECONDS]"
    text = f"SELECT sum(c) AS a, count(*) AS d FROM ({inner}){window}"
    with session_over({"s": s}, pieces) as session:
        (handle,) = session.execute(f"CREATE VIEW v AS {text}" if as_view else text)
        assert handle.wait(200), text
        got, state = Counter(handle.changes().rows()), handle.to_polars().rows()
        (view,) = session.execute(f"CREATE VIEW w AS {inner}")
        assert view.wait(200)
        newest = Counter(view.to_polars().select("window_end", "k", "c").rows())
    answers = []  # (window_time, k, c)
    for end in axis.ends(s, length, slide):
        counts = Counter(k for k, _, ts in s if end - length <= ts < end)
        answers += [(end - 1, k, c) for k, c in counts.items()]
    states = []
    for instant in sorted({at for at, *_ in answers} | {at + lives for at, *_ in answers if lives}):
        alive = [c for at, _, c in answers if at <= instant and (lives is None or instant < at + lives)]
        states.append((instant, Counter([(sum(alive) if alive else None, len(alive))])))
    assert got == changes(states), text
    last = max((at for at, *_ in answers), default=None)
    assert state == [row for at, now in states if at == last for row in now], text
    assert newest == Counter((at + 1, k, c) for at, k, c in answers if at == last), inner


LOOKED_UP = {
    "SELECT a.n, y.c AS c FROM s {} a JOIN ({}) y ON a.k = y.k": lambda k, n, found: [(n, r[1]) for r in found],
    "SELECT a.n, y.c AS c FROM s {} a LEFT JOIN ({}) y ON a.k = y.k": lambda k, n, found: (
        [(n, r[1]) for r in found] or [(n, None)]
    ),
    "SELECT a.n FROM s {} a WHERE a.k IN (SELECT k FROM ({}) WHERE c > 1)": lambda k, n, found: (
        [(n,)] if any(r[1] > 1 for r in found) else []
    ),
    "SELECT a.n FROM s {} a WHERE NOT EXISTS (SELECT * FROM ({}) y WHERE y.k = a.k)": lambda k, n, found: (
        [] if found else [(n,)]
    ),
}


@pytest.mark.parametrize(("query", "as_view"), thinned(product(LOOKED_UP, [False, True])))
@searching
@given(
    inners.filter(lambda i: i.grouped),
    arrivals(),
    st.lists(st.integers(1, 5), max_size=8),
    st.none() | st.integers(2, 9),
)
def test_rows_that_look_a_live_aggregate_up_are_a_stream_of_what_they_find(
    query: str, as_view: bool, inner: Inner, s: Rows, pieces: list[int], lives: int | None
) -> None:
    window = "[NOW]" if lives is None else f"[RANGE {lives} MICROSECONDS]"
    length = lives or 1
    text = query.format(window, "SELECT * FROM v" if as_view else inner.sql())
    with session_over({"s": s}, pieces) as session:
        if as_view:
            session.execute(f"CREATE VIEW v AS {inner.sql()}")
        (handle,) = session.execute(text)
        assert handle.wait(200), text
        got = Counter(handle.to_polars().rows())
    expected: Counter = Counter()
    before: Counter = Counter()
    times = {ts for *_, ts in s}
    for instant in sorted({*inner.instants(s), *times, *(ts + length for ts in times)}):
        held = inner.at(instant, s)
        now: Counter = Counter()
        for k, n, ts in s:
            if ts <= instant < ts + length:
                found = [r for r in held.elements() if k is not None and r[0] == k]
                now.update(LOOKED_UP[query](k, n, found))
        expected += now - before
        before = now
    assert got == expected, text
