"""Rows of derived streams are numbered in the order of their times, ties by the source's row number: against brute force."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream import Session
from tests.oracle import axis
from tests.oracle.search import searching
from tests.relations.test_oracle_sets import arrivals, session_over

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure

Rows = list[tuple[str | None, int | None, int]]
PIECES = st.lists(st.integers(1, 5), max_size=8)
SELECT = "SELECT k, n FROM s WHERE n >= 1"


def derived(rows: Rows) -> Rows:
    """The rows of the derived stream, in the order they are numbered."""
    return sorted((r for r in rows if r[1] is not None and r[1] >= 1), key=lambda r: r[2])


@searching
@given(arrivals(), PIECES, st.integers(1, 4), st.integers(1, 3), st.booleans(), st.booleans())
def test_windows_of_rows_go_by_time(
    s: Rows, pieces: list[int], held: int, slide: int, apart: bool, named: bool
) -> None:
    source = "d" if named else f"({SELECT})"
    window = f"[{'PARTITION BY k ' if apart else ''}ROWS {held} SLIDE {slide}]"
    with session_over({"s": s}, pieces) as session:
        session.execute(f"CREATE STREAM d AS {SELECT}")
        extents, lately = session.execute(
            f"SELECT sum(n) AS t, count(*) AS c FROM {source} {window};"
            f"SELECT sum(n) AS t, count(*) AS c FROM {source} [{'PARTITION BY k ' if apart else ''}ROWS {held}]"
        )
        assert extents.wait(200) and lately.wait(200)
        got, state = Counter(extents.to_polars().rows()), lately.to_polars().select("t", "c").rows()
    rows = derived(s)
    parts = [[r for r in rows if r[0] == k] for k in {r[0] for r in rows}] if apart else [rows]
    expected: Counter[tuple] = Counter()
    for part in parts:
        for end in range(slide, len(part) + slide, slide):
            inside = part[max(0, end - held) : end]
            if inside:
                bounds = max(1, end - held + 1), min(end, len(part))
                expected[*bounds, sum(n for _, n, _ in inside), len(inside)] += 1  # type: ignore[misc]
    assert got == expected
    newest = [r for part in parts for r in part[-held:]]
    assert state == ([(sum(n for _, n, _ in newest), len(newest))] if newest else [])  # type: ignore[misc]


@searching
@given(arrivals(), PIECES, st.integers(1, 4))
def test_row_num_and_the_newest_rows_of_a_view_go_by_time(s: Rows, pieces: list[int], held: int) -> None:
    with session_over({"s": s}, pieces) as session:
        session.execute(f"CREATE STREAM d AS {SELECT}; CREATE STREAM e AS SELECT k, n FROM d WHERE n = 2")
        numbers, view, above = session.execute(
            f"SELECT k, n, row_num FROM d; CREATE VIEW v AS SELECT k, n FROM d [ROWS {held}]; SELECT row_num FROM e"
        )
        assert all(h.wait(200) for h in (numbers, view, above))
        got, newest = Counter(numbers.to_polars().rows()), Counter(view.to_polars().rows())
        assert sorted(above.to_polars().rows()) == [(i + 1,) for i in range(sum(n == 2 for _, n, _ in s))]
    rows = derived(s)
    assert got == Counter((k, n, i + 1) for i, (k, n, _) in enumerate(rows))
    assert newest == Counter((k, n) for k, n, _ in rows[-held:])


@searching
@given(st.lists(axis.times(20), max_size=14), PIECES)
def test_late_rows_get_the_same_numbers_however_rows_are_batched(times: list[int], pieces: list[int]) -> None:
    """A late row comes behind those whose time was over when it came."""
    frame = pl.DataFrame({"id": range(len(times)), "ts": times}, schema={"id": pl.Int64, "ts": pl.Int64})
    cuts, at = [], 0
    for size in [*pieces, len(times)]:
        cuts.append(frame[at : at + size])
        at += size
    with Session({"rows": lambda: iter(cuts)}) as session:
        session.execute("CREATE STREAM s (id BIGINT, ts BIGINT) ORDER BY ts SOURCE 'python://rows'")
        (query,) = session.execute("CREATE STREAM d AS SELECT id FROM s; SELECT id, row_num FROM d")[-1:]
        assert query.wait(200)
        got = [row for row, _ in sorted(query.to_polars().rows(), key=lambda r: r[1])]
    promised = [max(times[:i], default=t) for i, t in enumerate(times)]
    order = sorted(range(len(times)), key=lambda i: (max(times[i], promised[i]), times[i] >= promised[i], i))
    assert got == order


@searching
@given(arrivals(), PIECES, st.integers(1, 4))
def test_a_select_in_from_counts_by_time_and_a_windows_own_where_by_arrival(
    s: Rows, pieces: list[int], held: int
) -> None:
    with session_over({"s": s}, pieces) as session:
        numbers, view, plain, extents, own = session.execute(
            "SELECT k, n, row_num FROM (SELECT * FROM s WHERE n >= 1) x;"
            f"CREATE VIEW v AS SELECT k, n FROM (SELECT * FROM s WHERE n >= 1) [ROWS {held}];"
            f"CREATE VIEW w AS SELECT k, n FROM (SELECT * FROM s) [ROWS {held}];"
            f"SELECT sum(n) [ROWS {held} SLIDE 1] AS t FROM (SELECT * FROM s WHERE n >= 1);"
            f"SELECT k, sum(n) AS t FROM s [PARTITION BY k ROWS {held} SLIDE 1 WHERE n >= 1] GROUP BY k"
        )
        assert all(h.wait(200) for h in (numbers, view, plain, extents, own))
        got = [Counter(h.to_polars().rows()) for h in (numbers, view, plain, extents, own)]
    rows, every = derived(s), sorted(s, key=lambda r: r[2])
    assert got[0] == Counter((k, n, i + 1) for i, (k, n, _) in enumerate(rows))
    assert got[1] == Counter((k, n) for k, n, _ in rows[-held:])
    assert got[2] == Counter((k, n) for k, n, _ in every[-held:])
    assert got[3] == sums(rows, held)
    kept = [r for r in s if r[1] is not None and r[1] >= 1]  # as they came
    of_keys: Counter[tuple] = Counter()
    for key in {k for k, _, _ in kept}:
        for (start, end, total), times in sums([r for r in kept if r[0] == key], held).items():
            of_keys[start, end, key, total] += times
    assert got[4] == of_keys


def sums(rows: Rows, held: int) -> Counter[tuple]:
    """Of each row and those before it: the numbers of the first and the last, and the sum of n."""
    inside = [(max(1, i + 2 - held), i + 1, rows[max(0, i + 1 - held) : i + 1]) for i in range(len(rows))]
    return Counter((first, last, sum(n for _, n, _ in some)) for first, last, some in inside)  # type: ignore[misc]
