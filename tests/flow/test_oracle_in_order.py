"""A derived stream with ORDER BY gives rows in the order of their times, late ones aside: against brute force."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream import QueryError, Session
from tests.oracle import axis
from tests.oracle.search import searching

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure

TIMES = st.lists(axis.times(20), max_size=14)
PIECES = st.lists(st.integers(1, 5), max_size=8)


def pieces_of(times: list[int], pieces: list[int]) -> list[pl.DataFrame]:
    frame = pl.DataFrame({"id": range(len(times)), "ts": times}, schema={"id": pl.Int64, "ts": pl.Int64})
    cuts, at = [], 0
    for size in [*pieces, len(times)]:
        cuts.append(frame[at : at + size])
        at += size
    return cuts


@searching
@given(TIMES, PIECES, st.integers(0, 12), st.booleans())
def test_rows_come_in_order_and_late_ones_merge_back(
    times: list[int], pieces: list[int], delay: int, merged: bool
) -> None:
    with Session({"rows": lambda: iter(pieces_of(times, pieces))}) as session:
        session.execute(
            f"CREATE STREAM s (id BIGINT, ts BIGINT, WATERMARK FOR ts AS ts - {delay}) SOURCE 'python://rows';"
            "CREATE STREAM o ORDER BY ts AS SELECT id, ts FROM s;"
            "CREATE STREAM whole ORDER BY ts AS SELECT id, ts FROM o UNION ALL SELECT id, ts FROM late(s)"
        )
        (query,) = session.execute(f"SELECT id, ts FROM {'whole' if merged else 'o'}")
        assert query.wait(200)
        got, missed = query.to_polars().rows(), query.late.select("id").rows()
    late = [i for i, t in enumerate(times) if t < max(times[:i], default=t) - delay]
    assert sorted(missed) == [(i,) for i in late]
    rows = [(i, t) for i, t in enumerate(times) if merged or i not in late]
    assert [t for _, t in got] == sorted(t for _, t in rows)
    assert sorted(got) == rows
    if not merged:
        assert got == sorted(rows, key=lambda row: (row[1], row[0]))


@pytest.mark.parametrize(
    ("column", "select", "says"),
    [
        ("id", "id, ts", "can only be ordered by its time column"),
        ("tz", "id, ts", "no column called tz"),
        ("ts DESC", "ts", "ascending time"),
    ],
)
def test_a_stream_is_put_in_order_of_its_time_alone(column: str, select: str, says: str) -> None:
    with Session({"f": pl.DataFrame({"id": [1], "ts": [2]})}) as session:
        session.execute("CREATE STREAM s (id BIGINT, ts BIGINT) ORDER BY ts SOURCE 'frame://f'")
        with pytest.raises(QueryError, match=says):
            session.execute(f"CREATE STREAM o ORDER BY {column} AS SELECT {select} FROM s")
