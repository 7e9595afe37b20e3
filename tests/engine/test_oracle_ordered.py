"""CONSTRAINT ORDERED beside another promise changes no answer; rows that break it go to late(name): against brute force."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream import Session
from tests.oracle import axis
from tests.oracle.search import searching

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure

TIMES = st.lists(axis.times(20), min_size=1, max_size=14)


def said_before(times: list[int], at: int, rows: int | None, length: int) -> int | None:
    """What ORDERED WITHIN so many rows, or so many microseconds, has said before a row."""
    before = times[:at] if rows is None else times[: max(0, at - rows)]
    return max(before) - (length if rows is None else 0) if before else None


@searching
@given(
    TIMES, st.lists(st.integers(1, 5), max_size=8), st.integers(0, 12), st.integers(0, 4), st.booleans(), st.booleans()
)
def test_rows_that_break_ordered_are_listed_and_used(
    times: list[int], pieces: list[int], delay: int, within: int, in_rows: bool, windowed: bool
) -> None:
    frame = pl.DataFrame({"id": range(len(times)), "ts": times}, schema={"id": pl.Int64, "ts": pl.Int64})
    cuts, at = [], 0
    for size in [*pieces, len(times)]:
        cuts.append(frame[at : at + size])
        at += size
    ordered = f"CONSTRAINT ORDERED (ts) WITHIN {within} {'ROWS' if in_rows else 'MICROSECONDS'}"
    window = " [RANGE 4 MICROSECONDS TUMBLING]" if windowed else ""
    select = f"SELECT {'count(*) AS n' if windowed else 'id'} FROM s{window}"
    found = []
    for constraint in ("", f", {ordered}"):
        with Session({"rows": lambda: iter(cuts)}) as session:
            session.execute(
                f"CREATE STREAM s (id BIGINT, ts BIGINT, WATERMARK FOR ts AS ts - {delay}{constraint}) SOURCE 'python://rows'"
            )
            (query,) = session.execute(select)
            assert query.wait(200)
            found.append((sorted(query.to_polars().rows()), {row[0]: row[2:] for row in query.late.rows()}))
            assert query.late.height == query.stats["late"] == len(found[-1][1])
    (answers, missed), (same, listed) = found
    assert same == answers
    for number, time in enumerate(times):
        said = said_before(times, number, within if in_rows else None, within)
        promised = max(times[:number], default=times[number]) - delay
        if said is not None and time < said and not (not in_rows and within == delay):
            broke = promised if time < promised else said
            assert listed.pop(number) == (broke, missed.get(number, (None, 0))[1])
        elif number in missed:
            assert listed.pop(number) == missed[number]
    assert not listed
