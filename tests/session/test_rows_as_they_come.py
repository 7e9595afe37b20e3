"""A query in a loop, awaited, and written to files; and a callback of it that fails."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import queue
from collections.abc import Iterator
from decimal import Decimal
from itertools import islice
from pathlib import Path

import polars as pl
import pytest

from jupyter_stream import Session
from jupyter_stream.core import logs
from jupyter_stream.errors import QueryError
from jupyter_stream.session.query import Query
from tests.in_a_loop import result_of
from tests.waiting import until

START = dt.datetime(2024, 1, 1)


@pytest.fixture
def coming() -> queue.Queue[int | None]:
    return queue.Queue()


@pytest.fixture
def session(coming: queue.Queue[int | None]) -> Iterator[Session]:
    frame = pl.DataFrame({"ts": [START + dt.timedelta(seconds=i) for i in range(100)], "n": range(100)})
    with Session({"frame": frame, "live": iter(coming.get, None)}) as session:
        session.execute("CREATE STREAM s SOURCE 'frame://frame'; CREATE STREAM l (n BIGINT) SOURCE 'python://live'")
        yield session
    coming.put(None)  # what waits for rows ends


def started(session: Session, text: str, **options: object) -> Query:
    (query,) = session.execute(text, **options)
    assert isinstance(query, Query)
    return query


def test_a_loop_has_all_rows_and_ends_with_the_query(session: Session) -> None:
    query = started(session, "SELECT n, count(*) AS c FROM s [RANGE 1 SECOND TUMBLING] GROUP BY n")
    assert [(row["n"], row["c"]) for row in query] == [(i, 1) for i in range(100)]
    assert sum(1 for _ in query) == 100, "each loop begins anew"


def test_a_loop_waits_for_what_comes(session: Session, coming: queue.Queue[int | None]) -> None:
    rows = iter(started(session, "SELECT n FROM l"))
    for n in range(3):
        coming.put(n)
        assert next(rows) == {"n": n}
    coming.put(None)
    assert list(rows) == []


def test_a_loop_over_a_relation_has_its_changes(session: Session) -> None:
    rows = list(started(session, "SELECT count(*) AS c FROM s WHERE n < 2"))
    state: list[int] = []
    for row in rows:
        state.append(row["c"]) if row["op"] > 0 else state.remove(row["c"])
    assert state == [2]


def test_a_slow_loop_is_told_of_rows_that_were_forgotten(session: Session) -> None:
    query = started(session, "SELECT n FROM s", keep=10)
    query.wait(200)
    with pytest.raises(QueryError, match="90 rows of q1 were dropped from memory"):
        list(query)


def test_a_loop_over_a_failed_query_says_why(session: Session) -> None:
    def broken() -> Iterator[dict[str, int]]:
        yield {"n": 1}
        raise ValueError("no more paper")

    session.namespace["broken"] = broken
    session.execute("CREATE STREAM b (n BIGINT) SOURCE 'python://broken'")
    query = started(session, "SELECT n FROM b")
    with pytest.raises(QueryError, match="no more paper"):
        list(query)
    with pytest.raises(QueryError, match="no more paper"):
        result_of(_awaited(query))


async def _awaited(query: Query) -> Query:
    return await query


def test_await_gives_the_handle_at_the_end(session: Session) -> None:
    query = started(session, "SELECT n FROM s")
    assert result_of(_awaited(query)) is query and query.to_polars().height == 100


def test_async_for_leaves_the_loop_free(session: Session, coming: queue.Queue[int | None]) -> None:
    query = started(session, "SELECT n FROM l")

    async def both() -> list[int]:
        async def feed() -> None:
            for n in (1, 2, 3):
                await asyncio.sleep(0)
                coming.put(n)
            coming.put(None)

        task = asyncio.create_task(feed())
        seen = [row["n"] async for row in query]
        await task
        return seen

    assert result_of(both()) == [1, 2, 3]


def test_answers_are_written_to_files(session: Session, tmp_path: Path) -> None:
    query = started(
        session, "SELECT collect_list(n) AS ns, min(ts) AS t, count(*) AS c FROM s [RANGE 50 SECONDS TUMBLING]"
    )
    query.wait(200)
    parquet, csv = query.to_parquet(tmp_path / "a.parquet"), query.to_csv(str(tmp_path / "a.csv"))
    assert pl.read_parquet(parquet).equals(query.to_polars())
    read = pl.read_csv(csv, try_parse_dates=True)
    assert read["c"].to_list() == query.to_polars()["c"].to_list()
    assert read["t"].to_list() == query.to_polars()["t"].to_list()
    assert read["ns"][0].startswith("[0,1,2") and read["ns"][0].endswith("]")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csv", "a.parquet"]
    with pytest.raises(QueryError, match="can't be written") as caught:
        query.to_csv(tmp_path / "nowhere" / "a.csv")
    assert "no folder" in str(caught.value.hint)


def test_decimals_keep_their_type_and_digits_wherever_they_go(session: Session, tmp_path: Path) -> None:
    query = started(session, "SELECT n, CAST(n / 8 AS DECIMAL(10,2)) AS d FROM s WHERE n < 4")
    query.wait(200)
    assert sorted(query.to_polars()["d"].to_list()) == [Decimal(d) for d in ("0.00", "0.13", "0.25", "0.38")]
    assert pl.read_parquet(query.to_parquet(tmp_path / "a.parquet")).schema["d"] == pl.Decimal(10, 2)
    assert sorted(query.to_csv(tmp_path / "a.csv").read_text().splitlines()) == [
        "0,0.00",
        "1,0.13",
        "2,0.25",
        "3,0.38",
        "n,d",
    ]
    assert set(query.to_pandas()["d"]) == set(query.to_polars()["d"])
    assert str(query.to_arrow().schema.field("d").type) == "decimal128(10, 2)"
    described = session.execute("CREATE STREAM e AS SELECT CAST(n AS DECIMAL) AS d, ts FROM s; DESCRIBE e")[-1]
    assert as_rows(described)[0][:2] == ("d", "DECIMAL(10,0)")
    for chart in ("table", "line", "bar", "scatter", "number"):
        drawn = query.chart(chart).save(tmp_path / "a.svg").read_text()
        assert "0.38" in drawn or chart not in ("table", "number")
        assert "Decimal(" not in drawn


def as_rows(answer: object) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = answer.to_polars().rows()  # type: ignore[attr-defined]  # a Query
    return rows


def test_a_failing_callback_is_told_once_and_the_query_goes_on(
    session: Session, coming: queue.Queue[int | None], caplog: pytest.LogCaptureFixture
) -> None:
    query = started(session, "SELECT n FROM l", name="hot")
    seen: list[int] = []

    def notify(frame: pl.DataFrame) -> None:
        seen.extend(frame["n"])
        raise ConnectionError("nobody listens")

    query.on_result(notify)
    with caplog.at_level(logging.ERROR, "jupyter_stream"):
        for n in range(3):
            coming.put(n)
            until(lambda n=n: len(seen) > n)  # type: ignore[misc]
        coming.put(None)
        assert query.wait(200)
        until(lambda: query.stats["failed_callbacks"] == 3)
        assert logs.flush()
    assert len([r for r in caplog.records if "on_result of hot failed" in r.message]) == 1
    hint = str(query.snapshot().hint)
    assert "notify, line" in hint and "ConnectionError: nobody listens" in hint and "3 times" in hint
    assert "finished, on_result failed" in repr(query) and query.to_polars().height == 3


def test_rows_can_be_taken_from_a_query_that_never_ends(session: Session) -> None:
    query = started(session, "SELECT percent FROM 'system://cpu?every=100ms'")
    assert len(list(islice(query, 2))) == 2
    query.stop()
