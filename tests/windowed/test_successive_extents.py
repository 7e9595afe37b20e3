"""ISTREAM and DSTREAM of windows of rows and of those that slide by rows: extents compared one by one are the oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise, product

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream import Session
from jupyter_stream.errors import QueryError, UnsupportedError
from tests.oracle import axis
from tests.oracle.search import searching
from tests.tiers import thinned

Row = tuple[int, str | None, int | None]
Extent = tuple[object, object, list[Row]]
ROWS = st.lists(
    st.tuples(axis.times(20), st.sampled_from(["a", "b", None]), st.none() | st.integers(0, 4)), max_size=25
)
SHIFT = 6
"""How far behind a row may be, microseconds."""


def of_rows(rows: list[Row], held: int, slide: int) -> Iterator[Extent]:
    """The extents of [ROWS held SLIDE slide]."""
    for end in range(slide, len(rows) + slide, slide):
        first = max(1, end - held + 1)
        if first <= len(rows):
            yield first, min(end, len(rows)), rows[first - 1 : end]


def of_tuples(rows: list[Row], length: int, every: int) -> Iterator[Extent]:
    """The extents of [RANGE length SLIDE every ROWS], those that are equal once."""
    for end in sorted({t for i, (t, _, _) in enumerate(rows, 1) if i % every == 0}):
        yield end - length, end, [r for r in rows if end - length < r[0] <= end]


def compared(
    extents: Iterable[Extent], of: Callable[[list[Row]], Iterable[tuple[object, ...]]], kind: str
) -> Counter[tuple[object, ...]]:
    """What is new in each extent, or gone from it."""
    found: Counter[tuple[object, ...]] = Counter()
    for (_, _, before), (start, end, now) in pairwise([(None, None, []), *extents]):
        more, less = (now, before) if kind == "ISTREAM" else (before, now)
        for value, copies in (Counter(of(more)) - Counter(of(less))).items():
            found[(start, end, *value)] += copies
    return found


def by_key(rows: list[Row]) -> Iterator[tuple[object, ...]]:
    counts = Counter(k for _, k, _ in rows)
    yield from counts.items()


SELECTS: dict[str, Callable[[list[Row]], Iterable[tuple[object, ...]]]] = {
    "k, v FROM {}": lambda rows: [(k, v) for _, k, v in rows],
    "DISTINCT k FROM {}": lambda rows: {(k,) for _, k, _ in rows},
    "k, count(*) AS n FROM {} GROUP BY k": by_key,
    "k FROM {} GROUP BY k HAVING count(*) > 2": lambda rows: [(k,) for k, n in by_key(rows) if n > 2],  # type: ignore[operator]
}


def run(rows: list[Row], text: str) -> Counter[tuple[object, ...]]:
    schema = {"ts": pl.Int64, "k": pl.String, "v": pl.Int64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    with Session({"rows": frame}) as session:
        session.execute(
            f"CREATE STREAM s (WATERMARK FOR ts AS ts - INTERVAL {SHIFT} MICROSECONDS) SOURCE 'frame://rows'"
        )
        (query,) = session.execute(text)
        assert query.wait(200)
        return Counter(query.to_polars().rows())


@pytest.mark.parametrize(("kind", "select"), thinned(product(["ISTREAM", "DSTREAM"], SELECTS)))
@searching
@given(ROWS, st.integers(1, 6), st.integers(1, 4))
def test_windows_of_rows(kind, select, rows, held, slide):
    got = run(rows, f"SELECT {kind} " + select.replace("{}", f"s [ROWS {held} SLIDE {slide}]"))
    assert got == compared(of_rows(rows, held, slide), SELECTS[select], kind)


@pytest.mark.parametrize("kind", ["ISTREAM", "DSTREAM"])
@searching
@given(ROWS, st.integers(1, 6), st.integers(1, 4))
def test_windows_of_rows_in_partitions(kind, rows, held, slide):
    got = run(rows, f"SELECT {kind} v FROM s [PARTITION BY k ROWS {held} SLIDE {slide}]")
    expected: Counter[tuple[object, ...]] = Counter()
    for key in {k for _, k, _ in rows}:
        extents = of_rows([r for r in rows if r[1] == key], held, slide)
        expected += compared(extents, lambda held: [(v,) for _, _, v in held], kind)
    assert got == expected


@pytest.mark.parametrize("kind", ["ISTREAM", "DSTREAM"])
@searching
@given(ROWS, st.integers(1, 6), st.integers(1, 4))
def test_where_may_leave_an_extent_without_rows(kind, rows, held, slide):
    got = run(rows, f"SELECT {kind} v FROM s [ROWS {held} SLIDE {slide}] WHERE v > 2")
    extents = list(of_rows(rows, held, slide))
    passing = [any(v is not None and v > 2 for *_, v in inside) for *_, inside in extents]
    until = max((i for i, passes in enumerate(passing) if passes), default=-1)  # after it nothing is looked at
    expected = compared(extents[: until + 1], lambda held: [(v,) for *_, v in held if v is not None and v > 2], kind)
    assert got == expected


def test_what_left_with_an_empty_extent_is_told_when_the_next_extent_comes_in_another_batch():
    rows: list[Row] = [(i, None, 3 if i == 4 else 4 if i == 11 else 0) for i in range(1, 15)]
    assert run(rows, "SELECT DSTREAM v FROM s [ROWS 5 SLIDE 3] WHERE v > 2") == {(5, 9, 3): 1}


@pytest.mark.parametrize(("kind", "select"), thinned(product(["ISTREAM", "DSTREAM"], SELECTS)))
@searching
@given(ROWS, st.integers(1, 9), st.integers(1, 3), axis.base)
def test_windows_that_slide_by_rows(kind, select, rows, length, every, base):
    rows = [(base + i + t % SHIFT, k, v) for i, (t, k, v) in enumerate(rows)]  # none is late
    got = run(rows, f"SELECT {kind} " + select.replace("{}", f"s [RANGE {length} MICROSECONDS SLIDE {every} ROWS]"))
    assert got == compared(of_tuples(rows, length, every), SELECTS[select], kind)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "DISTINCT k FROM s [ROWS 3 SLIDE 1] GROUP BY k HAVING count(*) > 1",
            "can't have HAVING together with DISTINCT or LIMIT",
        ),
        ("collect_list(v) AS l FROM s [ROWS 3 SLIDE 1]", "compares rows, and l is"),
        ("k, max(v) OVER (PARTITION BY k) FROM s [RANGE 2 SECONDS SLIDE 3 ROWS]", "combined with a window function"),
    ],
)
def test_what_cannot_be_compared_is_refused(text: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message) as wrong:
        run([(1, "a", 1)], f"SELECT ISTREAM {text}")
    assert isinstance(wrong.value, QueryError) and wrong.value.column == 8
