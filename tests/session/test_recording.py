"""Recording a stream, replaying it in its order and another, and comparing what queries answer."""

import datetime as dt
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jupyter_stream
from jupyter_stream import QueryError, Session, SourceError, UnsupportedError
from jupyter_stream.session import recordings
from jupyter_stream.session.proof import compare
from jupyter_stream.sources import recording_file
from jupyter_stream.sources.recording_file import RecordingWriter, load
from jupyter_stream.sources.reorder import reorder
from tests.tiers import examples, slow
from tests.waiting import PATIENCE, settle, until

START = 1_700_000_000_000_000
DECLARED = """CREATE STREAM trades (symbol STRING, price DOUBLE, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS)
SOURCE 'frame://rows'"""
QUERIES = """
SELECT symbol, avg(price) AS price, count(*) AS n FROM trades [RANGE 1 MINUTE SLIDE 10 SECONDS] GROUP BY symbol;
SELECT symbol, max(price) AS top FROM trades [RANGE 2 MINUTES] GROUP BY symbol;
SELECT symbol, count(*) AS n FROM trades [SESSION 2 SECONDS] GROUP BY symbol;
SELECT symbol, first(price) AS one, last(price) AS other, collect_list(price) AS list
FROM trades [RANGE 1 MINUTE TUMBLING] GROUP BY symbol"""


def some_rows(count=3000, late=8):
    rng = np.random.default_rng(1)
    times = np.sort(rng.integers(0, count * 100_000, count)) - rng.integers(0, late * 1_000_000, count)
    times = times // 200_000 * 200_000 + START  # many are equal
    return pl.DataFrame(
        {"symbol": rng.choice(["a", "b", "c"], count), "price": rng.random(count),
         "ts": pl.Series(times).cast(pl.Datetime("us"))}
    )  # fmt: skip


@pytest.fixture
def session(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Session({"rows": some_rows()}) as made:
        made.execute(DECLARED)
        yield made


def recorded(session, **how):
    recording = session.record("trades", **how)
    assert recording.wait(200)
    return recording


def test_a_recording_is_a_parquet_file_with_the_rows_in_order_of_arrival(session):
    recording = recorded(session)
    assert recording.path.name == "trades.parquet" and recording.rows == 3000
    kept = pl.read_parquet(recording.path)
    assert kept.select("symbol", "price", "ts").equals(session.namespace["rows"])
    assert kept["$arrived"].is_sorted()
    newest = kept["ts"].cast(pl.Int64).cum_max().shift(1)
    assert (kept["$promised"] == newest - 5_000_000).drop_nulls().all()
    assert not list(recording.path.parent.glob("*.part"))


def test_replayed_in_recorded_order_a_query_answers_as_it_did(session):
    asked = session.execute(QUERIES, name="q")
    recorded(session)
    replay = session.replay("trades.parquet")
    assert replay.wait(200) and replay.equal is None
    for query in asked:
        query.wait(200)
        again = session.queries[f"{query.name}_recorded"]
        assert compare(query.name, "answers", query.to_polars(), again.to_polars()).equal
        assert query.late.height and compare(query.name, "late rows", query.late, again.late).equal


@slow
def test_shuffled_a_recording_gives_equal_answers_and_the_same_late_rows(session):
    session.execute(QUERIES, name="q")
    recorded(session)
    replay = session.replay("trades.parquet", shuffle="30s")
    assert replay.wait(200)
    assert replay.equal, replay.report()
    assert {p.what for p in replay.proofs} == {"answers", "changes", "late rows"}
    assert all(f"{proof!r}\n" in f"{replay.report()}\n" and ": equal (" in repr(proof) for proof in replay.proofs)
    assert "rows come at another place" in replay.report()
    assert session.queries["q_shuffled"].late.height


@slow
def test_a_proof_shows_the_row_that_differs(session):
    @jupyter_stream.aggregate(name="arrival", arguments=("DOUBLE",), returns="DOUBLE")
    class Arrival:  # what it gives depends on how often it was asked
        asked = 0

        def initialize(self, price):
            pass

        def iterate(self, price):
            pass

        def terminate(self):
            Arrival.asked += 1
            return float(Arrival.asked)

    session.execute(
        "SELECT symbol, arrival(price) AS a FROM trades [RANGE 1 MINUTE TUMBLING] GROUP BY symbol", name="odd"
    )
    recorded(session)
    replay = session.replay("trades.parquet", shuffle="30s")
    assert replay.wait(200)
    assert replay.equal is False
    report = replay.report()
    assert "rows differ" in report and "shuffled" in report and "window_end" in report


def test_answers_that_count_arrivals_are_not_shuffled(session):
    session.execute("SELECT avg(price) AS p FROM trades [ROWS 10 SLIDE 10]", name="ten")
    recorded(session)
    with pytest.raises(UnsupportedError, match="ten counts rows in the order they arrive"):
        session.replay("trades.parquet", shuffle="30s")
    assert session.replay("trades.parquet").wait(200)


def test_a_replay_leaves_the_streams_late_rows_alone(session):
    (query,) = session.execute("SELECT count(*) AS n FROM trades [RANGE 10 SECONDS TUMBLING]", name="n")
    query.wait(200)
    before = session.side_stream("late", "trades").count
    recorded(session)
    assert session.replay("trades.parquet", shuffle="10s").wait(200)
    assert before and session.side_stream("late", "trades").count == before


def test_a_live_stream_is_recorded_from_now_on_until_it_is_stopped(tmp_path):
    go, start = threading.Event(), dt.datetime(2024, 1, 1)

    def ticks():
        for i in range(100):
            if i == 50:
                go.wait(200)
            yield {"n": i, "at": start + dt.timedelta(seconds=i)}

    with Session({"ticks": ticks()}) as session:
        session.execute("CREATE STREAM ticks (n INT, at TIMESTAMP) ORDER BY at SOURCE 'python://ticks'")
        (query,) = session.execute("SELECT n FROM ticks", name="all")
        while query.to_polars().height < 50:
            query.wait(0.05)
        recording = session.record("ticks", tmp_path / "t.parquet")
        go.set()
        assert query.wait(200) and recording.wait(200)
        assert recording.status == "done"
        kept = load(recording.path)
        assert kept.rows["n"].to_list() == list(range(50, 100))
        assert kept.rows["$promised"][0] == (start + dt.timedelta(seconds=49)).timestamp() * 1e6 or kept.late == 0


def test_a_stream_is_recorded_again_right_after_stop(session, monkeypatch):
    monkeypatch.setattr(recordings, "_WHOLE", PATIENCE)
    first = session.record("trades")
    busy = threading.Event()
    session.engine.submit(lambda: busy.wait(200))
    first.stop()
    threading.Timer(0.1, busy.set).start()
    again = session.record("trades", overwrite=True)
    assert again.wait(200) and first.status == "done"
    assert pl.read_parquet(again.path).height == 3000


def test_a_file_that_is_there_is_not_overwritten_unasked(session, tmp_path):
    recorded(session)
    with pytest.raises(SourceError, match="exists already") as refused:
        session.record("trades")
    assert "--overwrite" in str(refused.value)
    assert session.record("trades", overwrite=True).wait(200)


def test_a_recording_stays_in_its_folder_whatever_its_stream_is_called(session, tmp_path):
    session.execute(DECLARED.replace("trades", "`../../x`"))
    recording = session.record("../../x")
    assert recording.wait(200) and recording.path.resolve().parent == Path.cwd()


def test_a_full_disk_is_told(session, tmp_path):
    full = tmp_path / "full.parquet"
    (tmp_path / "full.parquet.part").symlink_to("/dev/full")
    recording = session.record("trades", full)
    with pytest.raises(QueryError, match="No space left on device"):
        recording.wait(200)
    assert "No space left on device" in repr(recording) and not full.exists()


LIVE = """
import threading, time
from jupyter_stream import Session
def ticks():
    for i in range(1_000):
        yield {"n": i, "at": i}
        time.sleep(0.001)
    threading.Event().wait()
session = Session(namespace={"ticks": ticks()})
session.execute("CREATE STREAM ticks (n INT, at BIGINT) ORDER BY at SOURCE 'python://ticks'")
recording = session.record("ticks")
while recording._recorder.writer._written < 1_000:
    time.sleep(0.01)
print("written", flush=True)
threading.Event().wait()
"""


@slow
def test_a_recording_survives_a_kill_but_for_its_last_second(session):
    process = subprocess.Popen([sys.executable, "-c", LIVE], stdout=subprocess.PIPE, text=True)
    said = process.stdout.readline()  # all that has come is written, though more may come at any time
    with pytest.raises(SourceError, match="still being recorded"):
        load(Path("ticks.parquet"))
    process.kill()
    process.wait(200)
    process.stdout.close()
    assert said == "written\n"
    kept = load(Path("ticks.parquet"))
    assert kept.rows["n"].to_list() == list(range(1_000)) and kept.about.stream == "ticks"
    assert recording_file._FLUSH <= 1
    with pytest.raises(SourceError, match="ended too early"):
        session.record("trades", "ticks.parquet")


@slow
def test_a_stream_that_is_faster_than_it_is_written_waits_for_that(session, monkeypatch):
    monkeypatch.setattr("jupyter_stream.sources.recording_file._WAITING_ROWS", 1_000)
    monkeypatch.setattr("jupyter_stream.sources.recording_file._GROUP_ROWS", 1_000)
    held, write = threading.Event(), RecordingWriter._write

    def later(writer):
        held.wait(200)
        write(writer)

    monkeypatch.setattr(RecordingWriter, "_write", later)
    session.namespace["many"] = lambda: iter([some_rows(100_000)] * 3)
    session.execute(DECLARED.replace("trades", "many").replace("frame://rows", "python://many"))
    recording = session.record("many")
    while recording.rows < 1_000:
        assert not recording.wait(0.01)
    settle(session.engine)
    held.set()
    assert recording.wait(200)
    assert recording.rows == 300_000 == load(recording.path).rows.height


def test_where_it_can_not_be_written_any_more_queries_of_the_stream_go_on(session, monkeypatch):
    monkeypatch.setattr("jupyter_stream.sources.recording_file._WAITING_ROWS", 1_000)

    def fails(_):
        raise OSError("the disk is full")

    monkeypatch.setattr(RecordingWriter, "_write_all", fails)
    go = threading.Event()

    def ticks():
        yield {"n": 0, "at": 0}
        go.wait(200)
        yield from [pl.DataFrame({"n": range(50_000), "at": range(50_000)})] * 4

    session.namespace["ticks"] = ticks()
    session.execute("CREATE STREAM ticks (n INT, at BIGINT) ORDER BY at SOURCE 'python://ticks'")
    (query,) = session.execute("SELECT n FROM ticks", name="all")
    recording = session.record("ticks")
    with pytest.raises(QueryError, match="the disk is full"):
        recording.wait(200)
    go.set()
    assert query.wait(200)
    assert query.stats["rows_in"] == 200_001 and recording.status == "failed"


@pytest.mark.parametrize("time", ["at TIMESTAMP) ORDER BY at", "k INT) ORDER BY current_time"])
def test_a_recording_without_rows_is_one(session, time):
    session.namespace["none"] = []
    session.execute(f"CREATE STREAM none (n INT, {time} SOURCE 'python://none'")
    recording = session.record("none")
    assert recording.wait(200) and recording.rows == 0
    (query,) = session.execute("SELECT count(*) AS n FROM none [RANGE 1 SECOND TUMBLING]", name="n")
    replay = session.replay(recording.path, "n", shuffle="1 second")
    assert query.wait(200) and replay.wait(200) and replay.equal, replay.report()


class Alarm:
    """A timer that goes off when it is told to."""

    def __init__(self, seconds, ring):
        self.seconds, self.ring, self.begun = seconds, ring, False

    def start(self):
        self.begun = True

    def cancel(self):
        self.begun = False


def test_a_recording_ends_with_its_time(tmp_path, monkeypatch):
    with Session() as session:
        session.execute("CREATE STREAM load ORDER BY current_time SOURCE 'system://cpu?every=100ms'")
        with monkeypatch.context() as patch:
            patch.setattr(recordings, "threading", SimpleNamespace(Timer=Alarm))
            recording = session.record("load", tmp_path / "cpu.parquet", seconds=1.5)
        alarm = recording._timer
        assert alarm.begun and alarm.seconds == 1.5
        until(lambda: recording.rows >= 3)
        alarm.ring()
        assert recording.wait(200)
        session.execute("SELECT count(*) AS n FROM load [RANGE 1 SECOND TUMBLING]", name="n", paused=True)
        replay = session.replay(tmp_path / "cpu.parquet", shuffle="1 second")
        assert replay.wait(200) and replay.equal
        counted = session.queries["n_recorded"].to_polars()["n"].sum()
        assert counted == recording.rows > 0


def test_punctuations_in_a_column_are_recorded_as_promises(tmp_path):
    rows = pl.DataFrame(
        {
            "n": [1, 2, None, 3, 4, None, 5],
            "at": [10, 5, None, 30, 7, None, 50],
            "said": [None, None, 20, None, None, 40, None],
        },
        schema={"n": pl.Int64, "at": pl.Int64, "said": pl.Int64},
    )
    with Session({"rows": rows}) as session:
        session.execute("""CREATE STREAM s (n BIGINT, at BIGINT, said BIGINT) ORDER BY at SOURCE 'frame://rows'
                           WITH (punctuation = 'said')""")
        session.record("s", tmp_path / "s.parquet").wait(200)
        kept = load(tmp_path / "s.parquet")
        assert kept.rows["n"].to_list() == [1, 2, 3, 4, 5]
        assert kept.rows["$promised"].to_list() == [None, None, 20, 20, 40]
        assert kept.late == 1


def test_what_is_no_recording_is_refused_with_the_reason(session, tmp_path):
    session.execute("SELECT symbol FROM trades", name="q")
    session.namespace["rows"].write_parquet(tmp_path / "plain.parquet")
    with pytest.raises(SourceError, match="not a recording of a stream"):
        session.replay(tmp_path / "plain.parquet")
    with pytest.raises(SourceError, match="there is no file"):
        session.replay(tmp_path / "nothing.parquet")
    (tmp_path / "table.csv").write_text("a,b\n")
    with pytest.raises(SourceError, match="can't be read as a recording"):
        session.replay(tmp_path / "table.csv")
    with pytest.raises(QueryError, match="q is a query, and only streams can be recorded"):
        session.record("q")
    with pytest.raises(QueryError, match="there is no stream or query called trdes"):
        session.record("trdes")
    recorded(session)
    with pytest.raises(QueryError, match="not a length of time"):
        session.replay("trades.parquet", shuffle="far")
    with pytest.raises(SourceError, match="can't be written"):
        session.record("trades", tmp_path / "no" / "folder.parquet")
    assert b"jupyter_stream.recording" in pq.read_schema("trades.parquet").metadata


@given(
    times=st.lists(st.integers(0, 30), min_size=1, max_size=40),
    delay=st.integers(0, 10),
    within=st.integers(0, 40),
    seed=st.integers(0, 5),
)
@settings(max_examples=examples(60), deadline=None)
def test_a_shuffle_makes_no_row_late_and_keeps_late_ones_late_by_the_same(times, delay, within, seed):
    ts = np.array(times)
    newest = np.concatenate([[ts[0]], np.maximum.accumulate(ts)[:-1]])
    promised = newest - delay
    order, there = reorder(ts, promised, within, seed)
    assert sorted(order) == list(range(ts.size))
    late = ts < promised
    assert ((ts[order] < there) == late[order]).all()
    assert (there[late[order]] == promised[order][late[order]]).all()
    assert (np.diff(there) >= 0).all() and set(there.tolist()) <= set(promised.tolist())
    for group in (late, ~late):
        for time in set(times):
            same = [int(i) for i in order if ts[i] == time and group[i]]
            assert same == sorted(same)
