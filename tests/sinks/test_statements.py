"""Answers on their way to sinks: INSERT INTO, into=, SHOW, DESCRIBE and DROP SINK, and what is refused, with its place."""

from __future__ import annotations

import json
import queue
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote

import deltalake
import polars as pl
import pytest

from jupyter_stream import QueryError, Session, SinkError
from tests.sinks.reading import files, parquet, sqlite
from tests.tiers import slow
from tests.waiting import until

ROWS = pl.DataFrame({"ts": range(1000), "k": [f"k{i % 5}" for i in range(1000)], "n": range(1000)})
TUMBLING = (
    "SELECT window_start, window_end, k, count(*) AS c, sum(n) AS total "
    "FROM s [RANGE 100 MICROSECONDS TUMBLING] GROUP BY k"
)
STATE = "SELECT k, count(*) AS c, sum(n) AS total FROM s [RANGE 150 MICROSECONDS] GROUP BY k"


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.chdir(tmp_path)
    with Session({"rows": ROWS}) as session:
        session.execute("CREATE STREAM s (ts BIGINT, k STRING, n BIGINT) ORDER BY ts SOURCE 'frame://rows'")
        yield session


class Live:
    """A live source that gives rows when it is told to."""

    def __init__(self, session: Session, name: str = "live") -> None:
        self._rows: queue.SimpleQueue[dict[str, object] | None] = queue.SimpleQueue()
        session.namespace[f"{name}_rows"] = iter(self._rows.get, None)
        session.execute(
            f"CREATE STREAM {name} (ts BIGINT, k STRING, n BIGINT) ORDER BY ts SOURCE 'python://{name}_rows'"
        )

    def give(self, *rows: tuple[int, str, int]) -> None:
        for ts, k, n in rows:
            self._rows.put({"ts": ts, "k": k, "n": n})

    def end(self) -> None:
        self._rows.put(None)


def run(session: Session, text: str, **options: object) -> object:
    query = session.execute(text, **options)[-1]
    assert query.wait(200)
    return query


def same(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    return sorted(one.rows(), key=repr) == sorted(other.rows(), key=repr)


# -- files --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("format", "ending"), [("parquet", "parquet"), ("json", "jsonl"), ("csv", "csv")])
def test_files_hold_the_answer_and_are_read_back_as_a_stream(session: Session, format: str, ending: str) -> None:
    q = run(session, f"INSERT INTO 'file://out/' WITH (format = '{format}') {TUMBLING}")
    assert q.status == "finished" and q.written == q.to_polars().height == 50
    assert [p.suffix for p in files(Path("out"))] == [f".{ending}"]
    columns = "window_start BIGINT, window_end BIGINT, k STRING, c BIGINT, total BIGINT"
    session.execute(f"CREATE STREAM back ({columns}) SOURCE 'file://out/*.{ending}'")
    assert same(run(session, "SELECT * FROM back").to_polars(), q.to_polars())
    assert not list(Path("out").glob(".*"))


def test_folders_of_partitions_are_read_by_others_as_they_were(session: Session) -> None:
    q = run(session, f"INSERT INTO 'file://out/' WITH (partition_by = 'k, c') {TUMBLING}")
    assert {str(p.parent) for p in files(Path("out"))} == {f"out/k=k{i}/c=20" for i in range(5)}
    back = pl.read_parquet("out/**/*.parquet", hive_partitioning=True, hive_schema={"k": pl.String, "c": pl.Int64})
    assert same(back.select(q.to_polars().columns), q.to_polars())


@pytest.mark.parametrize("sink", ["file", "delta"])
def test_a_text_that_readers_take_for_null_is_no_folders_name(session: Session, sink: str) -> None:
    marker = "__HIVE_DEFAULT_PARTITION__"
    session.namespace["few"] = pl.DataFrame({"k": ["a", "", None, marker, " "], "n": range(1, 6)})
    q = run(session, f"INSERT INTO '{sink}://out/' WITH (partition_by = 'K') SELECT k, n FROM few")
    assert q.errors["raw"].to_list() == ['{"k":"","n":2}', f'{{"k":"{marker}","n":4}}']
    assert {unquote(p.name) for p in Path("out").glob("k=*")} == {f"k={marker}", "k=a", "k= "}
    back = pl.read_parquet("out/*/*.parquet", hive_partitioning=True)
    assert same(back.select("k", "n"), pl.DataFrame({"k": ["a", None, " "], "n": [1, 3, 5]}))


def test_one_file_holds_the_state(session: Session) -> None:
    q = run(session, f"INSERT INTO 'file://state.csv' WITH (mode = 'replace') {STATE}")
    assert same(pl.read_csv("state.csv"), q.to_polars()) and q.to_polars().height == 5


def test_a_relation_goes_to_a_folder_as_its_change_log(session: Session) -> None:
    q = run(session, f"INSERT INTO 'file://log/' {STATE}")
    assert same(parquet(Path("log")), q.changes()) and {"op", "at"} <= set(q.changes().columns)


def test_files_are_whole_whenever_somebody_looks(session: Session) -> None:
    live, over, seen = Live(session), threading.Event(), []

    def look() -> None:
        while not over.is_set():
            for path in Path("out").glob("*"):
                if not path.name.startswith("."):
                    seen.append(pl.read_parquet(path).height)

    q = session.execute("INSERT INTO 'file://out/' WITH (commit_every = '1 millisecond') SELECT ts, k, n FROM live")[0]
    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        for i in range(30):
            live.give(*((i * 50 + j, "k", j) for j in range(50)))
            until(lambda i=i: q.written == i * 50 + 50)
        until(lambda: seen)
    finally:
        over.set()
        watcher.join()
        live.end()
    assert q.wait(200) and len(files(Path("out"))) >= 30
    assert set(seen) and 0 not in seen and parquet(Path("out")).height == 1500


# -- databases ----------------------------------------------------------------------------------------------------------


def test_a_relation_as_upserts_is_its_state_though_rows_expire_after_the_end(session: Session, tmp_path: Path) -> None:
    q = run(
        session, f"CREATE SINK hot TO 'sqlite://a.db' WITH (key = 'k', commit_every = '1 ms'); INSERT INTO hot {STATE}"
    )
    assert q.changes()["op"].sum() == 0, "all rows expire in the change log"
    assert same(sqlite(tmp_path / "a.db", "hot", q.to_polars()), q.to_polars())


def test_top_rows_leave_the_table(session: Session, tmp_path: Path) -> None:
    q = run(session, "INSERT INTO 'sqlite://a.db?table=t' WITH (key = 'n') SELECT k, n FROM s ORDER BY n DESC LIMIT 3")
    assert same(sqlite(tmp_path / "a.db", "t", q.to_polars()), q.to_polars()) and q.to_polars().height == 3


def test_windows_with_the_key_of_their_groups_leave_the_newest(session: Session, tmp_path: Path) -> None:
    session.namespace["few"] = pl.DataFrame({"ts": [0, 1, 3, 4, 5, 10, 11], "k": ["a"] * 7})
    session.execute("CREATE STREAM few (ts BIGINT, k STRING) ORDER BY ts SOURCE 'frame://few'")
    counts = "SELECT k, count(*) AS n FROM few [RANGE 3 MICROSECONDS TUMBLING] GROUP BY k"
    q = run(session, f"INSERT INTO 'sqlite://a.db?table=t' WITH (key = 'k') {counts}")
    assert q.to_polars()["n"].to_list() == [2, 3, 2] and q.errors.is_empty()
    assert sqlite(tmp_path / "a.db", "t", q.to_polars().select("k", "n")).rows() == [("a", 2)]


def test_emit_changes_puts_each_answer_in_the_place_of_the_one_before(session: Session, tmp_path: Path) -> None:
    live = Live(session)
    text = (
        "INSERT INTO 'sqlite://a.db?table=t' WITH (key = 'window_end, k', commit_every = '1 ms') SELECT window_start, "
        "window_end, k, sum(n) AS total FROM live [RANGE 10 MICROSECONDS TUMBLING] GROUP BY k HAVING sum(n) > 5 EMIT CHANGES"
    )
    (q,) = session.execute(text)
    there = lambda: sqlite(tmp_path / "a.db", "t", q.to_polars()).rows() if q.written else []  # noqa: E731
    live.give((1, "a", 7))
    until(lambda: there() == [(0, 10, "a", 7, False)], there)
    live.give((2, "a", -5))  # below what HAVING asks: the provisional answer is taken back
    until(lambda: q.sinks[0].commits > 1 and there() == [], there)
    live.give((3, "a", 10), (12, "a", 8))
    until(lambda: sorted(there()) == [(0, 10, "a", 12, True), (10, 20, "a", 8, False)], there)
    live.end()
    assert q.wait(200) and sorted(there()) == [(0, 10, "a", 12, True), (10, 20, "a", 8, True)]


def test_provisional_answers_are_written_where_that_is_asked_for(session: Session) -> None:
    every = f"{TUMBLING} EMIT EVERY 20 MICROSECONDS"
    q = run(session, f"INSERT INTO 'file://final/' {every}")
    assert same(parquet(Path("final")), q.to_polars().drop("is_final"))
    q = run(session, f"INSERT INTO 'file://all/' WITH (provisional = true) {every}")
    assert same(parquet(Path("all")), q.changes()) and q.changes().height > 50


def test_rows_a_table_never_takes_are_errors_of_the_sink(session: Session, tmp_path: Path) -> None:
    with closing(sqlite3.connect("a.db")) as connection:
        connection.execute("CREATE TABLE few (k TEXT, n INTEGER CHECK (n % 100 <> 7))")
    q = run(session, "CREATE SINK few TO 'sqlite://a.db'; INSERT INTO few SELECT k, n FROM s")
    assert (q.written, q.errors.height, q.snapshot().bad) == (990, 10, 10)
    assert sqlite(tmp_path / "a.db", "few", q.to_polars()).height == 990
    told = run(session, "SELECT raw, reason FROM errors(few)").to_polars()
    assert json.loads(told["raw"][0])["n"] == 7 and "CHECK constraint failed" in told["reason"][0]
    assert "errors(few)" in q.snapshot().hint


@slow
def test_a_duckdb_table_keeps_its_constraints(session: Session) -> None:
    import duckdb

    with duckdb.connect("a.duckdb") as connection:
        connection.execute("CREATE TABLE few (k VARCHAR, n BIGINT CHECK (n % 100 <> 7))")
    q = run(session, "INSERT INTO 'duckdb://a.duckdb?table=few' SELECT k, n FROM s")
    with duckdb.connect("a.duckdb") as connection:
        assert connection.sql("SELECT count(*) FROM few").fetchall() == [(990,)]
    assert (q.written, q.errors.height) == (990, 10)


# -- functions ----------------------------------------------------------------------------------------------------------


def test_a_function_that_raises_for_a_row_loses_that_row_to_errors(session: Session) -> None:
    got: list[dict[str, object]] = []

    def handle(row: dict[str, object]) -> None:
        if row["n"] == 3:
            raise ValueError("not three")
        got.append(row)

    session.namespace["handle"] = handle
    q = run(session, "CREATE SINK calls TO 'python://handle' WITH (each = 'row'); INSERT INTO calls SELECT n FROM s")
    assert q.status == "finished" and [row["n"] for row in got] == [n for n in range(1000) if n != 3]
    assert len({row["row_id"] for row in got}) == 999
    told = run(session, "SELECT raw, reason FROM errors(calls)").to_polars()
    assert told["reason"].to_list() == ["ValueError: not three"] and json.loads(told["raw"][0])["n"] == 3


def test_a_function_that_cannot_reach_its_server_is_called_again_with_the_same_row_ids(session: Session) -> None:
    tries: list[list[str]] = []

    def handle(frame: pl.DataFrame) -> None:
        tries.append(frame["row_id"].to_list())
        if len(tries) < 3:
            raise ConnectionError("no route to host")

    session.namespace["handle"] = handle
    q = run(session, "INSERT INTO 'python://handle' SELECT n FROM s")
    assert len(tries) == 3 and tries[0] == tries[1] == tries[2] and q.written == 1000 and q.sinks[0].trouble is None


# -- a sink that is away ------------------------------------------------------------------------------------------------


@slow
def test_a_locked_database_holds_its_query_back_and_then_has_all_rows(tmp_path: Path) -> None:
    rows = pl.DataFrame({"ts": range(1_500_000)}).with_columns(n=pl.col("ts") * 7)
    with Session({"many": rows}, memory="64 MB") as session, closing(sqlite3.connect(tmp_path / "a.db")) as other:
        session.execute("CREATE STREAM m (ts BIGINT, n BIGINT) ORDER BY ts SOURCE 'frame://many'")
        other.execute("BEGIN EXCLUSIVE")
        (q,) = session.execute(f"INSERT INTO 'sqlite://{tmp_path}/a.db?table=t' SELECT ts, n FROM m", keep=1000)
        until(lambda: q._pipeline.held_up and q.sinks[0].trouble)
        assert q.status == "running" and q.written == 0
        assert "database is locked" in q.snapshot().hint and "The query waits." in q.snapshot().hint
        assert q.writers[0].bytes < 16 * 2**20 < rows.estimated_size()
        other.rollback()
        assert q.wait(200) and q.written == rows.height
        assert other.execute("SELECT count(*), sum(n) FROM t").fetchone() == (rows.height, rows["n"].sum())
        assert q.snapshot().hint is None


def test_a_folder_that_cannot_be_written_to_is_tried_again_and_wait_waits_for_it(session: Session) -> None:
    (q,) = session.execute("INSERT INTO 'file://out/' SELECT n FROM s", paused=True)
    Path("out").write_text("in the way")
    q.resume()
    until(lambda: q.sinks[0].trouble)
    assert not q.wait(0.01) and q.status == "running"
    Path("out").unlink()
    assert q.wait(200) and q.status == "finished" and parquet(Path("out")).height == 1000


def test_stop_writes_what_is_there_or_says_what_is_not(session: Session) -> None:
    live = Live(session)
    (q,) = session.execute("INSERT INTO 'file://out/' WITH (commit_every = '1 hour') SELECT n FROM live")
    live.give((1, "a", 1), (2, "a", 2))
    until(lambda: q.to_polars().height)
    q.stop()
    assert q.wait(200) and q.status == "stopped" and parquet(Path("out"))["n"].to_list() == [1, 2][: q.written]
    live.end()
    live = Live(session, "other")
    (q,) = session.execute("INSERT INTO 'file://away/' WITH (commit_every = '1 ms') SELECT n FROM other")
    Path("away").write_text("in the way")
    live.give((1, "a", 1))
    until(lambda: q.sinks[0].trouble)
    q.stop()
    assert q.wait(200)
    until(lambda: q.writers[0].done.is_set())
    assert q.writers[0].lost == 1 and "stopped before its last answers were written" in q.snapshot().hint
    live.end()


def test_a_sink_that_breaks_ends_its_query_with_the_reason(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no such thing")

    monkeypatch.setattr("jupyter_stream.sinks.file.FileSink.append", broken)
    (q,) = session.execute("INSERT INTO 'file://out/' SELECT n FROM s")
    with pytest.raises(QueryError, match="sink file://out/: RuntimeError: no such thing"):
        q.wait(200)
    assert q.status == "failed"


# -- statements ---------------------------------------------------------------------------------------------------------


def test_a_chart_and_two_sinks_have_the_same_answers(session: Session, tmp_path: Path) -> None:
    session.execute("CREATE SINK hot (key STRING, c INT, total DOUBLE) TO 'sqlite://a.db'")
    (q,) = session.execute(TUMBLING, name="busy", into=["file://out/", "hot"])
    assert q.name == "busy" and q.wait(200)
    assert same(parquet(Path("out")), q.to_polars())
    there = sqlite(
        tmp_path / "a.db", "hot", pl.DataFrame(schema={"key": pl.String, "c": pl.Int32, "total": pl.Float64})
    )
    assert same(there, q.to_polars().drop("window_start", "window_end")) and [s.written for s in q.sinks] == [50, 50]
    notes = q.snapshot().notes
    assert notes["written to hot"].startswith("50 at ") and len(notes) == 2


def test_several_inserts_in_a_cell_read_their_stream_once(session: Session) -> None:
    a, b = session.execute(f"INSERT INTO 'file://a/' {TUMBLING}; INSERT INTO 'file://b/' SELECT n FROM s", paused=True)
    assert list(a._pipeline.feeds) == list(b._pipeline.feeds)
    a.resume(), b.resume()
    assert a.wait(200) and b.wait(200) and parquet(Path("b")).height == 1000


def test_the_same_insert_is_running_already(session: Session) -> None:
    live = Live(session)
    text = "INSERT INTO 'file://out/' SELECT n FROM live"
    (q,) = session.execute(text)
    said, again = session.run(text)
    assert again is q and "running already" in str(said)
    (other,) = session.execute("INSERT INTO 'file://other/' SELECT n FROM live")
    assert other is not q and q.goes_on
    live.end()
    assert q.wait(200)


def test_columns_are_given_by_position_and_cast(session: Session) -> None:
    text = "CREATE SINK c (a INT, b STRING, extra DOUBLE) TO 'file://out/'; INSERT INTO c (b, a) SELECT n, ts FROM s"
    q = run(session, text)
    back = parquet(Path("out"))
    assert back.schema == {"a": pl.Int32, "b": pl.String, "extra": pl.Float64}
    assert back["b"].to_list() == [str(n) for n in range(1000)] and back["extra"].null_count() == 1000
    q = run(session, "CREATE SINK small (a TINYINT) TO 'file://small/'; INSERT INTO small SELECT n FROM s")
    assert parquet(Path("small")).height == q.written == 128 and q.errors.height == 1000 - 128


def test_tables_are_written_once_and_an_insert_into_a_table_is_as_before(session: Session) -> None:
    session.execute("CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (2); CREATE TABLE u (a INT)")
    q = run(session, "INSERT INTO 'file://out/' SELECT a FROM t")
    assert q.status == "finished" and parquet(Path("out"))["a"].to_list() == [1, 2]
    (said,) = session.run("INSERT INTO u SELECT a FROM t")
    assert str(said) == "2 rows inserted into u."


def test_show_describe_and_drop(session: Session) -> None:
    session.execute("CREATE SINK out (a BIGINT) TO 'file://out/' WITH (format = 'csv')")
    session.namespace["target"] = "file://other/"
    run(session, "INSERT INTO out SELECT n FROM s")
    run(session, "INSERT INTO :target SELECT n FROM s")
    (shown,) = session.execute("SHOW SINKS")
    told = shown.to_polars().select("sink", "to", "promise", "columns", "written_by", "rows").rows()
    assert told == [
        ("out", "file://out/", "exactly once", "a", "q1", 1000),
        ("", "file://other/", "exactly once", "", "q2", 1000),
    ]
    facts = [dict(session.execute(text)[0].to_polars().rows()) for text in ("DESCRIBE out", "DESCRIBE SINK out")]
    assert facts[0] == facts[1] and facts[0]["promise"].startswith("exactly once: files of a commit")
    assert facts[0]["options"] == "format = 'csv'" and facts[0]["written by"] == "q1" and facts[0]["rows"] == "1,000"
    assert "kept" in str(session.run("CREATE SINK IF NOT EXISTS out TO 'file://nowhere/'")[0])
    session.run("DROP SINK out; DROP SINK IF EXISTS out")
    assert session.execute("SHOW SINKS")[0].to_polars()["sink"].to_list() == ["", ""]
    with pytest.raises(QueryError, match="line 1, column 11: there is no sink called out"):
        session.run("DROP SINK out")


def test_passwords_are_shown_nowhere(session: Session) -> None:
    with pytest.raises(SinkError) as told:
        session.run("CREATE SINK h TO 'sqlite://me:sesame@here/a.db?password=opensesame'")
    assert "sesame" not in str(told.value) and "no option" in str(told.value)


@pytest.mark.parametrize(
    ("text", "column", "told"),
    [
        ("INSERT INTO 'amqp://h/t' SELECT n FROM s", 13, "There are 'file://answers/'"),
        ("INSERT INTO 'sqlit://h/t' SELECT n FROM s", 13, "Did you mean 'sqlite'?"),
        ("INSERT INTO 'out' SELECT n FROM s", 13, "it has no '://'"),
        ("INSERT INTO 'file://o/' WITH (formt = 'csv') SELECT n FROM s", 31, "Did you mean 'format'?"),
        ("INSERT INTO 'file://o/' WITH (format = 'cvs') SELECT n FROM s", 31, "Did you mean 'csv'?"),
        ("INSERT INTO 'file://o/' WITH (mode = 'upsert', key = 'n') SELECT n FROM s", 31, "sqlite://, duckdb://"),
        ("INSERT INTO 'file://o/' WITH (mode = 'changes') SELECT n FROM s", 31, "has no change log"),
        ("INSERT INTO 'file://o/' WITH (mode = 'replace') SELECT n FROM s", 31, "q.to_parquet"),
        ("INSERT INTO 'file://o.csv' SELECT n FROM s", 13, "'file://o/'"),
        ("INSERT INTO 'file://o/' WITH (mode = 'append') SELECT count(*) FROM s", 31, "mode = 'changes' or 'replace'"),
        ("INSERT INTO 'file://o/' WITH (key = 'n') SELECT n FROM s", 31, "Leave key out"),
        ("INSERT INTO 'file://o/' WITH (partition_by = 'm') SELECT n FROM s", 31, "The columns are n"),
        ("INSERT INTO 'file://o/' WITH (commit_every = 'soon') SELECT n FROM s", 31, "10 seconds"),
        ("INSERT INTO 'sqlite://a.db?table=t' SELECT k, count(*) AS c FROM s GROUP BY k", 13, "key = 'k'"),
        ("INSERT INTO 'sqlite://a.db' SELECT n FROM s", 13, "table = 'answers'"),
        ("INSERT INTO 'python://nobody' SELECT n FROM s", 13, "there is no variable 'nobody'"),
        ("INSERT INTO 'python://rows' SELECT n FROM s", 13, "can't be called"),
        ("INSERT INTO sink VALUES (1)", 13, "INSERT INTO sink SELECT"),
        ("INSERT INTO sink (b) SELECT n FROM s", 19, "no column called b"),
        ("INSERT INTO sink SELECT n, k FROM s", 18, "2 columns for 1"),
        ("INSERT INTO sink SELECT ARRAY(n) FROM s", 18, ""),
        ("INSERT INTO t WITH (mode = 'append') SELECT n FROM t", 21, "takes no options"),
        ("INSERT INTO t SELECT n FROM t EMIT CHANGES", 31, "can't have EMIT"),
        ("CREATE STREAM sink SOURCE 'frame://rows'", 15, "sink is a sink"),
        ("CREATE SINK s TO 'file://o/'", 13, "Give the sink another name"),
        ("CREATE SINK o 'file://o/'", 15, "CREATE SINK answers TO"),
        ("CREATE SINK o TO 'file://o/' WITH (forma = 'csv')", 36, "Did you mean 'format'?"),
        ("CREATE SINK o (a INT, WATERMARK FOR a AS a) TO 'file://o/'", 23, "has columns only"),
    ],
)
def test_what_is_refused_has_its_place_and_nothing_runs(session: Session, text: str, column: int, told: str) -> None:
    session.execute("CREATE SINK sink (a BIGINT) TO 'file://o/'; CREATE TABLE t (n INT)")
    with pytest.raises(QueryError) as error:
        session.execute(text)
    assert (error.value.line, error.value.column) == (1, column), str(error.value)
    assert told in str(error.value) and error.value.snippet
    assert not session.queries and not Path("o").exists()


@pytest.mark.parametrize("version", ["1.6.1", "1.5.1", "0.25.5"])
def test_a_delta_library_that_loses_transactions_or_arrays_is_refused(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr(deltalake, "__version__", version)
    with pytest.raises((SinkError, QueryError), match=f"needs deltalake 1.6.2 or newer, and {version} is installed"):
        session.run(f"INSERT INTO 'delta://{tmp_path}/t' SELECT n FROM s")
    assert not (tmp_path / "t").exists()


def test_a_table_with_other_columns_is_refused_before_the_start(session: Session) -> None:
    with closing(sqlite3.connect("a.db")) as connection:
        connection.execute("CREATE TABLE t (x INTEGER)")
    with pytest.raises(SinkError, match="the table t has no column n") as told:
        session.execute("INSERT INTO 'sqlite://a.db?table=t' SELECT n FROM s")
    assert told.value.column == 13 and not session.queries


def test_into_is_for_one_query(session: Session) -> None:
    with pytest.raises(QueryError, match="this text has 2 queries"):
        session.execute("SELECT n FROM s; SELECT k FROM s", into="file://out/")
    with pytest.raises(QueryError, match="there is no sink called nowhere"):
        session.execute("SELECT n FROM s", into="nowhere")
    assert not session.queries
