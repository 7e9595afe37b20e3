"""Set operations, DISTINCT, views, ISTREAM, DSTREAM and RSTREAM against brute force: the bag at every instant, value by value."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream import Session
from tests.oracle import axis
from tests.oracle.search import searching

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure

Row = tuple[str | None, int | None]
Bag = Counter[Row]
SLACK = 8


@dataclass(frozen=True)
class Leaf:
    """SELECT k, n FROM stream [RANGE d], or [ROWS n], perhaps DISTINCT, perhaps with a condition."""

    stream: str
    range: int | None
    distinct: bool
    least: int | None
    newest: int | None = None

    def sql(self) -> str:
        window = "RANGE UNBOUNDED" if self.range is None else f"RANGE {self.range} MICROSECONDS"
        window = window if self.newest is None else f"ROWS {self.newest}"
        where = "" if self.least is None else f" WHERE n >= {self.least}"
        return f"SELECT {'DISTINCT ' if self.distinct else ''}k, n FROM {self.stream} [{window}]{where}"

    def at(self, instant: int, rows: dict[str, list[tuple[str | None, int | None, int]]]) -> Bag:
        alive = [
            (k, n)
            for k, n, ts in rows[self.stream]
            if ts <= instant and (self.range is None or instant < ts + self.range)
        ]
        if self.newest is not None:
            alive = alive[-self.newest :]
        if self.least is not None:
            alive = [(k, n) for k, n in alive if n is not None and n >= self.least]
        return Counter(set(alive)) if self.distinct else Counter(alive)


@dataclass(frozen=True)
class Both:
    """left OPERATOR right."""

    operator: str
    left: Leaf | Both
    right: Leaf | Both

    def sql(self) -> str:
        return f"({self.left.sql()}) {self.operator} ({self.right.sql()})"

    def at(self, instant: int, rows: dict[str, list[tuple[str | None, int | None, int]]]) -> Bag:
        left, right = self.left.at(instant, rows), self.right.at(instant, rows)
        match self.operator:
            case "UNION ALL":
                return left + right
            case "UNION":
                return Counter(set(left + right))
            case "EXCEPT ALL":
                return left - right
            case "EXCEPT":
                return Counter(set(left) - set(right))
            case "INTERSECT ALL":
                return left & right
        return Counter(set(left) & set(right))


OPERATORS = ("UNION ALL", "UNION", "EXCEPT ALL", "EXCEPT", "INTERSECT ALL", "INTERSECT")
streams, least = st.sampled_from(["s", "t"]), st.none() | st.integers(0, 2)
leaves = st.builds(Leaf, streams, st.none() | st.integers(1, 20), st.booleans(), least) | st.builds(
    Leaf, streams, st.none(), st.booleans(), least, st.integers(1, 4)
)
trees = st.recursive(leaves, lambda inner: st.builds(Both, st.sampled_from(OPERATORS), inner, inner), max_leaves=4)


def data_rows(both: bool) -> st.SearchStrategy[list[tuple[str | None, int | None, int]]]:
    """Rows k, n, ts; `both`: perhaps at both ends of the time axis."""
    ts = axis.times(both=both)
    return st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([0, 1, 2, None]), ts), max_size=12)


@st.composite
def arrivals(draw: st.DrawFn, both: bool = False) -> list[tuple[str | None, int | None, int]]:
    """Rows in an order in which none is late; `both`: perhaps at both ends of the time axis."""
    rows = draw(data_rows(both))
    delays = draw(st.lists(st.integers(0, SLACK), min_size=len(rows), max_size=len(rows)))
    come = [r[2] + d for r, d in zip(rows, delays, strict=True)]
    return [rows[i] for i in sorted(range(len(rows)), key=lambda i: come[i])]


def session_over(rows: dict[str, list[tuple[str | None, int | None, int]]], pieces: list[int]) -> Session:
    """Streams s and t, which bring the rows in batches of those sizes."""

    def batches(name: str) -> object:
        schema = {"k": pl.String(), "n": pl.Int64(), "ts": pl.Int64()}

        def pieces_of() -> object:
            left, sizes = list(rows[name]), list(pieces)
            while left:
                size = sizes.pop(0) if sizes else len(left)
                yield pl.DataFrame(left[:size], schema=schema, orient="row")
                left = left[size:]

        return pieces_of

    session = Session({name: batches(name) for name in rows})
    for name in rows:
        session.execute(
            f"CREATE STREAM {name} (k STRING, n BIGINT, ts BIGINT,"
            f" WATERMARK FOR ts AS ts - INTERVAL {SLACK} MICROSECONDS) SOURCE 'python://{name}'"
        )
    return session


def instants_of(plan: Leaf | Both, rows: dict[str, list[tuple[str | None, int | None, int]]]) -> list[int]:
    if isinstance(plan, Both):
        return sorted({*instants_of(plan.left, rows), *instants_of(plan.right, rows)})
    times = {ts for _, _, ts in rows[plan.stream]}
    return sorted(times | ({ts + plan.range for ts in times} if plan.range is not None else set()))


def changes_of(plan: Leaf | Both, rows: dict[str, list[tuple[str | None, int | None, int]]]) -> Counter[tuple]:
    found: Counter[tuple] = Counter()
    before: Bag = Counter()
    for instant in instants_of(plan, rows):
        now = plan.at(instant, rows)
        for row, count in (now - before).items():
            found[*row, 1, instant] += count
        for row, count in (before - now).items():
            found[*row, -1, instant] += count
        before = now
    return found


@searching
@given(trees, arrivals(both=True), arrivals(both=True), st.lists(st.integers(1, 5), max_size=8))
def test_a_view_holds_what_its_query_holds_at_every_instant(
    plan: Leaf | Both,
    s: list[tuple[str | None, int | None, int]],
    t: list[tuple[str | None, int | None, int]],
    pieces: list[int],
) -> None:
    rows = {"s": s, "t": t}
    with session_over(rows, pieces) as session:
        (view,) = session.execute(f"CREATE VIEW v AS {plan.sql()}")
        assert view.wait(200), plan.sql()
        got = Counter(view.changes().select("k", "n", "op", "at").rows())
        assert got == changes_of(plan, rows), plan.sql()
        read = session.execute("SELECT k, n FROM v")[0]
        assert read.wait(200)
        read_streams = {name for name in rows if f"FROM {name} " in plan.sql()}
        last = max((ts for name in read_streams for _, _, ts in rows[name]), default=None)
        expected = Counter() if last is None else plan.at(last, rows)
        assert Counter(read.to_polars().rows()) == expected, plan.sql()


@searching
@given(trees, arrivals(both=True), arrivals(both=True), st.lists(st.integers(1, 5), max_size=8))
def test_istream_dstream_and_rstream_give_what_enters_leaves_and_is_there(
    plan: Leaf | Both,
    s: list[tuple[str | None, int | None, int]],
    t: list[tuple[str | None, int | None, int]],
    pieces: list[int],
) -> None:
    rows = {"s": s, "t": t}
    changes = changes_of(plan, rows)
    with session_over(rows, pieces) as session:
        handles = session.execute(
            ";".join(f"SELECT {word} k, n FROM ({plan.sql()})" for word in ("ISTREAM", "DSTREAM", "RSTREAM"))
        )
        assert all(h.wait(200) for h in handles)
        entered, left, present = (Counter(h.to_polars().rows()) for h in handles)
    plain = isinstance(plan, Leaf) and not plan.distinct  # a stream's own rows: each enters, whatever leaves just then
    if not plain:
        assert entered == of_sign(changes, 1), plan.sql()
    assert left == of_sign(changes, -1), plan.sql()
    every: Bag = Counter()
    for instant in sorted({at for *_, at in changes}):
        every += plan.at(instant, rows)
    assert present == every, plan.sql()


def of_sign(changes: Counter[tuple], sign: int) -> Bag:
    found: Bag = Counter()
    for (k, n, op, _at), count in changes.items():
        if op == sign:
            found[k, n] += count
    return found


@searching
@given(
    arrivals(both=True),
    arrivals(both=True),
    st.integers(1, 20),
    st.integers(1, 20),
    st.lists(st.integers(1, 5), max_size=8),
    st.booleans(),
)
def test_except_all_on_keeps_the_youngest_left_rows(
    s: list[tuple[str | None, int | None, int]],
    t: list[tuple[str | None, int | None, int]],
    left: int,
    right: int,
    pieces: list[int],
    timed: bool,
) -> None:
    rows = {"s": s, "t": t}
    names = ["k", "ts"] if timed else ["k"]  # without their times, rows that take each other's place are equal
    difference = (
        f"SELECT {', '.join(names)} FROM s [RANGE {left} MICROSECONDS]"
        f" EXCEPT ALL ON (k) SELECT k FROM t [RANGE {right} MICROSECONDS]"
    )
    with session_over(rows, pieces) as session:
        view, *streams = session.execute(
            f"CREATE VIEW v AS {difference};"
            + ";".join(f"SELECT {kind} * FROM ({difference})" for kind in ("ISTREAM", "DSTREAM"))
        )
        assert all(h.wait(200) for h in (view, *streams))
        got = Counter(view.changes().select(*names, "op", "at").rows())
        entered, left_ = (Counter(h.to_polars().rows()) for h in streams)
    ends = {ts + d for name, d in (("s", left), ("t", right)) for _, _, ts in rows[name]}
    expected: Counter[tuple] = Counter()
    come: Counter[tuple] = Counter()
    went: Counter[tuple] = Counter()
    before: Counter[tuple] = Counter()
    for instant in sorted({ts for name in rows for _, _, ts in rows[name]} | ends):
        now: Counter[tuple] = Counter()
        for key in {k for k, _, _ in s}:
            alive = sorted(ts for k, _, ts in s if k == key and ts <= instant < ts + left)
            gone = sum(k == key and ts <= instant < ts + right for k, _, ts in t)
            now.update((key, ts)[: len(names)] for ts in alive[min(gone, len(alive)) :])
        for row, count in (now - before).items():
            expected[*row, 1, instant] += count
        for row, count in (before - now).items():
            expected[*row, -1, instant] += count
        come, went = come + (now - before), went + (before - now)
        before = now
    assert got == expected
    assert (entered, left_) == (come, went)


@searching
@given(trees, arrivals(both=True), arrivals(both=True), st.lists(st.integers(1, 5), max_size=8))
def test_aggregates_over_relations_follow_their_changes(
    plan: Leaf | Both,
    s: list[tuple[str | None, int | None, int]],
    t: list[tuple[str | None, int | None, int]],
    pieces: list[int],
) -> None:
    rows = {"s": s, "t": t}
    aggregates = "count(*) AS c, sum(n) AS total, max(n) AS m, count(DISTINCT n) AS d"
    with session_over(rows, pieces) as session:
        (relation,) = session.execute(f"SELECT k, {aggregates} FROM ({plan.sql()}) GROUP BY k")
        assert relation.wait(200)
        got = Counter(relation.changes().select("k", "c", "total", "m", "d", "op", "at").rows())
    expected: Counter[tuple] = Counter()
    before: set[tuple] = set()
    for instant in instants_of(plan, rows):
        groups: dict[str | None, list[int | None]] = {}
        for k, n in plan.at(instant, rows).elements():
            groups.setdefault(k, []).append(n)
        now = set()
        for k, values in groups.items():
            some = [n for n in values if n is not None]
            now.add((k, len(values), sum(some) if some else None, max(some, default=None), len(set(some))))
        for row in now - before:
            expected[*row, 1, instant] += 1
        for row in before - now:
            expected[*row, -1, instant] += 1
        before = now
    assert got == expected, plan.sql()
