"""Which column is the time where a declaration doesn't say, and what is said about it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

from jupyter_stream import Session
from jupyter_stream.errors import QueryError
from jupyter_stream.session.query import Query

START = dt.datetime(2024, 1, 1)
HOUR = range(3600)
DAYS = [START.date() + dt.timedelta(i // 2) for i in range(6)]
TIMES = [START + dt.timedelta(seconds=i) for i in HOUR]


@pytest.fixture
def session() -> Iterator[Session]:
    frames: dict[str, object] = {
        "one": pl.DataFrame({"ts": TIMES, "n": HOUR}),
        "two": pl.DataFrame({"created": TIMES, "updated": TIMES, "n": HOUR}),
        "seconds": pl.DataFrame({"ts": [1_704_067_200 + i for i in HOUR], "n": HOUR}),
        "millis": pl.DataFrame({"ts": [1000 * (1_704_067_200 + i) for i in HOUR], "n": HOUR}),
        "micros": pl.DataFrame({"ts": [1_000_000 * i for i in HOUR], "n": HOUR}),
        "text": pl.DataFrame({"ts": [t.isoformat() for t in TIMES], "n": HOUR}),
        "plain": pl.DataFrame({"word": ["a", "b"]}),
        "days": pl.DataFrame({"day": DAYS, "n": range(6)}),
        "two_days": pl.DataFrame({"day": DAYS, "other": DAYS}),
        "stamped_days": pl.DataFrame({"day": DAYS, "ts": TIMES[:6]}),
        "indexed": pd.DataFrame({"n": HOUR}, index=pd.DatetimeIndex(TIMES)),
        "floats": pl.DataFrame({"ts": [None, 1_704_067_200.25, float("nan")]}),
        "spaced": pl.DataFrame({"Event Time": TIMES[:3]}),
        "spaced_twice": pl.DataFrame({"@ts": TIMES[:3], "order": TIMES[:3]}),
        "spaced_seconds": pl.DataFrame({"sent at": [1_704_067_200]}),
        "live": iter([{"ts": 1_704_067_200 + i} for i in HOUR]),
    }
    with Session(frames) as session:
        yield session


def told(session: Session, text: str) -> str:
    return str(session.run(text)[0])


def counts(session: Session, stream: str) -> list[int]:
    (query,) = session.execute(f"SELECT count(*) AS n FROM {stream} [RANGE 5 MINUTES TUMBLING]")
    assert isinstance(query, Query) and query.wait(200)
    return query.to_polars()["n"].to_list()


def test_the_only_timestamp_is_the_event_time_and_the_message_says_so(session: Session) -> None:
    said = told(session, "CREATE STREAM o SOURCE 'frame://one'")
    assert "ts is its only TIMESTAMP column" in said
    assert "WATERMARK FOR ts AS ts - INTERVAL 1 MINUTE" in said and "ORDER BY current_time" in said
    assert counts(session, "o") == [300] * 12


def test_names_that_need_backticks_have_them_in_what_is_to_be_written(session: Session) -> None:
    said = told(session, "CREATE STREAM o SOURCE 'frame://spaced'")
    assert "WATERMARK FOR `Event Time` AS `Event Time` - INTERVAL 1 MINUTE" in said
    assert "ORDER BY `@ts`" in told(session, "CREATE STREAM o SOURCE 'frame://spaced_twice'")
    with pytest.raises(QueryError) as caught:
        session.execute("SELECT count(*) FROM o [RANGE 1 MINUTE TUMBLING]")
    assert "CREATE STREAM o ... ORDER BY `@ts`" in str(caught.value.hint)
    assert "ORDER BY `sent at`" in told(session, "CREATE STREAM o SOURCE 'frame://spaced_seconds'")


def test_seconds_with_fractions_are_told_and_read(session: Session) -> None:
    said = told(session, "CREATE STREAM o SOURCE 'frame://floats'")
    assert "ts looks like seconds since 1970" in said and "WITH (timestamp_unit = 's')" in said
    with pytest.raises(QueryError, match="ts is DOUBLE and can't be the time column") as caught:
        session.execute("CREATE STREAM o ORDER BY ts SOURCE 'frame://floats'")
    assert "WITH (timestamp_unit = 's')" in str(caught.value.hint)
    session.execute("CREATE STREAM o ORDER BY ts SOURCE 'frame://floats' WITH (timestamp_unit = 's')")
    (query,) = session.execute("SELECT ts FROM o")
    assert isinstance(query, Query) and query.wait(200)
    assert dt.datetime(2024, 1, 1, 0, 0, 0, 250_000) in query.to_polars()["ts"].to_list()


def test_the_only_date_is_the_event_time_where_there_is_no_timestamp(session: Session) -> None:
    said = told(session, "CREATE STREAM o SOURCE 'frame://days'")
    assert "day is its only DATE column" in said and "WATERMARK FOR day AS day - INTERVAL 1 DAY" in said
    for source in (
        "SOURCE 'frame://days'",
        "(n INT, day DATE) SOURCE 'frame://days'",
        "ORDER BY day SOURCE 'frame://days'",
    ):
        session.execute(f"CREATE STREAM o {source}")
        (query,) = session.execute("SELECT count(*) AS n FROM o [RANGE 1 DAY TUMBLING]")
        assert isinstance(query, Query) and query.wait(200)
        assert query.to_polars().rows() == [(START + dt.timedelta(d), START + dt.timedelta(d + 1), 2) for d in range(3)]


def test_a_date_beside_a_timestamp_or_another_date_is_no_event_time(session: Session) -> None:
    assert "ts is its only TIMESTAMP column" in told(session, "CREATE STREAM o SOURCE 'frame://stamped_days'")
    assert "by the time of arrival" in told(session, "CREATE STREAM o SOURCE 'frame://two_days'")
    assert "by the time of arrival" in told(session, "CREATE STREAM o SOURCE 'frame://days' WITH (time = 'latent')")
    assert "by the time of arrival" in told(session, "CREATE STREAM o ORDER BY current_time SOURCE 'frame://days'")
    (_, query) = session.run("CREATE TABLE t SOURCE 'frame://days'; SELECT day FROM t")
    assert isinstance(query, Query) and query.wait(200)
    assert query.to_polars()["day"].to_list() == DAYS


def test_times_of_an_index_without_a_name_are_the_column_index(session: Session) -> None:
    assert "index is its only TIMESTAMP column" in told(session, "CREATE STREAM o SOURCE 'frame://indexed'")
    assert counts(session, "o") == [300] * 12
    (query,) = session.execute("SELECT count(*) AS n FROM indexed [RANGE 5 MINUTES TUMBLING]")
    assert isinstance(query, Query) and query.wait(200)
    assert query.to_polars()["n"].to_list() == [300] * 12


def test_a_stream_may_be_latent_by_name(session: Session) -> None:
    assert "only TIMESTAMP" not in told(session, "CREATE STREAM o SOURCE 'frame://one' WITH (time = 'latent')")
    assert sum(counts(session, "o")) == 3600
    assert session.queries["q1"].to_polars()["window_start"][0].year > 2024


def test_with_several_timestamps_a_query_without_time_runs(session: Session) -> None:
    assert "created or updated" in told(session, "CREATE STREAM o SOURCE 'frame://two'")
    for text in (
        "SELECT count(*) AS n FROM o",
        "SELECT n FROM o WHERE n > 1",
        "SELECT max(n) AS n FROM o [ROWS 10 SLIDE 10]",
    ):
        (query,) = session.execute(text)
        assert isinstance(query, Query) and query.wait(200)
    session.execute("CREATE STREAM p ORDER BY created SOURCE 'frame://two'")
    assert counts(session, "p") == [300] * 12


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM o «[RANGE 5 MINUTES TUMBLING]»",
        "SELECT count(*) «[RANGE 5 MINUTES TUMBLING]» FROM o",
        "SELECT count(*) FROM (SELECT n FROM o) «[RANGE 5 MINUTES]»",
        "SELECT count(*) FROM o «[SESSION 5 MINUTES]»",
        "SELECT n FROM o «[NOW]»",
        "SELECT n, sum(n) OVER «(ROWS 3 PRECEDING)» FROM o",
        "SELECT a.n FROM o a, o b «[RANGE 5 MINUTES]» WHERE a.n = b.n",
        "SELECT «last(n)» FROM o",
        "SELECT «collect_list(n)» FROM o",
        "SELECT «string_agg(CAST(n AS STRING), ',')» FROM o",
        "SELECT count(*) FROM o «EMIT EVERY 5 MINUTES»",
    ],
)
def test_with_several_timestamps_a_query_with_time_asks_which(session: Session, query: str) -> None:
    session.execute("CREATE STREAM o SOURCE 'frame://two'")
    with pytest.raises(QueryError, match="created or updated") as caught:
        session.execute(query.replace("«", "").replace("»", ""))
    assert caught.value.column == query.index("«") + 1
    assert caught.value.width == query.index("»") - query.index("«") - 1
    assert "ORDER BY created" in str(caught.value.hint)


@pytest.mark.parametrize(("frame", "unit"), [("seconds", "s"), ("millis", "ms")])
def test_a_bigint_that_can_only_be_seconds_or_milliseconds_is_noticed(session: Session, frame: str, unit: str) -> None:
    mend = f"WITH (timestamp_unit = '{unit}')"
    assert mend in told(session, f"CREATE STREAM o SOURCE 'frame://{frame}'")
    assert mend in told(session, f"CREATE STREAM o ORDER BY ts SOURCE 'frame://{frame}'")
    counts(session, "o")
    assert mend in str(session.queries["q1"].snapshot().hint)
    assert "timestamp_unit" not in told(session, f"CREATE STREAM o ORDER BY ts SOURCE 'frame://{frame}' {mend}")
    assert counts(session, "o") == [300] * 12
    assert session.queries["q2"].snapshot().hint is None


def test_what_can_be_microseconds_is_left_alone(session: Session) -> None:
    assert "timestamp_unit" not in told(session, "CREATE STREAM o ORDER BY ts SOURCE 'frame://micros'")
    assert counts(session, "o") == [300] * 12
    assert session.queries["q1"].snapshot().hint is None


def test_the_view_notices_seconds_of_a_source_that_cannot_be_looked_at(session: Session) -> None:
    session.execute("CREATE STREAM o (ts BIGINT) ORDER BY ts SOURCE 'python://live'")
    counts(session, "o")
    assert "timestamp_unit = 's'" in str(session.queries["q1"].snapshot().hint)


def test_a_file_of_seconds_is_noticed_and_read_with_the_unit(session: Session, tmp_path: Path) -> None:
    frame = session.namespace["seconds"]
    assert isinstance(frame, pl.DataFrame)
    frame.write_ndjson(tmp_path / "a.jsonl")
    declare = f"CREATE STREAM o ORDER BY ts SOURCE 'file://{tmp_path}/a.jsonl'"
    assert "timestamp_unit = 's'" in told(session, declare)
    session.execute(f"{declare} WITH (timestamp_unit = 's')")
    assert counts(session, "o") == [300] * 12


def test_a_unit_without_a_column_is_refused(session: Session) -> None:
    with pytest.raises(QueryError, match="no time column is named") as caught:
        session.execute("CREATE STREAM o SOURCE 'frame://seconds' WITH (timestamp_unit = 's')")
    assert caught.value.hint == "Name the time column: ORDER BY ts."


def test_a_column_of_text_times_brings_the_line_to_write(session: Session) -> None:
    line = "CREATE STREAM o (ts TIMESTAMP, n BIGINT) ORDER BY ts SOURCE 'frame://text'"
    assert line in told(session, "CREATE STREAM o SOURCE 'frame://text'")
    with pytest.raises(QueryError) as caught:
        session.execute("CREATE STREAM o ORDER BY ts SOURCE 'frame://text'")
    assert line in str(caught.value.hint)
    session.execute(line)
    assert counts(session, "o") == [300] * 12


def test_without_any_time_the_message_says_that_arrival_counts(session: Session) -> None:
    assert "no TIMESTAMP column" in told(session, "CREATE STREAM o SOURCE 'frame://plain'")
