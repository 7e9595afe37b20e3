"""Enabling time stamps: made when somebody waits for a silent source, at a rate, or never; the answers are the same."""

from __future__ import annotations

import queue
from collections.abc import Iterator

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_stream import Session
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.engine.demand import wanted
from jupyter_stream.engine.stamper import LOOK, Stamper, Wanted
from jupyter_stream.errors import QueryError
from jupyter_stream.plan.catalog import Enabling
from jupyter_stream.session.query import Query
from tests import waiting
from tests.tiers import examples

MODES = ("on demand", "periodic 5 ms", "none")
BOTH = "SELECT current_time AS t, i FROM a UNION ALL SELECT current_time AS t, i FROM b"
COUNTED = f"SELECT i, t, count(*) OVER (RANGE 2 MILLISECONDS PRECEDING) AS n FROM ({BOTH})"


class Tap:
    """A live source of rows that a test hands over."""

    def __init__(self) -> None:
        self._rows: queue.SimpleQueue[int | None] = queue.SimpleQueue()

    def give(self, *rows: int | None) -> None:
        """Rows; None for the end."""
        for row in rows:
            self._rows.put(row)

    def __iter__(self) -> Iterator[dict[str, int]]:
        while (i := self._rows.get()) is not None:
            yield {"i": i}


class Two:
    """Two streams stamped on arrival, each of them silent until a test says something, and a query of both."""

    def __init__(self, query: str, time: str = "ORDER BY current_time", progress: str | None = None) -> None:
        self.a, self.b = Tap(), Tap()
        self.session = Session({"first": iter(self.a), "second": iter(self.b)})
        if progress is not None:
            self.session.progress(progress)
        for name, source in (("a", "first"), ("b", "second")):
            self.session.execute(f"CREATE STREAM {name} (i BIGINT) {time} SOURCE 'python://{source}'")
        (found,) = self.session.execute(query)
        assert isinstance(found, Query)
        self.query = found

    def __enter__(self) -> Two:
        return self

    def __exit__(self, *_: object) -> None:
        self.a.give(None)
        self.b.give(None)
        self.session.close()

    @property
    def rows(self) -> list[int]:
        """Those that were given out."""
        return sorted(self.query.to_polars()["i"].to_list())

    @property
    def taken(self) -> int:
        """How many rows the engine has had."""
        return sum(feed.control.rows_in for feed in self.session.engine.feeds)

    @property
    def made(self) -> dict[str, int]:
        """The enabling time stamps of each stream."""
        return {feed.stream.name: feed.stamper.made for feed in self.session.engine.feeds}


# -- when one is due: times are given --------------------------------------------------------------------------------


def stamper(mode: str, now: int = 0) -> Stamper:
    enabling = Enabling.parse(mode)
    assert enabling is not None
    return Stamper(enabling, now)


@given(st.lists(st.integers(1, 100_000), max_size=40))
def test_on_demand_none_is_due_while_nobody_waits(steps: list[int]) -> None:
    made, now = stamper("on demand"), 0
    for work, step in enumerate(steps):
        now += step
        assert not made.due(now, now, Wanted(), work)
        assert made.look == MAX_TIME  # something has to come before it is asked again
    assert made.made == 0


@given(st.integers(1, 10**9), st.integers(0, 10**6))
def test_on_demand_one_is_due_when_it_helps_and_not_before(until: int, skew: int) -> None:
    made = stamper("on demand")
    assert not made.due(until + skew - 1, until - 1, Wanted(until), 1)
    assert made.look == until + skew
    assert made.due(made.look, until, Wanted(until), 1)


def test_for_one_that_cannot_say_until_when_one_is_due_after_rows_and_then_now_and_then() -> None:
    made, waits = stamper("on demand"), Wanted(unsure=True)
    assert made.due(10, 10, waits, 1)
    assert not made.due(11, 11, waits, 1)
    assert made.look == 10 + LOOK
    assert made.due(12, 12, waits, 2)  # rows have come
    assert made.due(12 + LOOK, 12 + LOOK, waits, 2)


@given(st.lists(st.integers(1, 300_000), max_size=60), st.booleans())
def test_periodic_ones_follow_their_rate_whoever_waits(steps: list[int], waits: bool) -> None:
    made, now, periods = stamper("periodic 100 ms"), 0, set()
    for step in steps:
        now += step
        if now >= 100_000:
            periods.add(now // 100_000)
        made.due(now, now, Wanted(unsure=waits), 0)
        assert made.look == (now // 100_000 + 1) * 100_000
    assert made.made == len(periods)  # one for each in which it was asked


def test_none_are_none() -> None:
    made = stamper("none")
    assert not made.due(10**9, 10**9, Wanted(1, unsure=True), 1)
    assert made.look == MAX_TIME


@pytest.mark.parametrize(
    "text", ["", "on", "demand", "periodic", "periodic 5", "periodic 100 us", "never", "periodic none"]
)
def test_nothing_else_is_a_mode(text: str) -> None:
    assert Enabling.parse(text) is None


# -- in the engine ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["SELECT i FROM a WHERE i > 0", "SELECT i FROM a UNION ALL SELECT i FROM b"])
def test_no_stamp_is_made_where_no_operator_waits(query: str) -> None:
    with Two(query) as two:
        two.a.give(1, 2, 3)
        waiting.until(lambda: two.rows == [1, 2, 3])  # a union lets rows through
        waiting.settle(two.session.engine)
        assert set(two.made.values()) == {0}


def test_on_demand_a_row_comes_out_though_the_other_stream_is_silent() -> None:
    with Two(COUNTED) as two:
        two.a.give(1)
        waiting.until(lambda: two.rows == [1])
        assert two.made["b"] >= 1
        made = two.made
        waiting.settle(two.session.engine)
        assert two.made == made  # nobody waits any more


def test_with_none_a_union_holds_rows_back_until_the_other_stream_says_something() -> None:
    with Two(COUNTED, progress="none") as two:
        two.a.give(1)
        waiting.until(lambda: two.taken == 1)
        two.b.give(2)
        waiting.until(lambda: two.taken == 2)
        two.a.give(3)
        waiting.until(lambda: two.taken == 3)
        waiting.settle(two.session.engine)
        assert two.rows == [1]  # 2 is after it; 3 may still be followed by one of b before it
        assert set(two.made.values()) == {0}
        two.session.progress("on demand")
        waiting.until(lambda: two.rows == [1, 2, 3])


def test_a_window_gets_the_one_stamp_that_ends_it() -> None:
    with Two("SELECT count(*) AS i FROM a [RANGE 200 MILLISECONDS TUMBLING]") as two:
        two.a.give(1)
        waiting.until(lambda: two.rows == [1])
        assert two.made == {"a": 1}


def test_a_join_under_a_window_gets_stamps_for_the_silent_side() -> None:
    joined = "SELECT count(*) AS i FROM (SELECT a.i FROM a [RANGE 1 HOUR], b [RANGE 1 HOUR] WHERE a.i = b.i)"
    with Two(f"{joined} [RANGE 100 MILLISECONDS TUMBLING]") as two:
        two.b.give(1)
        two.a.give(1, 1)
        waiting.until(lambda: sum(two.rows) == 2)


def test_latent_rows_never_wait_whatever_the_session_says() -> None:
    with Two(COUNTED, time="", progress="none") as two:
        two.a.give(1, 2)
        waiting.until(lambda: two.rows == [1, 2])


@settings(max_examples=examples(12), deadline=None)
@given(st.sampled_from(MODES), st.lists(st.tuples(st.booleans(), st.integers(1, 4)), min_size=1, max_size=8))
def test_the_answers_are_the_same_whatever_stamps_are_made(mode: str, bursts: list[tuple[bool, int]]) -> None:
    """Over the times that rows got, worked out by brute force: no row is missed, none counted twice, none late."""
    with Two(COUNTED, progress=mode) as two:
        sent = 0
        for first, rows in bursts:
            (two.a if first else two.b).give(*range(sent, sent + rows))
            sent += rows
            waiting.until(lambda sent=sent: two.taken == sent)
        two.a.give(None)
        two.b.give(None)
        assert two.query.wait(waiting.PATIENCE)
        found = two.query.to_polars()
        times = found["t"].to_physical().to_list()
        expected = [sum(t - 2000 <= other <= t for other in times) for t in times]
        assert two.rows == list(range(sent))
        assert found["n"].to_list() == expected
        assert two.query.late.height == 0


def test_equal_times_do_not_wait_for_one_another() -> None:
    """Simultaneous tuples: both inputs have come to the time, and then nothing more is needed (stream-mill §3)."""
    rows = pl.DataFrame({"i": [1, 2], "ts": [5, 5]})
    other: list[dict[str, int]] = [{"i": 3, "ts": 5}]
    tap: queue.SimpleQueue[None] = queue.SimpleQueue()

    def live(given: list[dict[str, int]]) -> Iterator[dict[str, int]]:
        yield from given
        tap.get()

    with Session({"one": live(rows.to_dicts()), "two": live(other)}) as session:
        session.execute("CREATE STREAM a (i BIGINT, ts BIGINT) ORDER BY ts SOURCE 'python://one'")
        session.execute("CREATE STREAM b (i BIGINT, ts BIGINT) ORDER BY ts SOURCE 'python://two'")
        union, join = session.execute(
            "SELECT i FROM a UNION ALL SELECT i FROM b;"
            "SELECT a.i + b.i AS i FROM a [RANGE 1 MICROSECOND], b [RANGE 1 MICROSECOND] WHERE a.ts = b.ts"
        )
        assert isinstance(union, Query) and isinstance(join, Query)
        waiting.until(lambda: sorted(union.to_polars()["i"]) == [1, 2, 3] and sorted(join.to_polars()["i"]) == [4, 5])
        tap.put(None)
        tap.put(None)


# -- what is said ----------------------------------------------------------------------------------------------------

CREATE = "CREATE STREAM s (n BIGINT, ts TIMESTAMP) {} SOURCE 'python://live' WITH ({})"


@pytest.mark.parametrize(
    ("time", "options", "message", "hint"),
    [
        ("ORDER BY current_time", "progress = 'sometimes'", "progress can't be 'sometimes'", "'periodic 100 ms'"),
        ("ORDER BY current_time", "progress = 'periodic'", "progress can't be 'periodic'", "'on demand'"),
        ("", "time = 'latent', progress = 'none'", "from the first operator that needs one", "ORDER BY current_time"),
        ("ORDER BY ts", "progress = 'on demand'", "its time is its column ts", "idle_timeout"),
    ],
)
def test_a_wrong_value_is_shown_with_what_to_write(time: str, options: str, message: str, hint: str) -> None:
    with Session({"live": iter([{"n": 1, "ts": 0}])}) as session:
        with pytest.raises(QueryError) as error:
            session.execute(CREATE.format(time, options))
        assert message in str(error.value) and hint in str(error.value) and "^" in str(error.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("progress = 'periodic 250 ms'", "enabling time stamps: periodic 250 milliseconds"),
        ("progress = 'none'", "enabling time stamps: none"),
        ("progress = 'On  Demand'", "enabling time stamps: on demand"),
    ],
)
def test_show_streams_and_explain_say_the_mode(options: str, said: str) -> None:
    with Session({"live": iter([{"n": 1, "ts": 0}])}) as session:
        session.execute(CREATE.format("ORDER BY current_time", options))
        assert said in str(session.run("SHOW STREAMS")[0])
        assert said in str(session.run("EXPLAIN SELECT count(*) AS n FROM s [RANGE 1 SECOND TUMBLING]")[0])


def test_a_session_refuses_what_is_no_mode() -> None:
    with Session() as session, pytest.raises(QueryError, match="'none'"):
        session.progress("often")


def test_a_join_whose_pairs_come_with_their_rows_waits_for_nothing() -> None:
    with Two("SELECT x.i FROM a [RANGE 1 HOUR] x JOIN b [RANGE 1 HOUR] y ON x.i = y.i") as two:
        two.a.give(1)
        waiting.until(lambda: two.taken == 1)
        two.b.give(1)
        waiting.until(lambda: two.rows == [1])
        waiting.settle(two.session.engine)
        assert set(two.made.values()) == {0}


@pytest.mark.parametrize("query", ["SELECT i FROM a [RANGE 1 HOUR]", "SELECT DISTINCT i FROM a [RANGE 1 HOUR]"])
def test_a_relation_waits_until_its_first_row_leaves(query: str) -> None:
    with Two(query) as two:
        two.a.give(1)
        waiting.until(lambda: two.query.to_polars().height == 1)
        waiting.settle(two.session.engine)
        (feed,) = two.session.engine.feeds
        until, unsure = two.session.engine.submit(lambda: wanted(feed)).result()
        assert not unsure and until > feed.reached + 1_800_000_000
