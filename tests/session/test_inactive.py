"""Queries that are inactive hold nothing; active again, their answers are exact from the time that is said."""

import queue
from collections.abc import Iterator
from datetime import datetime

import polars as pl
import pytest

from jupyter_stream import QueryError, Session, UnsupportedError
from jupyter_stream.plan.refill import refill
from jupyter_stream.session.query import Query
from tests.waiting import settle, until

COUNT = "SELECT k, count(*) AS n FROM s [RANGE 10 MICROSECONDS TUMBLING] GROUP BY k"


class Live:
    """A session over a stream whose rows come when a test gives them; another query reads it all the time."""

    def __init__(self) -> None:
        self._rows: queue.SimpleQueue[list[dict[str, int]] | None] = queue.SimpleQueue()
        self.given: list[tuple[int, int]] = []
        self.session = Session({"rows": self._generated(), "old": pl.DataFrame({"ts": range(1000), "k": range(1000)})})
        self.session.execute(
            "CREATE STREAM s (ts BIGINT, k BIGINT, WATERMARK FOR ts AS ts - INTERVAL 2 MICROSECONDS) SOURCE 'python://rows'"
        )
        self.all = self.query("SELECT ts, k FROM s", "all")

    def _generated(self) -> Iterator[dict[str, int]]:
        while (rows := self._rows.get()) is not None:
            yield from rows

    def close(self) -> None:
        self.session.close()
        self._rows.put(None)  # what waits for rows ends

    def query(self, text: str, name: str) -> Query:
        (found,) = self.session.execute(text, name=name)
        assert isinstance(found, Query)
        return found

    def give(self, *rows: tuple[int, int]) -> None:
        """Rows (ts, k), and wait until all queries have taken them."""
        self.given += rows
        self._rows.put([{"ts": ts, "k": k} for ts, k in rows])
        until(lambda: self.all.to_polars().height == len(self.given))
        settle(self.session.engine)


@pytest.fixture
def live() -> Iterator[Live]:
    made = Live()
    yield made
    made.close()


def brute(rows: list[tuple[int, int]], end: int) -> dict[int, int]:
    """Counts by k of the extent that ends there."""
    ks = [k for ts, k in rows if end - 10 <= ts < end]
    return {k: ks.count(k) for k in set(ks)}


def test_answers_are_exact_from_the_time_that_is_said_and_not_before(live: Live) -> None:
    count = live.query(COUNT, "count")
    live.give(*((ts, ts % 3) for ts in range(25)))
    before = count.to_polars()
    assert before["window_end"].max() == 20 and count.stats["state_bytes"] > 0
    count.deactivate()
    assert (count.status, count.stats["state_bytes"], count.exact_from) == ("inactive", 0, None)
    assert count.snapshot(10).state == "inactive"
    live.give(*((ts, ts % 3) for ts in range(25, 43)))
    assert count.to_polars().equals(before)  # nothing was kept up, nothing lost
    assert count.activate() is count
    live.give((44, 2), (43, 1), *((ts, ts % 3) for ts in range(45, 90)))
    assert count.status == "running"
    assert count.exact_from == 43 + 2 + 1 + 10  # behind its first row and what may be out of order, and the window
    assert count.snapshot(0).notes == {"exact from": "56"}
    after = count.to_polars().filter(pl.col("window_end") > 20)
    ends = sorted(after["window_end"].unique())
    found = {end: dict(after.filter(window_end=end).select("k", "n").iter_rows()) for end in ends}
    assert ends[-1] == 80 and [e for e in ends if e >= 56] == [60, 70, 80]
    assert all(found[end] == brute(live.given, end) for end in ends if end >= 56)
    assert found[50] != brute(live.given, 50)  # so there is something to be said


def test_a_relation_is_as_it_was_while_inactive_and_begins_with_nothing(live: Live) -> None:
    alive = live.query("SELECT k, count(*) AS n FROM s [RANGE 5 MICROSECONDS] GROUP BY k", "alive")
    live.give((1, 1), (2, 1), (3, 2), (6, 2))
    state = alive.to_polars()
    assert state.height
    alive.deactivate()
    live.give((50, 3))
    assert alive.to_polars().equals(state)
    alive.activate()
    assert alive.to_polars().height == 0
    live.give((60, 7), (61, 7), (66, 7))
    until(lambda: alive.exact_from == 60 + 2 + 1 + 5)
    log = alive.changes()
    assert log.group_by("k", "n").agg(pl.col("op").sum()).filter(pl.col("op") < 0).height == 0  # nothing leaves twice
    assert 3 not in log["k"].to_list()


def test_callbacks_and_iteration_go_on_where_they_were(live: Live) -> None:
    count, heard = live.query(COUNT, "count"), []
    count.on_result(heard.append)
    live.give(*((ts, 1) for ts in range(15)))
    count.deactivate().activate()
    live.give(*((ts, 1) for ts in range(15, 45)))
    assert count.wait_for_callbacks(200)
    assert pl.concat(heard).equals(count.to_polars())


def test_an_inactive_query_can_be_stopped_dropped_and_replaced(live: Live) -> None:
    for how in ("stop", "drop", "replace"):
        count = live.query(COUNT, "count").deactivate()
        if how == "stop":
            count.stop()
        elif how == "drop":
            live.session.drop("count")
        else:
            live.query(COUNT.replace("10", "20"), "count")
        until(lambda count=count: count.status == "stopped")  # type: ignore[misc]  # bound now
        assert count.wait(200)
        with pytest.raises(QueryError, match="has ended"):
            count.activate()


def test_the_same_text_again_is_the_inactive_query(live: Live) -> None:
    count = live.query(COUNT, "count").deactivate()
    assert live.query(COUNT, "count") is count and count.status == "inactive"


def test_what_could_not_come_back_is_refused_with_the_reason(live: Live) -> None:
    live.session.execute("CREATE STREAM old (ts BIGINT, k BIGINT) ORDER BY ts SOURCE 'frame://old' WITH (rate = '1/s')")
    with pytest.raises(QueryError, match="a replay"):
        live.query("SELECT ts, k FROM old", "replayed").deactivate()
    for text, why in (
        ("SELECT k, count(*) AS n FROM s GROUP BY k", "from the beginning on"),
        ("SELECT k, count(*) AS n FROM s [RANGE ALL SLIDE 10 MICROSECONDS] GROUP BY k", "from the beginning on"),
        ("SELECT ts FROM s LIMIT 3", "LIMIT counts"),
    ):
        query = live.query(text, "never")
        with pytest.raises((UnsupportedError, QueryError), match=why):
            query.deactivate()
        assert query.status in ("waiting", "running")
        query.stop()
    with pytest.raises(QueryError, match="is active"):
        live.all.activate()


@pytest.mark.parametrize(
    ("text", "micros", "also"),
    [
        ("SELECT ts FROM s WHERE k > 1", 0, 0),
        ("SELECT k, count(*) AS n FROM s [RANGE 30 MICROSECONDS SLIDE 10 MICROSECONDS] GROUP BY k", 30, 0),
        ("SELECT a.ts, b.k FROM s [RANGE 4 MICROSECONDS] AS a, s [RANGE 7 MICROSECONDS] AS b WHERE a.k = b.k", 6, 0),
        ("SELECT DISTINCT k FROM s [RANGE 5 MICROSECONDS]", 5, 0),
        ("SELECT k, sum(k) OVER (RANGE 6 MICROSECONDS PRECEDING) AS t FROM s", 6, 0),
        ("SELECT count(*) AS n FROM s [ROWS 5]", 0, 1),
        ("SELECT count(*) AS n FROM s [SESSION 5 MICROSECONDS]", 0, 1),
        (
            "SELECT max(n) AS m FROM (SELECT k, count(*) AS n FROM s [RANGE 10 MICROSECONDS TUMBLING] GROUP BY k) AS c "
            "[RANGE 40 MICROSECONDS TUMBLING]",
            50,
            0,
        ),
    ],
)
def test_how_long_it_takes_follows_from_the_windows(live: Live, text: str, micros: int, also: int) -> None:
    found = refill(live.query(text, "q")._pipeline.query)
    assert found.never is None and len(found.also) == also
    assert found.micros == micros


def test_times_are_shown_as_the_stream_has_them() -> None:
    with Session() as session:
        (load,) = session.execute(
            "SELECT core, avg(percent) AS p FROM 'system://cpu?every=100ms' [RANGE 1 HOUR SLIDE 1 SECOND] GROUP BY core",
            name="load",
        )
        assert isinstance(load, Query)
        until(lambda: load.snapshot(0).rows_in)
        load.deactivate().activate()
        until(lambda: load.exact_from is not None)
        assert isinstance(load.exact_from, datetime)
        assert (load.exact_from - datetime.now()).total_seconds() > -86_400


def test_others_that_share_its_operators_go_on(live: Live) -> None:
    first, second = live.query(COUNT, "first"), live.query(COUNT, "second")
    live.give(*((ts, 1) for ts in range(15)))
    assert any(step.part is not None for step in first._pipeline.graph.steps)  # type: ignore[union-attr]  # in the kernel
    first.deactivate()
    live.give(*((ts, 1) for ts in range(15, 25)))
    first.activate()
    live.give(*((ts, 1) for ts in range(25, 65)))
    exact = {end: brute(live.given, end)[1] for end in range(10, 61, 10)}
    assert dict(second.to_polars().select("window_end", "n").iter_rows()) == exact
    again = first.to_polars().filter(pl.col("window_end") >= first.exact_from)
    assert again.height == 3 and all(exact[end] == n for end, n in again.select("window_end", "n").iter_rows())
