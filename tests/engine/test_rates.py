"""What a query has measured of its streams is of now while it runs, and what it was when it has ended."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import datetime, timedelta

import polars as pl

from jupyter_stream.session.session import Session
from tests.waiting import until

START = datetime(2024, 1, 1)


def rows(seconds: range, each: int) -> pl.DataFrame:
    """So many rows in each of some seconds."""
    return pl.DataFrame({"ts": [START + timedelta(seconds=s) for s in seconds for _ in range(each)]})


def test_rates_are_of_now_until_the_query_has_ended() -> None:
    more = threading.Event()

    def given() -> Iterator[pl.DataFrame]:
        yield rows(range(11), 1)
        more.wait(600)
        yield rows(range(11, 21), 9)

    with Session({"given": given}) as session:
        session.run("CREATE STREAM s (ts TIMESTAMP) ORDER BY ts SOURCE 'python://given'")
        (query,) = session.execute("SELECT ts FROM s WHERE ts IS NOT NULL")
        pipeline = query._pipeline
        until(lambda: pipeline.rates.streams == {"s": 1.1})
        more.set()
        assert query.wait(200)
        assert pipeline.rates.streams == {"s": 101 / 20} == pipeline.rates.streams
        assert list(pipeline.rates.passed.values()) == [1.0]
