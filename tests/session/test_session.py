"""A session as its user sees it: queries start, answer, pause, stop; what can't be used is kept and said."""

import threading
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pytest

from jupyter_stream import QueryError, Session
from tests.waiting import PATIENCE, until


@pytest.fixture
def namespace() -> dict[str, object]:
    n = 5000
    return {
        "rows": pl.DataFrame({"ts": range(n), "k": [i % 3 for i in range(n)], "v": range(n)}).cast(pl.Int64),
        "disordered": pl.DataFrame({"ts": [0, 20_000, 5_000, 30_000, 1], "k": [1, 1, 2, 2, 3]}).cast(pl.Int64),
    }


@pytest.fixture
def session(namespace: dict[str, object]):
    session = Session(namespace)
    session.execute("CREATE STREAM rows (ts BIGINT, k BIGINT, v BIGINT) ORDER BY ts SOURCE 'frame://rows'")
    yield session
    session.close()


COUNT = "SELECT k, count(*) AS n FROM rows [RANGE 1 MILLISECOND TUMBLING] GROUP BY k"


def test_a_query_over_a_frame_finishes_with_every_row_counted(session: Session) -> None:
    (query,) = session.execute(COUNT)
    assert query.wait(200)
    assert query.status == "finished"
    assert query.to_polars()["n"].sum() == 5000
    assert query.to_pandas()["n"].sum() == 5000
    assert query.to_arrow().num_rows == query.to_polars().height
    assert query.to_polars().columns == ["window_start", "window_end", "k", "n"]


def test_queries_of_one_cell_read_a_frame_once_together(session: Session) -> None:
    a, b = session.execute(f"{COUNT}; SELECT max(v) AS m FROM rows [RANGE 1 MILLISECOND TUMBLING]")
    assert a.wait(200) and b.wait(200)
    assert a._pipeline.feeds.keys() == b._pipeline.feeds.keys()
    assert b.to_polars()["m"].to_list() == [999, 1999, 2999, 3999, 4999]


def test_a_later_cell_reads_a_frame_from_its_beginning(session: Session) -> None:
    (a,) = session.execute(COUNT)
    a.wait(200)
    (b,) = session.execute(COUNT)
    assert b.wait(200)
    assert b.to_polars().sort("window_end", "k").equals(a.to_polars().sort("window_end", "k"))


def test_the_same_name_and_text_keeps_the_query_running_and_changed_text_replaces_it(session: Session) -> None:
    first = session.run(COUNT, name="hot", paused=True)[-1]
    said, again = session.run(COUNT, name="hot")
    assert again is first
    assert "running already" in said.text
    said, other = session.run(COUNT.replace("count(*)", "sum(v)"), name="hot")
    assert other is not first
    assert "replaced" in said.text
    until(lambda: first.status == "stopped")
    assert other.wait(200)


def test_the_same_text_right_after_stop_starts_anew(session: Session) -> None:
    first = session.run(COUNT, name="hot", paused=True)[-1]
    busy = threading.Event()
    session.engine.submit(lambda: busy.wait(PATIENCE))  # as in a long batch: what it is told it does later
    first.stop()
    with ThreadPoolExecutor(1) as cell:
        run = cell.submit(session.run, COUNT, name="hot")
        until(lambda: run.done() or session.queries["hot"] is not first)
        busy.set()
        (again,) = run.result(PATIENCE)
    assert again is not first
    assert again.wait(PATIENCE)
    assert again.to_polars()["n"].sum() == 5000
    assert first.status == "stopped"


def test_a_paused_query_takes_nothing_until_it_is_resumed(session: Session) -> None:
    query = session.run(COUNT, paused=True)[-1]
    assert not query.wait(0.3)
    assert query.status == "paused"
    assert query.to_polars().height == 0
    query.resume()
    assert query.wait(200)
    assert query.to_polars()["n"].sum() == 5000


def test_one_query_of_two_can_be_paused_and_misses_nothing(session: Session) -> None:
    go = threading.Event()

    def slowly():
        for i in range(3000):
            if i == 1000:
                go.wait(200)
            yield {"ts": i, "k": 0}

    session.namespace["slowly"] = slowly
    session.execute("CREATE STREAM s (ts BIGINT, k BIGINT) ORDER BY ts SOURCE 'python://slowly'")
    a, b = session.execute("SELECT count(*) AS n FROM s [RANGE 1 MILLISECOND TUMBLING]; SELECT ts FROM s")
    until(lambda: b.to_polars().height > 0)
    b.pause()
    until(lambda: b.status == "paused")
    seen = b.to_polars().height
    go.set()
    assert a.wait(200)
    assert b.to_polars().height == seen
    b.resume()
    assert b.wait(200)
    assert b.to_polars()["ts"].to_list() == list(range(3000))


def test_a_stopped_query_keeps_its_answers_and_ends_its_source(session: Session) -> None:
    ended = threading.Event()

    def endless():
        i = 0
        try:
            while True:
                yield {"ts": i, "k": 0}
                i += 1
        finally:
            ended.set()

    session.namespace["endless"] = endless
    session.execute("CREATE STREAM s (ts BIGINT, k BIGINT) ORDER BY ts SOURCE 'python://endless'")
    (query,) = session.execute("SELECT count(*) AS n FROM s [RANGE 1 MILLISECOND TUMBLING]")
    until(lambda: query.to_polars().height > 0)
    query.stop()
    assert query.wait(200)
    assert query.status == "stopped"
    rows = query.to_polars()
    assert set(rows["n"].to_list()) == {1000}
    assert ended.wait(200)


def test_a_generator_that_fails_ends_its_query_with_the_reason_and_no_other(session: Session) -> None:
    def broken():
        yield {"ts": 1, "k": 0}
        raise ValueError("the cable came loose")

    session.namespace["broken"] = broken
    session.execute("CREATE STREAM s (ts BIGINT, k BIGINT) ORDER BY ts SOURCE 'python://broken'")
    bad, good = session.execute(f"SELECT k FROM s; {COUNT}")
    assert good.wait(200)
    with pytest.raises(QueryError, match="the cable came loose"):
        bad.wait(200)
    assert bad.status == "failed"
    assert good.to_polars()["n"].sum() == 5000


def test_results_come_to_a_callback_and_one_that_fails_harms_nothing(session: Session) -> None:
    got: list[pl.DataFrame] = []
    query = session.run(COUNT, paused=True)[-1]
    query.on_result(lambda frame: 1 / 0)
    query.on_result(got.append)
    query.resume()
    assert query.wait(200)
    until(lambda: sum(f.height for f in got) == query.to_polars().height)
    assert pl.concat(got)["n"].sum() == 5000


def test_only_the_newest_rows_are_kept(session: Session) -> None:
    query = session.run("SELECT v FROM rows", keep=100)[-1]
    assert query.wait(200)
    assert query.to_polars()["v"].to_list() == list(range(4900, 5000))
    assert query.snapshot().rows_out == 5000


def test_the_latest_answers_are_the_same_whoever_has_looked_at_all(session: Session) -> None:
    frame = session.namespace["rows"]
    session.namespace["parts"] = lambda: (frame[at : at + 500] for at in range(0, 5000, 500))
    session.execute("CREATE STREAM parts (ts BIGINT, k BIGINT, v BIGINT) ORDER BY ts SOURCE 'python://parts'")
    (query,) = session.execute(COUNT.replace("rows", "parts"))
    assert query.wait(200)
    latest = query.latest
    assert set(latest["window_end"]) == {5000}
    assert query.to_polars().height == 15
    assert query.latest.equals(latest)


def test_late_row_goes_to_the_late_stream_with_the_punctuation_it_broke(session: Session) -> None:
    session.execute("CREATE STREAM d (ts BIGINT, k BIGINT) ORDER BY ts SOURCE 'frame://disordered'")
    (query,) = session.execute("SELECT count(*) AS n FROM d [RANGE 10 MILLISECONDS TUMBLING]")
    assert query.wait(200)
    assert query.late.rows() == [(5_000, 2, 20_000, 1), (1, 3, 30_000, 1)]
    assert query.snapshot().late == 2
    assert "WATERMARK" in (query.snapshot().hint or "")
    (late,) = session.execute("SELECT k, punctuation, missed FROM late(d)")
    assert late.wait(200)
    assert late.to_polars().rows() == [(2, 20_000, 1), (3, 30_000, 1)]


def test_a_row_whose_expression_fails_goes_to_errors_and_the_others_are_answered(session: Session) -> None:
    (query,) = session.execute("SELECT v, 10 % (v - 3) AS r FROM rows WHERE v < 6")
    assert query.wait(200)
    assert query.to_polars()["v"].to_list() == [0, 1, 2, 4, 5]
    (errors,) = session.execute("SELECT raw, reason FROM errors(rows)")
    assert errors.wait(200)
    ((raw, reason),) = errors.to_polars().rows()
    assert '"v":3' in raw
    assert "zero" in reason.lower()
    assert query.snapshot().bad == 1


def test_a_null_time_is_an_error_of_the_row(session: Session) -> None:
    session.namespace["holes"] = pl.DataFrame(
        {"ts": [1, None, 3], "k": [1, 2, 3]}, schema={"ts": pl.Int64, "k": pl.Int64}
    )
    session.execute("CREATE STREAM h (ts BIGINT, k BIGINT) ORDER BY ts SOURCE 'frame://holes'")
    (query,) = session.execute("SELECT k FROM h")
    assert query.wait(200)
    assert query.to_polars()["k"].to_list() == [1, 3]
    assert session.side_stream("errors", "h").frame()["reason"].to_list() == ["ts is NULL, and every row needs a time"]


def test_a_stream_stamped_on_arrival_closes_its_windows_though_nothing_more_comes(session: Session) -> None:
    hold = threading.Event()

    def three():
        yield from ({"k": i} for i in range(3))
        hold.wait(200)

    session.namespace["three"] = three()
    session.execute("CREATE STREAM i (k BIGINT) ORDER BY current_time SOURCE 'python://three'")
    (query,) = session.execute("SELECT count(*) AS n FROM i [RANGE 200 MILLISECONDS TUMBLING]")
    until(lambda: query.to_polars()["n"].sum() == 3)
    assert query.status == "running"
    hold.set()


def test_a_live_source_is_shared_and_a_later_query_sees_what_comes_after_it(session: Session) -> None:
    more = threading.Event()

    def live():
        yield from ({"ts": i, "k": 0} for i in range(10))
        more.wait(200)
        yield from ({"ts": i, "k": 0} for i in range(10, 20))

    session.namespace["live"] = live()
    session.execute("CREATE STREAM l (ts BIGINT, k BIGINT) ORDER BY ts SOURCE 'python://live'")
    (early,) = session.execute("SELECT ts FROM l")
    until(lambda: early.to_polars().height == 10)
    (later,) = session.execute("SELECT ts FROM l")
    assert later._pipeline.feeds.keys() == early._pipeline.feeds.keys()
    more.set()
    assert early.wait(200) and later.wait(200)
    assert early.to_polars()["ts"].to_list() == list(range(20))
    assert later.to_polars()["ts"].to_list() == list(range(10, 20))


def test_a_punctuation_column_closes_windows_and_its_rows_are_no_data(session: Session) -> None:
    session.namespace["said"] = pl.DataFrame(
        {"ts": [500, 100, None, 200, 1500, None], "p": [None, None, 1000, None, None, 2000]},
        schema={"ts": pl.Int64, "p": pl.Int64},
    )
    session.execute("CREATE STREAM p (ts BIGINT, p BIGINT) ORDER BY ts SOURCE 'frame://said' WITH (punctuation = 'p')")
    (query,) = session.execute("SELECT count(*) AS n FROM p [RANGE 1 MILLISECOND TUMBLING]")
    assert query.wait(200)
    assert query.to_polars().rows() == [(0, 1000, 2), (1000, 2000, 1)]
    assert query.late.rows() == [(200, None, 1000, 1)]


def test_slack_counts_rows(session: Session) -> None:
    session.namespace["slack"] = pl.DataFrame({"ts": [900, 1100, 1200, 800, 1300, 700]}, schema={"ts": pl.Int64})
    session.execute("CREATE STREAM s (ts BIGINT) ORDER BY ts SOURCE 'frame://slack' WITH (slack = '2 rows')")
    (query,) = session.execute("SELECT count(*) AS n FROM s [RANGE 1 MILLISECOND TUMBLING]")
    assert query.wait(200)
    assert query.to_polars().rows() == [(0, 1000, 2), (1000, 2000, 3)]
    assert query.late["ts"].to_list() == [700]


def test_show_describe_explain_and_drop_answer_at_once(session: Session) -> None:
    (streams,) = session.execute("SHOW STREAMS")
    assert streams.to_polars()["stream"].to_list() == ["rows"]
    (columns,) = session.execute("DESCRIBE rows")
    assert columns.to_polars().rows()[0] == ("ts", "BIGINT", "event time")
    (plan,) = session.execute(f"EXPLAIN {COUNT}")
    assert "window aggregate [RANGE 1 MILLISECOND TUMBLING]" in str(plan)
    (functions,) = session.execute("DESCRIBE FUNCTIONS")
    assert {"upper", "count", "date_trunc"} <= set(functions.to_polars()["function"])
    session.execute("DROP STREAM rows")
    del session.namespace["rows"]  # a frame of that name would do
    with pytest.raises(QueryError, match="rows"):
        session.execute(COUNT)


def test_a_stream_others_derive_from_is_not_dropped(session: Session) -> None:
    session.execute("CREATE STREAM big AS SELECT ts, v FROM rows WHERE v > 10")
    with pytest.raises(QueryError, match="derived"):
        session.execute("DROP STREAM rows")
    session.execute("DROP STREAM big; DROP STREAM rows")


def test_values_of_the_notebook_are_values_not_text(session: Session) -> None:
    session.namespace["limit"] = 3
    session.namespace["text"] = "x' OR '1'='1"
    (query,) = session.execute("SELECT v, :text AS t FROM rows WHERE v < {{ limit + 1 }}")
    assert query.wait(200)
    assert query.to_polars().rows() == [(v, "x' OR '1'='1") for v in range(4)]


def test_nothing_runs_after_close(namespace: dict[str, object]) -> None:
    others = set(threading.enumerate())
    session = Session(namespace)
    namespace["forever"] = lambda: iter(lambda: {"ts": 0}, None)
    session.execute("CREATE STREAM f (ts BIGINT) ORDER BY ts SOURCE 'python://forever'")
    (query,) = session.execute("SELECT ts FROM f")
    until(lambda: query.to_polars().height > 0)
    began = set(threading.enumerate()) - others
    assert "jupyter-stream engine" in {t.name for t in began}
    session.close()
    until(lambda: not any(t.is_alive() for t in began if t.name == "jupyter-stream engine"))
    assert query.status == "stopped"


def test_a_dropped_stream_still_takes_the_late_rows_of_a_query_that_runs(session: Session) -> None:
    go = threading.Event()

    def late():
        yield {"ts": 5000}
        go.wait(200)
        yield {"ts": 1}

    session.namespace["late"] = late
    session.execute("CREATE STREAM d (ts BIGINT) ORDER BY ts SOURCE 'python://late'")
    (query,) = session.execute("SELECT count(*) AS n FROM d [RANGE 1 MILLISECOND TUMBLING]")
    session.execute("DROP STREAM d")
    go.set()
    assert query.wait(200)
    assert query.late["ts"].to_list() == [1]


def test_the_time_of_a_row_shows_as_a_time(session: Session) -> None:
    session.namespace["once"] = [{"k": 1}, {"k": 2}]
    session.execute("CREATE STREAM i (k BIGINT) ORDER BY current_time SOURCE 'python://once'")
    (query,) = session.execute("SELECT k, current_time AS t, year(current_time) AS y FROM i")
    assert query.wait(200)
    assert query.to_polars().schema["t"] == pl.Datetime("us")
    assert query.to_polars()["y"].min() >= 2024


def test_a_union_of_streams_counts_rows_though_no_column_is_read(session: Session) -> None:
    (query,) = session.execute("SELECT count(*) AS n FROM (rows UNION ALL rows) [RANGE ALL SLIDE 1 SECOND]")
    assert query.wait(200)
    assert query.to_polars()["n"].to_list() == [10_000]


def test_emit_changes_where_nothing_changes_is_refused_with_what_to_write(session: Session) -> None:
    over = "SELECT k, count(*) OVER (PARTITION BY k ROWS 5 PRECEDING) AS n FROM rows"
    outer = "SELECT a.k FROM rows [RANGE 1 SECOND] a LEFT JOIN rows [RANGE 1 SECOND] b ON a.k = b.k"
    for text, what in ((over, "OVER"), (outer, "left join")):
        with pytest.raises(QueryError, match=f"EMIT CHANGES .*{what}") as refused:
            session.execute(f"{text} EMIT CHANGES")
        assert "Leave EMIT CHANGES out" in (refused.value.hint or "")
    assert not session.queries


def test_errors_of_a_query_are_its_own_and_show_the_answer_or_the_time_they_are_about(session: Session) -> None:
    failing = session.execute("SELECT 1 / (v - v) AS x FROM rows WHERE k = 1")[0]
    answers = session.execute("SELECT 1 / (count(*) - count(*)) AS x FROM rows [RANGE 1 SECOND TUMBLING]")[0]
    sums = session.execute("SELECT sum(v + 9223372036854770000) AS x FROM rows")[0]
    fine = session.execute("SELECT count(*) AS n FROM rows [RANGE 1 SECOND TUMBLING]")[0]
    for query in (failing, answers, sums, fine):
        assert query.wait(200)
    assert fine.errors.shape == (0, 2)
    assert all('"k":1' in raw for raw in failing.errors["raw"])
    assert failing.errors["reason"].unique().to_list() == ["division by zero"]
    assert answers.errors["raw"].to_list() == ['{"window_start":0,"window_end":1000000}']
    assert sums.errors["raw"][0] == '{"at":1}'
    assert sums.errors["reason"].unique().to_list() == ["a sum is beyond BIGINT"]


def test_a_closed_session_says_so_at_once(session: Session) -> None:
    (query,) = session.execute(COUNT)
    assert query.wait(200)
    session.close()
    query.stop()
    assert query.to_polars()["n"].sum() == 5000
    with pytest.raises(QueryError, match="the session is closed"):
        session.execute(COUNT)


@pytest.mark.parametrize("keep", [0, -5, "many"])
def test_keep_is_a_number_of_rows(session: Session, keep: object) -> None:
    with pytest.raises(QueryError, match="keep must be a number of rows"):
        session.execute(COUNT, keep=keep)


def test_what_a_handle_cannot_use_is_told_when_it_is_given(session: Session) -> None:
    (query,) = session.execute(COUNT)
    with pytest.raises(QueryError, match="can't be called"):
        query.on_result(3)
    for show in (query.chart, query.view):
        with pytest.raises(QueryError, match="no option of charts 'colour'"):
            show("bar", colour="red")


def test_whole_numbers_beside_nulls_stay_exact_in_pandas(session: Session) -> None:
    large = 2**53 + 1
    session.namespace["few"] = pl.DataFrame({"ts": [1, 31], "v": [large, -large], "w": [1, 2], "i": [3, None]})
    session.execute("CREATE STREAM few (ts BIGINT, v BIGINT, w BIGINT, i INT) ORDER BY ts SOURCE 'frame://few'")
    (plain,) = session.execute("SELECT i FROM few")
    assert plain.wait(200) and plain.to_pandas()["i"].isna().tolist() == [False, True]
    (query,) = session.execute("SELECT sum(v) AS v, sum(w) AS w FROM few [RANGE 10 MICROSECONDS TUMBLING]")
    assert query.wait(200)
    answer = query.to_pandas()
    assert [answer["v"][0], answer["v"][3]] == [large, -large] and answer["v"].isna().tolist() == [
        False,
        True,
        True,
        False,
    ]
    assert answer["w"].dtype == "float64"
