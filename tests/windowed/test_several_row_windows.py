"""Several windows of rows that end with the same rows, in one query, against a count by hand."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream import Session
from jupyter_stream.errors import QueryError
from tests.oracle import axis
from tests.oracle.search import searching

Rows = list[tuple[str, int, int]]


def by_hand(rows: Rows, lengths: list[int], slide: int, partition: bool, least: int) -> Counter[tuple[object, ...]]:
    """Bounds, k, then count(*) and sum(x) over each of the windows: of every extent and k of which the longest has rows."""
    found: Counter[tuple[object, ...]] = Counter()
    parts = [[r for r in rows if r[0] == k] for k in sorted({r[0] for r in rows})] if partition else [rows]
    for part in parts:
        end = slide
        while end - slide < len(part):
            held = [[r for r in part[max(0, end - n) : end] if r[1] >= least] for n in lengths]
            longest = held[lengths.index(max(lengths))]
            for k in {r[0] for r in longest}:
                of_k = [[r[1] for r in one if r[0] == k] for one in held]
                answers = [v for one in of_k for v in (len(one), sum(one) if one else None)]
                found[(max(1, end - max(lengths) + 1), min(end, len(part)), k, *answers)] += 1
            end += slide
    return found


@searching
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(-3, 9)), max_size=30),
    st.lists(st.integers(1, 9), min_size=2, max_size=3),
    st.integers(1, 6),
    st.booleans(),
    st.sampled_from([-9, 0, 4]),
    st.integers(1, 31),
    axis.base,
)
def test_several_windows_of_rows_give_what_each_gives_alone(
    drawn: list[tuple[str, int]], lengths: list[int], slide: int, partition: bool, least: int, size: int, base: int
) -> None:
    rows: Rows = [(k, x, base + at) for at, (k, x) in enumerate(drawn)]
    by = "PARTITION BY k " if partition else ""
    items = [
        f"{call} [{by}ROWS {n} SLIDE {slide}] AS {name}{i}"
        for i, n in enumerate(lengths)
        for call, name in (("count(*)", "c"), ("sum(x)", "s"))
    ]
    text = f"SELECT k, {', '.join(items)} FROM s WHERE x >= {least} GROUP BY k"
    frame = pl.DataFrame(rows, schema={"k": pl.String, "x": pl.Int64, "ts": pl.Int64}, orient="row")
    with Session({"rows": [frame[i : i + size] for i in range(0, len(rows), size)]}) as session:
        session.execute("CREATE STREAM s (k STRING, x BIGINT, ts BIGINT) ORDER BY ts SOURCE 'python://rows'")
        (query,) = session.execute(text)
        assert query.wait(200) and query.status == "finished"
        assert Counter(query.to_polars().rows()) == by_hand(rows, lengths, slide, partition, least), text


def test_extents_of_which_only_longer_windows_hold_rows_have_a_count_of_nothing() -> None:
    with Session({"rows": [(i, i) for i in range(1, 8)]}) as session:
        session.execute("CREATE STREAM s (x BIGINT, ts BIGINT) ORDER BY ts SOURCE 'python://rows'")
        (query,) = session.execute("SELECT count(*) [ROWS 1 SLIDE 4] AS few, sum(x) [ROWS 6 SLIDE 4] AS many FROM s")
        assert query.wait(200)
        assert query.to_polars().rows() == [(1, 4, 1, 10), (3, 7, 0, 25)]


@pytest.mark.parametrize(
    "other", ["[ROWS 6 SLIDE 3]", "[PARTITION BY x ROWS 6 SLIDE 4]", "[ROWS 6]", "[RANGE 6 SECONDS SLIDE 4 SECONDS]"]
)
def test_windows_of_rows_that_end_elsewhere_are_refused_with_what_to_write(other: str) -> None:
    with Session({"rows": []}) as session:
        session.execute("CREATE STREAM s (x BIGINT, ts BIGINT) ORDER BY ts SOURCE 'python://rows'")
        with pytest.raises(QueryError, match=r"don't end with the same rows|give answers at different times") as raised:
            session.execute(f"SELECT count(*) [ROWS 1 SLIDE 4] AS few, sum(x) {other} AS many FROM s")
        assert raised.value.hint
