"""Spellings of Flink, Spark, RisingWave, DuckDB and TimescaleDB: those that are understood, and what others are told to write."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from jupyter_stream import Query, Session
from jupyter_stream.errors import QueryError

AT = [dt.datetime(2024, 5, 1, 10, 0, 10), dt.datetime(2024, 5, 1, 10, 0, 50), dt.datetime(2024, 5, 1, 10, 3, 10)]
TUMBLE, HOP = "DESCRIPTOR(at), INTERVAL '1' MINUTE", "DESCRIPTOR(at), INTERVAL '1' MINUTE, INTERVAL '2' MINUTE"
BY_WINDOW = "GROUP BY window_start, window_end"
MINUTES = "SELECT date_trunc('minute', at) AS w, count(*) AS n FROM s GROUP BY w"
SAME = (
    # other systems' words, and ours
    (
        f"SELECT count(*) AS n FROM TABLE(TUMBLE(TABLE s, {TUMBLE}, INTERVAL '10' SECOND)) {BY_WINDOW}",
        f"SELECT count(*) AS n FROM s [RANGE 1 MINUTE TUMBLING ORIGIN '1970-01-01 00:00:10'] {BY_WINDOW}",
    ),
    (
        f"SELECT count(*) AS n FROM TUMBLE(s, at, INTERVAL '1 MINUTE', - INTERVAL '10' SECOND) {BY_WINDOW}",
        f"SELECT count(*) AS n FROM s [RANGE 1 MINUTE TUMBLING ORIGIN '1970-01-01 00:00:50'] {BY_WINDOW}",
    ),
    (
        "SELECT count(*) AS n FROM TABLE(TUMBLE(DATA => TABLE s, TIMECOL => DESCRIPTOR(at), SIZE => INTERVAL '1' MINUTE, "
        f"OFFSET => INTERVAL '0' MINUTE)) {BY_WINDOW}",
        f"SELECT count(*) AS n FROM s [RANGE 1 MINUTE TUMBLING] {BY_WINDOW}",
    ),
    (
        f"SELECT count(*) AS n FROM TABLE(HOP(TABLE s, {HOP}, INTERVAL '10' SECOND)) {BY_WINDOW}",
        f"SELECT count(*) AS n FROM s [RANGE 2 MINUTES SLIDE 1 MINUTE ORIGIN '1970-01-01 00:00:10'] {BY_WINDOW}",
    ),
    (
        "SELECT count(*) AS n FROM TABLE(HOP(DATA => TABLE s, TIMECOL => DESCRIPTOR(at), SIZE => INTERVAL '2' MINUTE, "
        f"SLIDE => INTERVAL '1' MINUTE)) {BY_WINDOW}",
        f"SELECT count(*) AS n FROM s [RANGE 2 MINUTES SLIDE 1 MINUTE] {BY_WINDOW}",
    ),
    (
        f"SELECT k, count(*) AS n FROM TABLE(SESSION(TABLE s PARTITION BY k, {TUMBLE})) {BY_WINDOW}, k",
        f"SELECT k, count(*) AS n FROM s [SESSION 1 MINUTE PARTITION BY k] {BY_WINDOW}, k",
    ),
    (
        f"SELECT k, count(*) AS n FROM SESSION(s PARTITION BY (k), at, INTERVAL '1' MINUTE) {BY_WINDOW}, k",
        f"SELECT k, count(*) AS n FROM s [SESSION 1 MINUTE PARTITION BY k] {BY_WINDOW}, k",
    ),
    (
        "SELECT session_window.start AS a, session_window.end AS b, k FROM s GROUP BY session_window(at, '1 minute'), k",
        "SELECT window_start AS a, window_end AS b, k FROM s [SESSION 1 MINUTE] GROUP BY k",
    ),
    (
        "SELECT TUMBLE_START(at, INTERVAL '1' MINUTE) AS a, TUMBLE_END(at, INTERVAL '1' MINUTE) AS b, count(*) AS n FROM s "
        "GROUP BY TUMBLE(at, INTERVAL '1' MINUTE)",
        f"SELECT window_start AS a, window_end AS b, count(*) AS n FROM s [RANGE 1 MINUTE TUMBLING] {BY_WINDOW}",
    ),
    (
        "SELECT HOP_START(at, INTERVAL '1' MINUTE, INTERVAL '2' MINUTE) AS a, count(*) AS n FROM s "
        "GROUP BY HOP(at, INTERVAL '1' MINUTE, INTERVAL '2' MINUTE)",
        f"SELECT window_start AS a, count(*) AS n FROM s [RANGE 2 MINUTES SLIDE 1 MINUTE] {BY_WINDOW}",
    ),
    *(
        (f"SELECT {bucket} AS w, count(*) AS n FROM s GROUP BY w", MINUTES)
        for bucket in (
            "time_bucket('1 minute', at)", "time_bucket(INTERVAL '1 minute', at)",
            "time_bucket('60 seconds', at, INTERVAL '2 minutes')",
            "date_bin('1 minute', at, TIMESTAMP '2001-01-01')", "date_bin(INTERVAL '1 minute', at)",
        )
    ),
    ("SELECT time_bucket('3 months', at) AS w FROM s", "SELECT date_trunc('quarter', at) AS w FROM s"),
    ("SELECT time_bucket('1 week', at) AS w FROM s", "SELECT date_trunc('week', at) AS w FROM s"),
    (
        "SELECT s.k, t.v FROM s LEFT ASOF JOIN t ON s.k = t.k AND s.at >= t.at",
        "SELECT s.k, t.v FROM s ASOF LEFT JOIN t ON s.k = t.k AND s.at >= t.at",
    ),
    (
        f"SELECT count(*) AS n FROM TUMBLE(s, at, INTERVAL '1' MINUTE) {BY_WINDOW} EMIT ON WINDOW CLOSE",
        f"SELECT count(*) AS n FROM s [RANGE 1 MINUTE TUMBLING] {BY_WINDOW}",
    ),
    ("SELECT k, last(v IGNORE NULLS) AS l FROM s GROUP BY k",
     "SELECT k, last(v) FILTER (WHERE v IS NOT NULL) AS l FROM s GROUP BY k"),
)  # fmt: skip
HINTS = {
    "SELECT count(*) FROM s [RANGE 1 MONTH TUMBLING]": "GROUP BY date_trunc('month', ts)",
    "SELECT count(*) FROM s [RANGE 0 SECONDS]": "write [NOW]",
    "SELECT count(*) FROM s [RANGE 0]": "write [NOW]",
    "SELECT k, order FROM s": "write `order`",
    "SELECT k, group, v FROM s": "write `group`",
    "SELECT k, FROM s": "Remove the comma",
    "SELECT k, WHERE v > 1": "Remove the comma",
    "SELECT p95(v) FROM s": "Write quantile(v, 0.95).",
    "SELECT p50(v + 1) FROM s": "Write quantile(v + 1, 0.5).",
    "SELECT p999(v) FROM s": "Write quantile(v, 0.999).",
    "SELECT p05(v) FROM s": "Write quantile(v, 0.05).",
    "SELECT approx_percentile(v, 0.9) FROM s": "Write quantile(v, 0.9).",
    "SELECT generate_series(1, 3)": "FROM generate_series(1, 10)",
    "SELECT JSON_VALUE(k, '$.b') FROM s": "Write get_json_object(k, '$.b').",
    "SELECT k ->> 'a' FROM s": "get_json_object",
    "SELECT time_bucket_gapfill('1 minute', at) AS w, count(*) FROM s GROUP BY w": "FILL (PREVIOUS)",
    "SELECT locf(v) FROM s": "FILL (PREVIOUS)",
    "SELECT k, last(v, at) FROM s GROUP BY k": "Write arg_max(v, at).",
    "SELECT k, first(v, true) FROM s GROUP BY k": "Write first(v) IGNORE NULLS.",
    "SELECT k, count(*) FROM s WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY k": "FROM s [RANGE 1 MINUTE TUMBLING]",
    "SELECT k, count(*) FROM s GROUP BY k, TumblingWindow(minute, 1)": "FROM s [RANGE 1 MINUTE TUMBLING]",
    f"SELECT count(*) FROM TABLE(TUMBLE(TABLE s PARTITION BY k, {TUMBLE}))": "GROUP BY window_start, window_end, k",
    "SELECT count(*) FROM HOP(s, at, INTERVAL '1' MINUTE)": "the slide first",
    "SELECT time_bucket('1 minute', at, origin => TIMESTAMP '2024-01-01') FROM s": "go by their place",
}


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    frame = pl.DataFrame({"at": AT, "k": ["a", "b", "a"], "v": [1.0, 2.0, None]})
    with Session({"s": frame, "t": frame}) as session:
        session.execute("CREATE STREAM s SOURCE 'frame://s'; CREATE STREAM t SOURCE 'frame://t'")
        yield session


def rows(session: Session, text: str) -> pl.DataFrame:
    (query,) = session.execute(text)
    assert isinstance(query, Query) and query.wait(200)
    found = query.to_polars()
    return found.sort(sorted(found.columns)).select(sorted(found.columns))


@pytest.mark.parametrize(("theirs", "ours"), SAME)
def test_what_others_write_means_the_same(session: Session, theirs: str, ours: str) -> None:
    assert rows(session, theirs).equals(rows(session, ours))
    assert rows(session, theirs).height > 0


@pytest.mark.parametrize("text", HINTS)
def test_what_is_not_understood_says_what_to_write(session: Session, text: str) -> None:
    with pytest.raises(QueryError) as error:
        session.execute(text)
    assert HINTS[text] in str(error.value.hint)


def test_buckets_are_counted_from_the_origin_also_before_it(session: Session) -> None:
    found = rows(session, "SELECT time_bucket('2 minutes', at, TIMESTAMP '2030-01-01 00:00:30') AS w FROM s")
    wanted = [dt.datetime(2024, 5, 1, h, m, 30) for h, m in ((9, 58), (10, 0), (10, 2))]
    assert found["w"].to_list() == wanted


@pytest.mark.parametrize(
    "call", ["time_bucket('2 months', at)", "time_bucket(at, '1 minute')", "time_bucket('1 day', at, 'Asia/Tokyo')"]
)
def test_a_bucket_that_is_none_is_refused(session: Session, call: str) -> None:
    with pytest.raises(QueryError, match=r"time_bucket|argument"):
        session.execute(f"SELECT {call} FROM s")


@pytest.mark.parametrize(
    ("texts", "pattern"),
    [
        (["01.05.2024 10:00", "13.05.2024 11:00"], "dd.MM.yyyy HH:mm"),
        (["5/1/2024 10:00 AM", "5/13/2024 11:00 PM"], "M/d/yyyy hh:mm a"),
        (["13/05/2024 10:00:00"], "dd/MM/yyyy HH:mm:ss"),
        (["2024-05-01 10:00:00,123"], "yyyy-MM-dd HH:mm:ss,SSS"),
        (["01/May/2024:10:00:00 +0000"], "dd/MMM/yyyy:HH:mm:ss Z"),
        (["[01/May/2024:10:00:00 +0200]"], "''[''dd/MMM/yyyy:HH:mm:ss Z'']''"),
        (["1 May 2024 10:00", "12 June 2024 10:01"], "d MMMM yyyy HH:mm"),
        (["01-Feb-2024"], "dd-MMM-yyyy"),
        (["2024-05-01 10:00:00 Europe/Vienna", "2024-05-01T10:00:00+02:00[Europe/Vienna]"], "..."),
        (["2024-05-01 10:00"], None),
        (["May 1st", "Sept. 2nd, 2024"], "..."),
        (["1st of May 2024", "2. Mar", "3 June 2024, 10:00 AM"], "..."),
    ],
)
@pytest.mark.parametrize("scheme", ["frame", "python"])
def test_text_that_looks_like_a_time_is_asked_for_by_the_first_window(
    scheme: str, texts: list[str], pattern: str | None
) -> None:
    frame = pl.DataFrame({"at": texts, "v": range(len(texts))})
    with Session({"df": frame if scheme == "frame" else frame.to_dicts()}) as session:
        said = str(session.run(f"CREATE STREAM df SOURCE '{scheme}://df'")[0])
        (query,) = session.execute("SELECT v FROM df")  # needs no time
        assert isinstance(query, Query) and query.wait(200)
        with pytest.raises(QueryError, match="at looks like it, but is text") as error:
            session.execute("SELECT count(*) FROM df [RANGE 1 MINUTE TUMBLING]")
    line = f"CREATE STREAM df (at TIMESTAMP, v BIGINT) ORDER BY at SOURCE '{scheme}://df'"
    line += "." if pattern is None else f" WITH (timestamp_format = '{pattern}')."
    assert line in str(error.value.hint) and line in said


@pytest.mark.parametrize(
    "texts",
    [
        ["01/May/2024:10:00:00 +0000"],
        ["[01/May/2024:12:00:00 +0200]"],
        ["1 May 2024 10:00"],
        ["1 May 2024 10:00", "12 June 2024 10:01"],
        ["01-May-2024 10:00:00"],
    ],
)
def test_the_line_for_months_in_words_reads_them(texts: list[str]) -> None:
    with Session({"df": pl.DataFrame({"at": texts})}) as session:
        said = str(session.run("CREATE STREAM df SOURCE 'frame://df'")[0])
        session.execute("CREATE STREAM df" + said.partition("CREATE STREAM df")[2].partition(". For the time of")[0])
        (query,) = session.execute("SELECT at FROM df")
        assert isinstance(query, Query) and query.wait(200)
        assert query.to_polars()["at"][0] == AT[0].replace(second=0) and query.errors.is_empty()


def test_a_column_in_quotes_is_told_how_to_be_written(session: Session) -> None:
    for written, hint in (
        ('avg("v")', "For the column write v."),
        ('max(v) + sum("a b")', "For the column write `a b`."),
    ):
        with pytest.raises(QueryError, match="takes a number") as error:
            session.execute(f"SELECT {written} FROM s [RANGE 1 MINUTE TUMBLING]")
        assert hint in str(error.value.hint)


def test_names_that_begin_as_months_do_are_no_times() -> None:
    with Session({"df": [{"at": "Mayhem 12", "v": 1}, {"at": "Decker 10", "v": 2}]}) as session:
        assert "looks like" not in str(session.run("CREATE STREAM df SOURCE 'python://df'")[0])


@pytest.mark.parametrize("declared", ["CREATE STREAM `my log` SOURCE 'file://{}' WITH (decimal = ',')", None])
def test_the_line_that_is_brought_can_be_written_as_it_is(declared: str | None, tmp_path: Path) -> None:
    path = tmp_path / "it's.csv"
    path.write_text("Zeit;my value;order\n01.05.2024 10:00;1,5;1\n13.05.2024 11:00;2,5;2\n")
    address = str(path).replace("'", "''")
    stream = "`my log`" if declared else f"'{address}'"
    query = f"SELECT count(*) AS n FROM {stream} [RANGE 30 DAYS TUMBLING]"
    with Session({}) as session:
        if declared:
            session.execute(declared.format(address))
        with pytest.raises(QueryError, match="Zeit looks like it, but is text") as error:
            session.execute(query)
        line, _, rest = str(error.value.hint).removeprefix("Write ").partition(". For the time of arrival: ")
        session.execute(rest.removesuffix("."))
        session.execute(line)
        (found,) = session.execute(query)
        assert isinstance(found, Query) and found.wait(200)
        assert found.errors.height == 0 and sum(found.to_polars().get_column("n")) == 2


@pytest.mark.parametrize("text", ["1.2.3", "10.0.0.1", "x", "12:30", "2024", "555-01-2024"])
def test_other_text_goes_by_the_time_of_arrival(text: str) -> None:
    with Session({"df": pl.DataFrame({"at": [text]})}) as session:
        (query,) = session.execute("SELECT count(*) AS n FROM df [RANGE 1 MINUTE TUMBLING]")
        assert isinstance(query, Query) and query.wait(200)
