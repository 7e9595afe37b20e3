"""Tables that are joined with relations, on Spark: what is changed in them while a query runs changes its answer."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Iterator
from typing import Any

import polars as pl

from jupyter_stream.session.session import Session
from tests.oracle.compare import assert_same_bag, plain_rows
from tests.waiting import until

TABLES = """CREATE RETROACTIVE TABLE names (k STRING, name STRING); CREATE TABLE plain (k STRING, name STRING);
    INSERT INTO names VALUES ('a', 'one'), ('b', 'two'); INSERT INTO plain VALUES ('a', 'one'), ('b', 'two');
    CREATE STREAM s (k STRING, n INT, ts TIMESTAMP, WATERMARK FOR ts AS ts) SOURCE 'python://source';"""
CHANGES = (
    "UPDATE {0} SET name = 'new' WHERE k = 'a'; DELETE FROM {0} WHERE k = 'b'; INSERT INTO {0} VALUES ('c', 'three');"
)
QUERIES = {
    "names": "SELECT s.k, n, name FROM s [RANGE UNBOUNDED] LEFT JOIN names ON s.k = names.k",
    "plain": "SELECT name, count(*) AS c, sum(n) AS t FROM s [PARTITION BY k ROWS 2] JOIN plain ON s.k = plain.k GROUP BY name",
}


def answers(engine: str, session: Session, go_on: threading.Event, over: threading.Event) -> list[pl.DataFrame]:
    """The answers of both queries before the tables change and after."""
    session.run(TABLES)
    queries: list[Any] = [session.run(text, engine=engine)[-1] for text in QUERIES.values()]
    until(lambda: queries[0].to_polars().height == 8)
    found = [queries[0].to_polars()]
    for table in QUERIES:
        session.run(CHANGES.format(table))
    go_on.set()
    until(lambda: [q.to_polars().height for q in queries] == [13, 2])
    found += [q.to_polars() for q in queries]
    over.set()
    for query in queries:
        query.stop()
    return found


def test_tables_beside_relations_are_followed_as_in_the_kernel(sessions: Callable[..., Session]) -> None:
    found = []
    for engine in ("kernel", "spark"):
        go_on, over = threading.Event(), threading.Event()

        def rows(go_on: threading.Event = go_on, over: threading.Event = over) -> Iterator[pl.DataFrame]:
            start = dt.datetime(2024, 5, 1, 12)
            yield frame(start, "abcabcabc")
            go_on.wait(600)
            yield frame(dt.datetime.now(dt.UTC).replace(tzinfo=None) + dt.timedelta(days=1), "cacac")
            over.wait(600)

        found.append(answers(engine, sessions(source=rows()), go_on, over))
    for expected, same in zip(*found, strict=True):
        assert_same_bag(plain_rows(same), plain_rows(expected), expected.columns)
    assert set(found[1][1]["name"]) == {"new", None, "three"}


def frame(start: dt.datetime, keys: str) -> pl.DataFrame:
    times = [start + dt.timedelta(seconds=i) for i in range(len(keys))]
    return pl.DataFrame({"k": list(keys), "n": range(len(keys)), "ts": times}, schema_overrides={"n": pl.Int32})
