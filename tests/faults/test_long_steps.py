"""Steps that take long, or for ever: others go on, commands are obeyed, views say where the time goes."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

import jupyter_stream
from jupyter_stream import Query, QueryError, Session
from jupyter_stream.engine import engine
from tests.faults.threads import begun
from tests.tiers import only, slow, thinned
from tests.waiting import until

ROWS = pl.DataFrame({"ts": np.arange(20_000) * 1000, "k": np.arange(20_000) % 7, "v": np.arange(20_000)})
ORDINARY = sys.getswitchinterval()
"""Seconds after which Python lets another thread run."""
WITHIN = 20.0
"""Seconds of this process's own processor time, in which others' work isn't counted: far less than such a step takes."""


@jupyter_stream.aggregate(name="never")
class Never:
    """Goes round and round."""

    def iterate(self, v: int) -> int:  # type: ignore[return]
        while v > 1000:
            pass

    def terminate(self) -> int:
        return 1


let_go = threading.Event()


@jupyter_stream.aggregate(name="waits")
class Waits:
    """Stands still, where no exception reaches it."""

    def iterate(self, v: int) -> int:  # type: ignore[return]
        if v == 1000:
            let_go.wait()

    def terminate(self) -> int:
        return 1


@jupyter_stream.aggregate(name="leaves")
class Leaves:
    """Ends Python, as it thinks."""

    def iterate(self, v: int) -> int:  # type: ignore[return]
        if v == 1000:
            raise SystemExit("enough")

    def terminate(self) -> int:
        return 1


@jupyter_stream.aggregate(name="interrupted")
class Interrupted:
    """As Kernel > Interrupt raises it, in whatever thread."""

    def iterate(self, v: int) -> int:  # type: ignore[return]
        if v == 1000:
            raise KeyboardInterrupt

    def terminate(self) -> int:
        return 1


@pytest.fixture
def session() -> Iterator[Session]:
    let_go.clear()

    def ticks() -> Iterator[dict[str, int]]:
        for i in range(10**9):
            yield {"ts": i * 1000, "v": i}
            time.sleep(0.001)

    with Session({"rows": ROWS, "ticks": ticks}) as session:
        session.execute("""
            CREATE STREAM s (ts BIGINT, k BIGINT, v BIGINT) ORDER BY ts SOURCE 'frame://rows';
            CREATE STREAM t (ts BIGINT, v BIGINT) ORDER BY ts SOURCE 'python://ticks'""")
        yield session
        let_go.set()


def live(session: Session) -> Query:
    (query,) = session.execute("SELECT count(*) AS c FROM t [RANGE 1000 MICROSECONDS TUMBLING]")
    assert isinstance(query, Query)
    until(lambda: query.to_polars().height)
    return query


def start(session: Session, aggregate: str) -> Query:
    (query,) = session.execute(f"SELECT k, {aggregate}(v) AS x FROM s [RANGE 1 SECOND TUMBLING] GROUP BY k")
    assert isinstance(query, Query)
    return query


def test_threads_take_turns_often_beside_a_step_that_takes_long_and_only_then(session: Session) -> None:
    live(session)
    stuck = start(session, "waits")
    until(lambda: sys.getswitchinterval() < ORDINARY)
    let_go.set()
    assert stuck.wait(200)
    until(lambda: sys.getswitchinterval() == ORDINARY)


@pytest.mark.parametrize("aggregate", only(["never", "waits"], "never"))
def test_others_go_on_beside_an_aggregate_that_never_returns_and_its_query_can_be_left(
    session: Session, aggregate: str
) -> None:
    other = live(session)
    stuck = start(session, aggregate)
    until(lambda: (stuck.snapshot(1).hint or "").startswith(f"inside {aggregate} for "))
    height = other.to_polars().height
    until(lambda: other.to_polars().height > height)
    (after,) = session.execute("SELECT count(*) AS c FROM s [RANGE 1 SECOND TUMBLING]")
    assert isinstance(after, Query) and after.wait(200) and after.to_polars()["c"].sum() == ROWS.height
    stuck.pause()
    until(lambda: stuck.status == "paused")
    stuck.stop()
    until(lambda: stuck.status == "stopped")  # and all this while the step never returns
    assert stuck.snapshot(1).hint is None and other.status == "running"
    let_go.set()
    until(lambda: sum(t.name == "jupyter-stream engine" for t in begun()) == 1)


@slow
def test_where_the_system_has_no_thread_for_the_others_they_go_on_as_soon_as_it_has(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, refused = engine.threads.begin, []

    def none_to_be_had(name: str, *given: Any) -> Any:
        if name == "jupyter-stream engine" and not refused:
            refused.append(name)
            raise RuntimeError("can't start new thread")
        return begin(name, *given)

    other = live(session)
    monkeypatch.setattr(engine.threads, "begin", none_to_be_had)
    stuck = start(session, "waits")
    until(lambda: refused)
    height = other.to_polars().height
    until(lambda: other.to_polars().height > height)
    assert stuck.status == "running"
    let_go.set()
    assert stuck.wait(200)


def test_a_step_that_never_ends_ends_with_its_session(session: Session) -> None:
    live(session)
    stuck = start(session, "never")
    until(lambda: (stuck.snapshot(1).hint or "").startswith("inside never for "))
    session.close()
    until(lambda: not any(t.name == "jupyter-stream engine" for t in begun()))


@slow
def test_a_query_goes_on_after_a_step_that_took_long(session: Session) -> None:
    other = live(session)
    slow = start(session, "waits")
    until(lambda: slow.snapshot(1).hint is not None)
    slow.pause()
    until(lambda: slow.status == "paused")
    let_go.set()
    slow.resume()
    assert slow.wait(200) and slow.to_polars()["x"].sum() == 20 * 7
    assert other.status == "running"


@pytest.mark.parametrize(
    ("aggregate", "told"), [("leaves", "SystemExit: enough"), ("interrupted", "KeyboardInterrupt")]
)
def test_an_aggregate_that_would_end_python_ends_its_query(session: Session, aggregate: str, told: str) -> None:
    other = live(session)
    query = start(session, aggregate)
    with pytest.raises(QueryError, match=f"a Python aggregate raised {told}"):
        query.wait(200)
    assert query.status == "failed"
    assert told in (query.snapshot(1).error or "")
    height = other.to_polars().height
    until(lambda: other.to_polars().height > height)


def test_late_rows_held_back_while_a_query_is_paused_are_listed_when_it_goes_on() -> None:
    batches = [pl.DataFrame({"ts": ts, "v": ts}) for ts in ([100, 200], [5, 300], [400, 7], [500])]
    go = threading.Event()

    def rows() -> Iterator[pl.DataFrame]:
        yield from batches
        go.wait()

    with Session({"rows": rows}) as session:
        session.execute("CREATE STREAM s (ts BIGINT, v BIGINT) ORDER BY ts SOURCE 'python://rows'")
        (query,) = session.execute("SELECT count(*) AS c FROM s [RANGE 100 MICROSECONDS TUMBLING]", paused=True)
        (reader,) = session.execute("SELECT v FROM s")
        assert isinstance(query, Query) and isinstance(reader, Query)
        until(lambda: reader.stats["rows_in"] == 7)
        query.resume()
        go.set()
        assert query.wait(200)
        assert sorted(query.late["v"]) == [5, 7]


SECONDS = "[RANGE 30 SECONDS]"
NARROW = "SLIDE 1 MICROSECOND]"
GREEDY = (
    f"SELECT a.v FROM s {SECONDS} a, s {SECONDS} b WHERE a.k = b.k",
    f"SELECT a.v FROM s {SECONDS} a, s {SECONDS} b WHERE a.v < b.v",
    f"SELECT v FROM s {SECONDS} WHERE k IN (SELECT k FROM s {SECONDS})",
    f"SELECT count(*) AS c FROM s [RANGE 1 SECOND {NARROW}",
    f"SELECT count(DISTINCT v) AS c FROM s [RANGE 1 SECOND {NARROW}",
    f"SELECT a.v FROM s [RANGE 1 SECOND {NARROW} a, s [RANGE 1 SECOND {NARROW} b WHERE a.k = b.k",
    f"SELECT v FROM s [RANGE 1 SECOND {NARROW} ORDER BY v LIMIT 2",
    "SELECT RSTREAM v FROM s [RANGE 30 SECONDS]",
)


@pytest.mark.parametrize("greedy", thinned(GREEDY, 9))
def test_a_query_that_asks_for_too_much_stops_when_told_and_others_go_on(session: Session, greedy: str) -> None:
    other = live(session)
    (query,) = session.execute(greedy, keep=1000)
    assert isinstance(query, Query)
    until(lambda: query.status != "waiting" or (query.snapshot(1).hint or "").startswith("inside"))
    assert query.status in ("waiting", "running"), query.snapshot(1).error
    height = other.to_polars().height
    until(lambda: other.to_polars().height > height)
    began = time.process_time()
    query.stop()
    until(lambda: query.status == "stopped")
    assert time.process_time() - began < WITHIN
