"""Joins of relations against brute force: the pairs at every instant; and what a retroactive table makes of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jupyter_stream import QueryError, Session
from tests.oracle.search import searching
from tests.relations.test_oracle_sets import Both, Leaf, arrivals, instants_of, session_over, trees

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure

Rows = list[tuple[str | None, int | None, int]]
KINDS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")


def joined(kind: str, left: Counter, right: Counter, residual: bool) -> Counter:
    def meets(a: tuple, b: tuple) -> bool:
        if a[0] is None or a[0] != b[0]:
            return False
        return not residual or (a[1] is not None and b[1] is not None and a[1] <= b[1])

    found: Counter = Counter()
    lone_right = Counter(right)
    for a, many in left.items():
        partners = {b: count for b, count in right.items() if meets(a, b)}
        for b in partners:
            lone_right.pop(b, None)
        if kind == "LEFT SEMI JOIN":
            found[a] += many if partners else 0
        elif kind == "LEFT ANTI JOIN":
            found[a] += 0 if partners else many
        else:
            for b, count in partners.items():
                found[*a, *b] += many * count
            if not partners and kind in ("LEFT JOIN", "FULL JOIN"):
                found[*a, None, None] += many
    if kind in ("RIGHT JOIN", "FULL JOIN"):
        for b, count in lone_right.items():
            found[None, None, *b] += count
    return +found


@searching
@given(
    trees,
    trees,
    arrivals(both=True),
    arrivals(both=True),
    st.lists(st.integers(1, 5), max_size=8),
    st.sampled_from(KINDS),
    st.booleans(),
)
def test_a_join_of_relations_is_right_at_every_instant(
    one: Leaf | Both, two: Leaf | Both, s: Rows, t: Rows, pieces: list[int], kind: str, residual: bool
) -> None:
    rows = {"s": s, "t": t}
    columns = "a.k, a.n" if "SEMI" in kind or "ANTI" in kind else "a.k, a.n, b.k AS l, b.n AS m"
    on = "a.k = b.k" + (" AND a.n <= b.n" if residual else "")
    query = f"SELECT {columns} FROM ({one.sql()}) a {kind} ({two.sql()}) b ON {on}"
    with session_over(rows, pieces) as session:
        (view,) = session.execute(f"CREATE VIEW v AS {query}")
        assert view.wait(200), query
        got = Counter(view.changes().rows())
    expected: Counter = Counter()
    before: Counter = Counter()
    for instant in sorted({*instants_of(one, rows), *instants_of(two, rows)}):
        now = joined(kind, one.at(instant, rows), two.at(instant, rows), residual)
        for row, count in (now - before).items():
            expected[*row, 1, instant] += count
        for row, count in (before - now).items():
            expected[*row, -1, instant] += count
        before = now
    assert got == expected, query


@searching
@given(
    arrivals(both=True),
    arrivals(both=True),
    st.lists(st.integers(1, 5), max_size=8),
    st.integers(1, 15),
    st.integers(1, 15),
    st.sampled_from(KINDS[:4]),
    st.booleans(),
)
def test_aggregates_over_joins_of_windows_are_relations(
    s: Rows, t: Rows, pieces: list[int], left: int, right: int, kind: str, grouped: bool
) -> None:
    rows = {"s": s, "t": t}
    one, two = Leaf("s", left, False, None), Leaf("t", right, False, None)
    windows = f"s [RANGE {left} MICROSECONDS] a {kind} t [RANGE {right} MICROSECONDS] b ON a.k = b.k"
    keys, by = ("a.n AS g, ", " GROUP BY a.n") if grouped else ("", "")
    with session_over(rows, pieces) as session:
        (relation,) = session.execute(f"SELECT {keys}count(*) AS c, max(b.n) AS m FROM {windows}{by}")
        assert relation.wait(200)
        got = Counter(relation.changes().rows())
    expected: Counter = Counter()
    before: Counter = Counter()
    began = min((ts for _, _, ts in [*s, *t]), default=None)
    for instant in sorted({*instants_of(one, rows), *instants_of(two, rows)}):
        groups: dict[tuple, list] = {} if grouped or began is None or instant < began else {(): []}
        for row, count in joined(kind, one.at(instant, rows), two.at(instant, rows), False).items():
            groups.setdefault((row[1],) if grouped else (), []).extend([row[3]] * count)
        now = Counter(
            (*key, len(values), max((v for v in values if v is not None), default=None))
            for key, values in groups.items()
        )
        for row, count in (now - before).items():
            expected[*row, 1, instant] += count
        for row, count in (before - now).items():
            expected[*row, -1, instant] += count
        before = now
    assert got == expected


steps = st.lists(st.tuples(st.sampled_from(["insert", "delete"]), st.sampled_from(["a", "b", "c"])), max_size=6)


@searching
@given(arrivals(), st.lists(st.integers(1, 5), max_size=8), steps, steps)
def test_changes_of_a_retroactive_table_revise_what_was_joined_before(
    s: Rows, pieces: list[int], early: list[tuple[str, str]], late: list[tuple[str, str]]
) -> None:
    blocked: Counter = Counter()

    def change(session: Session, verb: str, key: str) -> None:
        if verb == "insert":
            session.execute(f"INSERT INTO blocked VALUES ('{key}')")
            blocked[key] += 1
        else:
            session.execute(f"DELETE FROM blocked WHERE k = '{key}'")
            blocked.pop(key, None)

    with session_over({"s": s}, pieces) as session:
        session.execute("CREATE RETROACTIVE TABLE blocked (k STRING)")
        for verb, key in early:
            change(session, verb, key)
        pairs, lone, count = session.execute(
            "SELECT s.k, n FROM s JOIN blocked b ON s.k = b.k;"
            "SELECT k, n FROM s WHERE k NOT IN (SELECT k FROM blocked);"
            "SELECT count(*) AS c FROM s, blocked WHERE s.k = blocked.k"
        )
        for handle in (pairs, lone, count):
            assert handle.wait(200)
        for step in [None, *late]:
            if step is not None:
                change(session, *step)
            expected = Counter({(k, n): 0 for k, n, _ in s})
            expected.update((k, n) for k, n, _ in s for _ in range(blocked[k]))
            assert Counter(pairs.to_polars().rows()) == +expected
            alone = [(k, n) for k, n, _ in s if not +blocked or (k is not None and not blocked[k])]
            assert Counter(lone.to_polars().rows()) == Counter(alone)
            assert count.to_polars().rows() == ([(sum(expected.values()),)] if s else [])
            assert pairs.status in ("running", "waiting"), "it goes on following the table"


def test_a_table_takes_part_in_joins_of_relations_and_its_rows_are_not_kept_alone() -> None:
    rows: Rows = [("a", 1, 0), ("b", 2, 5), ("a", 3, 9)]
    with session_over({"s": rows}, []) as session:
        session.execute("CREATE TABLE names (k STRING, name STRING); INSERT INTO names VALUES ('a', 'Alpha')")
        counted = "(SELECT k, count(*) AS c FROM s GROUP BY k) q"
        (handle,) = session.execute(f"SELECT name, c FROM {counted} LEFT JOIN names ON q.k = names.k")
        assert handle.wait(200)
        assert sorted(handle.to_polars().rows(), key=repr) == [("Alpha", 2), (None, 1)]
        with pytest.raises(QueryError, match="a right join that keeps the rows of a table isn't available"):
            session.execute(f"SELECT name, c FROM {counted} RIGHT JOIN names ON q.k = names.k")
        with pytest.raises(QueryError, match=r"\[SESSION 1 SECOND\] ends with rows"):
            session.execute(f"SELECT c FROM s [SESSION 1 SECOND] t JOIN {counted} ON q.k = t.k")


@dataclass(frozen=True)
class Side:
    """A stream under `[RANGE d]`, or its newest rows, of each key where it is partitioned."""

    stream: str
    range: int | None
    rows: int
    partitioned: bool

    def sql(self) -> str:
        if self.range is not None:
            return f"{self.stream} [RANGE {self.range} MICROSECONDS]"
        return f"{self.stream} [{'PARTITION BY k ' if self.partitioned else ''}ROWS {self.rows}]"

    def at(self, instant: int, rows: dict[str, Rows]) -> Counter:
        there = [r for r in rows[self.stream] if r[2] <= instant]
        if self.range is not None:
            return Counter((k, n) for k, n, ts in there if instant < ts + self.range)
        alive, count = [], Counter()
        for k, n, _ in reversed(there):
            partition = k if self.partitioned else ""
            count[partition] += 1
            if count[partition] <= self.rows:
                alive.append((k, n))
        return Counter(alive)

    def instants(self, rows: dict[str, Rows]) -> set[int]:
        times = {ts for _, _, ts in rows[self.stream]}
        return times | ({ts + self.range for ts in times} if self.range is not None else set())


def sides(stream: str) -> st.SearchStrategy[Side]:
    ranges = st.none() | st.none() | st.integers(1, 12)
    return st.builds(Side, st.just(stream), ranges, st.integers(1, 4), st.booleans())


@searching
@given(
    sides("s"),
    sides("t"),
    arrivals(both=True),
    arrivals(both=True),
    st.lists(st.integers(1, 5), max_size=8),
    st.sampled_from(KINDS),
    st.booleans(),
)
def test_a_join_of_the_newest_rows_is_right_at_every_instant(
    one: Side, two: Side, s: Rows, t: Rows, pieces: list[int], kind: str, residual: bool
) -> None:
    assume(one.range is None or two.range is None)
    rows = {"s": s, "t": t}
    columns = "a.k, a.n" if "SEMI" in kind or "ANTI" in kind else "a.k, a.n, b.k AS l, b.n AS m"
    on = "a.k = b.k" + (" AND a.n <= b.n" if residual else "")
    query = f"SELECT {columns} FROM {one.sql()} a {kind} {two.sql()} b ON {on}"
    with session_over(rows, pieces) as session:
        view, stream = session.execute(f"CREATE VIEW v AS {query}; {query}")
        assert view.wait(200) and stream.wait(200), query
        got, entered = Counter(view.changes().rows()), Counter(stream.to_polars().rows())
        for handle in (view, stream):
            assert not handle.late.height
    expected: Counter = Counter()
    before: Counter = Counter()
    for instant in sorted(one.instants(rows) | two.instants(rows)):
        now = joined(kind, one.at(instant, rows), two.at(instant, rows), residual)
        for row, count in (now - before).items():
            expected[*row, 1, instant] += count
        for row, count in (before - now).items():
            expected[*row, -1, instant] += count
        before = now
    assert got == expected, query
    come: Counter = Counter()
    for (*row, sign, _), count in expected.items():
        come[tuple(row)] += count if sign > 0 else 0
    assert entered == +come, query


@searching
@given(
    sides("s"),
    trees,
    arrivals(both=True),
    arrivals(both=True),
    st.lists(st.integers(1, 5), max_size=8),
    st.sampled_from([k for k in KINDS if "RIGHT" not in k]),
)
def test_a_join_of_a_stream_with_a_view_follows_the_view(
    one: Side, two: Leaf | Both, s: Rows, t: Rows, pieces: list[int], kind: str
) -> None:
    rows = {"s": s, "t": t}
    columns = "a.k, a.n" if "SEMI" in kind or "ANTI" in kind else "a.k, a.n, b.k AS l, b.n AS m"
    query = f"SELECT {columns} FROM {one.sql()} a {kind} v b ON a.k = b.k"
    with session_over(rows, pieces) as session:
        session.execute(f"CREATE VIEW v AS {two.sql()}")
        (view,) = session.execute(f"CREATE VIEW w AS {query}")
        assert view.wait(200), query
        got = Counter(view.changes().rows())
    expected: Counter = Counter()
    before: Counter = Counter()
    for instant in sorted({*one.instants(rows), *instants_of(two, rows)}):
        now = joined(kind, one.at(instant, rows), two.at(instant, rows), False)
        for row, count in (now - before).items():
            expected[*row, 1, instant] += count
        for row, count in (before - now).items():
            expected[*row, -1, instant] += count
        before = now
    assert got == expected, f"{query} {two.sql()}"


@pytest.mark.parametrize(
    ("source", "message", "hint"),
    [
        ("t [ROWS 2] b JOIN s a ON a.k = b.k", "this input has no window", "[NOW]"),
        (
            "s [NOW] a JOIN (SELECT k, count(*) AS n FROM t [RANGE 5 MICROSECONDS TUMBLING] GROUP BY k) [ROWS 2] b ON a.k = b.k",
            "rows of this input have no order of arrival",
            "[RANGE 5 MINUTES]",
        ),
        (
            "s [ROWS 4 SLIDE 2] a JOIN t [ROWS 2] b ON a.k = b.k",
            "[ROWS 4 SLIDE 2] ends with rows",
            "or [ROWS 5]",
        ),
    ],
)
def test_a_join_of_newest_rows_that_cannot_be_says_why(source: str, message: str, hint: str) -> None:
    with session_over({"s": [], "t": []}, []) as session, pytest.raises(QueryError) as wrong:
        session.execute(f"SELECT a.k FROM {source}")
    assert message in wrong.value.message and hint in (wrong.value.hint or "")
