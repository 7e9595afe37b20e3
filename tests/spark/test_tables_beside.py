"""Tables that are joined with relations, on Spark: what is changed in them while a query runs changes its answer."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Iterator
from typing import Any

import polars as pl

from jupyter_stream.session.session import Session
from tests.oracle.compare import assert_same_bag, plain_rows
from tests.tiers import slow
from tests.waiting import PATIENCE, until

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


class Live:
    """A source that waits for both queries, for the changes of the tables, and for its end.

    A query that begins later would miss the rows that came before.
    """

    def __init__(self) -> None:
        self.begun, self.go_on, self.over = threading.Event(), threading.Event(), threading.Event()

    def rows(self) -> Iterator[pl.DataFrame]:
        self.begun.wait(600)
        yield frame(dt.datetime(2024, 5, 1, 12), "abcabcabc")
        self.go_on.wait(600)
        yield frame(dt.datetime.now(dt.UTC).replace(tzinfo=None) + dt.timedelta(hours=1), "cacac")
        self.over.wait(600)


def answers(engine: str, session: Session, live: Live) -> list[pl.DataFrame]:
    """The answers of both queries before the tables change, of the first after that, and of both in the end.

    The second has two rows before as well as after: how many there are doesn't tell when it has come as far as the first.
    """
    session.run(TABLES)
    queries: list[Any] = [session.run(text, engine=engine)[-1] for text in QUERIES.values()]
    live.begun.set()
    until(lambda: [q.to_polars().height for q in queries] == [8, 2])
    found = [q.to_polars() for q in queries]
    for table in QUERIES:
        session.run(CHANGES.format(table))
    live.go_on.set()
    until(lambda: queries[0].to_polars().height == 13)
    found.append(queries[0].to_polars())
    live.over.set()
    for query in queries:
        assert query.wait(PATIENCE)
    return found + [q.to_polars() for q in queries]


@slow
def test_tables_beside_relations_are_followed_as_in_the_kernel(sessions: Callable[..., Session]) -> None:
    found = []
    for engine in ("kernel", "spark"):
        live = Live()
        found.append(answers(engine, sessions(source=live.rows()), live))
    for expected, same in zip(*found, strict=True):
        assert_same_bag(plain_rows(same), plain_rows(expected), expected.columns)
    assert set(found[1][2]["name"]) == {"new", None, "three"}


def frame(start: dt.datetime, keys: str) -> pl.DataFrame:
    times = [start + dt.timedelta(seconds=i) for i in range(len(keys))]
    return pl.DataFrame({"k": list(keys), "n": range(len(keys)), "ts": times}, schema_overrides={"n": pl.Int32})
