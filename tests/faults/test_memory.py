"""What a session holds is bounded in bytes: at the limit a query is held back, or ends with the place and the reason."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import polars as pl
import pytest

from jupyter_stream import QueryError, Session
from jupyter_stream.core import memory
from tests.tiers import slow, thinned
from tests.waiting import PATIENCE, settle, until

LEAST = "64 MB"


def test_a_query_that_takes_the_memory_of_all_ends_with_its_operators_name_and_no_other_does():
    def many():
        for start in range(0, 1 << 62, 100_000):
            yield pl.DataFrame({"k": range(start, start + 100_000), "ts": range(start, start + 100_000)})

    with Session({"many": many(), "few": pl.DataFrame({"ts": range(1000)})}, memory=LEAST) as session:
        session.execute("CREATE STREAM many (k BIGINT, ts BIGINT) ORDER BY ts SOURCE 'python://many'")
        session.execute("CREATE STREAM few (ts BIGINT) ORDER BY ts SOURCE 'frame://few'")
        (greedy,) = session.execute(
            "SELECT k, count(*) AS n FROM many [RANGE 1000 DAYS TUMBLING] GROUP BY k", name="greedy"
        )
        (other,) = session.execute("SELECT count(*) AS n FROM few [RANGE 1000 MICROSECONDS TUMBLING]", name="other")
        with pytest.raises(QueryError, match="memory limit") as error:
            greedy.wait(200)
        assert "window aggregate" in str(error.value) and "%stream set memory" in str(error.value)
        assert other.wait(200) and other.to_polars()["n"].to_list() == [1000]


@slow
def test_a_slow_callback_holds_its_query_up_and_misses_nothing():
    go, seen, most = threading.Event(), [], []
    rows = pl.DataFrame({"s": ["x" * 1000] * 500, "ts": [0] * 500})

    def frames():
        for _ in range(400):  # 200 MB
            yield rows

    def slow(frame: pl.DataFrame) -> None:
        most.append(sum(o.bytes for o in query._pipeline.outboxes) + query._pipeline.backlog.bytes)
        go.wait(PATIENCE)
        seen.append(frame.height)

    with Session({"frames": frames}, memory=LEAST) as session:
        session.execute("CREATE STREAM f (s STRING, ts BIGINT) ORDER BY ts SOURCE 'python://frames'")
        (query,) = session.execute("SELECT s FROM f", name="q", paused=True, keep=10)
        query.on_result(slow)
        query.resume()
        until(lambda: query._pipeline.full and query._pipeline.held_up)
        settle(session.engine)  # a step may be under way
        assert "slow on_result" in query.snapshot(0).hint
        taken = query.stats["rows_in"]
        time.sleep(0.3)
        assert query.stats["rows_in"] == taken < 200_000
        go.set()
        assert query.wait(200)
        until(lambda: sum(seen) == 200_000)
        assert max(most) < 20_000_000


def test_a_paused_query_of_a_live_stream_stops_no_other_and_says_what_it_misses():
    def ticks():
        begun.wait(PATIENCE)  # both read it from its first row on
        yield {"n": 0, "ts": 0}
        go.wait(PATIENCE)
        for start in range(1, 3_000_001, 100_000):
            yield pl.DataFrame({"n": range(start, start + 100_000), "ts": range(start, start + 100_000)})

    begun, go = threading.Event(), threading.Event()
    with Session({"ticks": ticks()}, memory=LEAST) as session:
        session.execute("CREATE STREAM t (n BIGINT, ts BIGINT) ORDER BY ts SOURCE 'python://ticks'")
        (one,) = session.execute("SELECT count(*) AS n FROM t [RANGE 1000 SECONDS TUMBLING]", name="one")
        (other,) = session.execute("SELECT sum(n) AS n FROM t [RANGE 1 SECOND TUMBLING] WHERE n > 0", name="other")
        begun.set()
        until(lambda: one.stats["rows_in"] == other.stats["rows_in"] == 1)
        one.pause()
        go.set()
        assert other.wait(200) and other.to_polars()["n"].sum() == sum(range(1, 3_000_001))
        hint = one.snapshot(0).hint
        assert "rows are missing from the answers" in hint and "paused" in hint
        one.resume()
        assert one.wait(200)
        counted = one.to_polars()["n"][0]
        assert counted + one._pipeline.backlog.missed == 3_000_001 and 0 < one._pipeline.backlog.missed < 3_000_000


def counted_while_paused(first: str, second: str, spill: bool | str, rows: int):
    """Two queries of a live stream, the first paused while so many rows come: both, when they have ended."""

    def ticks():
        begun.wait(PATIENCE)  # both read it from its first row on
        yield {"n": 0, "ts": 1}
        go.wait(PATIENCE)
        for start in range(1, rows, 100_000):
            n = np.arange(start, start + 100_000)
            yield pl.DataFrame({"n": n, "ts": n - 100 * (n % 1000 == 50)})  # some come late
        yield {"n": 0, "ts": rows + 1000}

    begun, go = threading.Event(), threading.Event()
    with Session({"ticks": ticks()}, memory=LEAST) as session:
        declared = "CREATE STREAM t (n BIGINT, ts BIGINT, WATERMARK FOR ts AS ts - INTERVAL 10 MICROSECONDS)"
        session.execute(f"{declared} SOURCE 'python://ticks'")
        (one,) = session.execute(first, name="one")
        (other,) = session.execute(second, name="other")
        begun.set()
        until(lambda: one.stats["rows_in"] == other.stats["rows_in"] == 1)
        one.pause(spill=spill)
        go.set()
        assert other.wait(200)
        backlog = one._pipeline.backlog
        waited = len(backlog.spill)
        assert one.status == "paused" and backlog.bytes < 2 * backlog.most
        one.resume()
        assert one.wait(200) and one.status == "finished"
        assert len(backlog.spill) == 0 and backlog.spill.bytes == 0
        return one, other, waited


SUMS = "SELECT count(*) AS c, sum(n) AS s FROM t [RANGE 1 MILLISECOND TUMBLING]"


@pytest.mark.parametrize("second", thinned([SUMS, f"{SUMS} WHERE n >= 0"]), ids=["of shared operators", "of its own"])
def test_rows_past_the_share_of_a_paused_query_go_to_disk_if_that_is_asked_for(second):
    one, other, waited = counted_while_paused(SUMS, second, True, 2_000_000)
    assert waited > 0 and one._pipeline.backlog.missed == 0
    assert one.to_polars().equals(other.to_polars())
    assert one.late.height == other.late.height > 0


@slow
def test_past_the_limit_on_disk_rows_are_missed_and_told():
    one, other, waited = counted_while_paused(SUMS, f"{SUMS} WHERE n >= 0", "64 MB", 5_000_000)
    missed = one._pipeline.backlog.missed
    assert waited > 0 and missed > 0 and "rows are missing from the answers" in one.snapshot(0).hint
    counted = [q.to_polars()["c"].sum() + q.late.height for q in (one, other)]
    assert counted[0] < counted[1] <= counted[0] + missed


@slow
def test_a_disk_that_takes_nothing_is_no_more_than_no_disk(monkeypatch):
    def refuse(*_arguments, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    one, _, waited = counted_while_paused(SUMS, f"{SUMS} WHERE n >= 0", True, 2_000_000)
    assert waited == 0 and one._pipeline.backlog.missed > 0


def test_what_is_no_size_on_disk_is_refused():
    with Session({"rows": pl.DataFrame({"n": [1], "ts": [1]})}) as session:
        session.execute("CREATE STREAM t (n BIGINT, ts BIGINT) ORDER BY ts SOURCE 'frame://rows'")
        (query,) = session.execute("SELECT n FROM t", paused=True)
        with pytest.raises(QueryError, match="is not a size"):
            query.pause(spill="much")


def test_a_paused_query_of_a_replay_misses_nothing():
    rows = pl.DataFrame({"n": range(2_000_000), "ts": range(2_000_000)})
    with Session({"rows": rows}, memory=LEAST) as session:
        session.execute("CREATE STREAM t (n BIGINT, ts BIGINT) ORDER BY ts SOURCE 'frame://rows'")
        text = "SELECT count(*) AS n FROM t [RANGE 1000 SECONDS TUMBLING]; "
        text += "SELECT count(*) AS n FROM t [RANGE 2000 SECONDS TUMBLING]"
        one, other = session.execute(text, paused=True)
        other.resume()
        until(lambda: one._pipeline.full)
        one.resume()
        assert one.wait(200) and other.wait(200)
        assert one.to_polars()["n"].to_list() == other.to_polars()["n"].to_list() == [2_000_000]


@slow
def test_bad_records_without_end_take_bounded_memory(tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text(("no object " + "x" * 1200 + "\n") * 100_000)
    with Session() as session:
        session.execute(f"CREATE STREAM b (n BIGINT) SOURCE 'file://{path}'")
        (query,) = session.execute("SELECT n FROM b", name="q")
        assert query.wait(200)
        assert query.snapshot(0).bad == 100_000
        assert query._pipeline.error_frames.bytes <= 64 * 2**20
        told = query.errors["reason"]  # the newest, as many as fit; how many depends on how large the batches were
        assert 0 < told.len() < 100_000 and told[-1].endswith("(bad.jsonl, line 100000)")
        assert session.side_stream("errors", "b").frame().estimated_size() <= 64 * 2**20


def test_sizes_that_are_none_are_refused():
    with pytest.raises(QueryError, match="not a size of memory"):
        Session(memory="much")
    with Session() as session:
        session.limit("2 GB")
        assert session.engine.memory == 2 * 10**9


def test_memory_of_dropped_queries_is_looked_for_though_the_process_had_it_at_the_last_look_too():
    looks: list[int] = []
    giving = memory.GivingBack(lambda: looks.append(1), lambda: 700_000_000, [0.0])
    giving.after()
    assert looks == [1]  # the process has grown from nothing
    giving.after(30_000_000)
    assert looks == [1]  # not worth it
    giving.after(30_000_000)
    assert looks == [1, 1]
    giving.after(30_000_000)
    assert looks == [1, 1]


def test_who_asks_while_memory_is_looked_for_has_it_looked_for_once_more():
    looks: list[int] = []

    def look() -> None:
        looks.append(1)
        if len(looks) == 2:
            giving.after(60_000_000)  # comes back at once: a look is under way

    giving = memory.GivingBack(look, lambda: 0, [0.0, 0.0])
    giving.after(60_000_000)
    assert looks == [1] * 4  # two for each


DROPPED = """
import gc, threading, time
import numpy as np, polars as pl, psutil
from jupyter_stream import Session
def held():
    memory = psutil.Process().memory_full_info()
    return (memory.rss + getattr(memory, "swap", 0)) / 1e6  # on a busy machine some of it may be on disk
rng, rows = np.random.default_rng(1), 1_500_000
frame = pl.DataFrame({"k": rng.integers(0, 200_000, rows), "v": rng.random(rows), "ts": np.arange(rows) * 1000})
with Session({"frame": frame}) as session:
    session.execute("CREATE STREAM w (k BIGINT, v DOUBLE, ts BIGINT) ORDER BY ts SOURCE 'frame://frame'")
    def run(text):
        queries = session.execute(text)
        for query in queries:
            query.wait()
        names, most = [query.name for query in queries], held()
        del query, queries
        for name in names:
            session.drop(name)
        return most
    run("SELECT count(*) AS n FROM w [RANGE 1 MINUTE TUMBLING]")
    time.sleep(1)
    base = held()
    most = run('''SELECT k, count(*) AS n, avg(v) AS a FROM w [RANGE 10 MINUTES SLIDE 1 MINUTE] GROUP BY k;
        SELECT k, v FROM w; SELECT k, count(*) AS n FROM w [RANGE 30 MINUTES] GROUP BY k''')
    end = time.monotonic() + 200
    while held() > base + 100 and time.monotonic() < end:
        time.sleep(0.1)
    print(base, most, held(), threading.enumerate())
    frames = [o for o in gc.get_objects() if isinstance(o, pl.DataFrame)]
    print("frames", len(frames), sum(f.estimated_size() for f in frames) / 1e6)
    print("collected", gc.collect(), held())
    assert most > base + 200, "there is something to give back"
    assert held() <= base + 100
"""


@slow
def test_memory_comes_back_when_queries_are_dropped():
    done = subprocess.run([sys.executable, "-c", DROPPED], capture_output=True, text=True, timeout=290)
    assert done.returncode == 0, done.stdout + done.stderr
