"""Constraints save state, by their bytes, and change no answer."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import polars as pl
import pytest

from jupyter_stream import Query, Session
from jupyter_stream.engine import feed
from tests.engine.live import go_side_by_side
from tests.tiers import slow

ORDERS, EACH, AT_ONCE = 8_000, 4, 400
CLUSTERED = ", CONSTRAINT CLUSTERED (k) WITHIN 8 ROWS"
QUERIES = {
    "group-by": "SELECT k, sum(n) AS t FROM s [RANGE 1 HOUR TUMBLING] GROUP BY k",
    "join": "SELECT a.k, a.n AS x, b.n AS y FROM s [RANGE 1 HOUR] a JOIN r [RANGE 1 HOUR] b ON a.k = b.k",
}


def rows() -> pl.DataFrame:
    """Orders of four rows each, two orders at a time, a row every millisecond."""
    many = ORDERS * EACH
    numbers = pl.int_range(many, eager=True)
    order = numbers // (2 * EACH) * 2 + numbers % 2
    return pl.DataFrame({"ts": numbers * 1_000, "k": order, "n": numbers % 7})


def told(query: str, constraint: str) -> tuple[list[tuple[object, ...]], int, int]:
    """Answers, the most bytes any time, rows that broke a constraint."""

    def some() -> Iterator[pl.DataFrame]:
        yield from rows().iter_slices(AT_ONCE)

    with Session({"s": some, "r": some}) as session, patch.object(feed, "BATCH_ROWS", 0):
        for name in "sr":
            session.execute(
                f"CREATE STREAM {name} (ts BIGINT, k BIGINT, n BIGINT, WATERMARK FOR ts AS ts{constraint})"
                f" SOURCE 'python://{name}'"
            )
        (handle,) = session.execute(query, paused=True)
        assert isinstance(handle, Query)
        go_side_by_side(handle, ORDERS * EACH * len(handle.stats["queues"]))
        assert handle.wait(200)
        peak = max(table["peak_bytes"] for table in handle.stats["operators"])
        return sorted(handle.to_polars().rows()), peak, handle.late.height


@slow
@pytest.mark.parametrize(("query", "times"), [("group-by", 4.0), ("join", 1.5)])
def test_a_clustered_stream_leaves_a_query_less_to_hold_and_the_same_to_answer(query: str, times: float) -> None:
    answers, bytes_held, late = told(QUERIES[query], CLUSTERED)
    others, more_held, _ = told(QUERIES[query], "")
    assert answers == others and late == 0 and len(answers) >= ORDERS
    assert times * bytes_held < more_held
