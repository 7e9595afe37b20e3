"""Aggregates of one's own where others can stand: over tables, views and changing answers, nested, in HAVING, with DISTINCT."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pytest

import jupyter_stream
from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.session.session import Session
from tests.waiting import until

START = datetime(2024, 1, 1)
TEXT = """
CREATE STREAM b (ts TIMESTAMP, item STRING, price DOUBLE) ORDER BY ts SOURCE 'frame://bids';
CREATE TABLE t (item STRING, price DOUBLE) SOURCE 'frame://tab';
CREATE RETROACTIVE TABLE r (item STRING, price DOUBLE);
INSERT INTO r VALUES ('a', 1), ('a', 3), ('b', 5);
CREATE AGGREGATE myavg (x DOUBLE) : DOUBLE
{ TABLE state (s DOUBLE, n INT);
  INITIALIZE : { INSERT INTO state VALUES (x, 1); }
  ITERATE    : { UPDATE state SET s = s + x, n = n + 1; }
  TERMINATE  : { INSERT INTO RETURN SELECT s / n FROM state; } };
CREATE AGGREGATE rises (x DOUBLE) : DOUBLE
{ TABLE h (v DOUBLE);
  INITIALIZE : { INSERT INTO h VALUES (x); INSERT INTO RETURN VALUES (x); }
  ITERATE    : { INSERT INTO RETURN SELECT x FROM h WHERE x > v; UPDATE h SET v = x WHERE x > v; } };
CREATE AGGREGATE latest (x DOUBLE) : DOUBLE
{ TABLE h (v DOUBLE);
  INITIALIZE : { INSERT INTO h VALUES (x); }
  ITERATE    : { UPDATE h SET v = x; }
  TERMINATE  : { INSERT INTO RETURN SELECT v FROM h; } };
CREATE AGGREGATE twice_avg (x DOUBLE) : DOUBLE
{ TABLE k (v DOUBLE);
  INITIALIZE : ITERATE : { INSERT INTO k VALUES (x); }
  TERMINATE  : { INSERT INTO RETURN SELECT 2 * myavg(v) FROM k; } };
CREATE AGGREGATE deep (x DOUBLE) : DOUBLE
{ TABLE k (v DOUBLE);
  INITIALIZE : ITERATE : { INSERT INTO k VALUES (x); }
  TERMINATE  : { INSERT INTO RETURN SELECT twice_avg(v) + spread(v) + myavg(DISTINCT v) FROM k; } };
CREATE AGGREGATE risky (x DOUBLE) : INT
{ TABLE k (v INT);
  INITIALIZE : ITERATE : { INSERT INTO k VALUES (10 % (CAST(x AS INT) - 4)); }
  TERMINATE  : { INSERT INTO RETURN SELECT sum(v) FROM k; } };
"""


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    @jupyter_stream.aggregate
    class Spread:
        def initialize(self, x: float) -> None:
            self.low = self.high = x

        def iterate(self, x: float) -> None:
            self.low, self.high = min(self.low, x), max(self.high, x)

        def terminate(self) -> float:
            return self.high - self.low

    @jupyter_stream.aggregate
    class Total:
        def update(self, x: Any) -> float:
            return float(x.sum())

        def merge(self, a: float, b: float) -> float:
            return a + b

        def finish(self, a: float) -> float:
            return a

    prices = [1.0, 4.0, 2.0, 4.0, 4.0, 8.0]
    bids = pl.DataFrame(
        {"ts": [START + timedelta(seconds=10 * i) for i in range(6)], "item": list("ababab"), "price": prices}
    ).with_columns(pl.col("ts").cast(pl.Datetime("us")))
    tab = pl.DataFrame({"item": list("aabbbc"), "price": [1.0, 2.0, 2.0, 4.0, 4.0, 5.0]})
    with Session({"bids": bids, "tab": tab}) as opened:
        opened.run(TEXT)
        yield opened


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT myavg(price) AS a FROM t", [(3.0,)]),
        ("SELECT item, myavg(price) AS a FROM t GROUP BY item", [("a", 1.5), ("b", 10 / 3), ("c", 5.0)]),
        ("SELECT item, spread(price) AS s, total(price) AS t, count(*) AS n FROM t GROUP BY item HAVING myavg(price) > 2",
         [("b", 2.0, 10.0, 3), ("c", 0.0, 5.0, 1)]),
        ("SELECT deep(price) AS d FROM t", [(6.0 + 4.0 + 3.0,)]),
        ("SELECT item, myavg(price) AS a FROM r GROUP BY item", [("a", 2.0), ("b", 5.0)]),
        ("SELECT myavg(price) AS a FROM (SELECT item, sum(price) AS price FROM b GROUP BY item) q", [(11.5,)]),
        ("SELECT myavg(price) FILTER (WHERE price > 1) AS a, myavg(DISTINCT price) AS d FROM t", [(17 / 5, 3.0)]),
        ("SELECT myavg(DISTINCT price) AS d, total(DISTINCT price) AS t FROM b [RANGE 1 MINUTE TUMBLING]",
         [(START, START + timedelta(minutes=1), 3.75, 15.0)]),
        ("SELECT myavg(nullif(price, 4)) AS a, myavg(nullif(price, 4)) IGNORE NULLS AS b FROM t", [(None, 2.5)]),
        ("SELECT latest(DISTINCT price % 4) AS v FROM t", [(0.0,)]),
        ("SELECT rises(DISTINCT price) AS v FROM b", [(1.0,), (4.0,), (8.0,)]),
        ("SELECT rises(price) AS v FROM t", [(1.0,), (2.0,), (4.0,), (5.0,)]),
        ("SELECT item, rises(price) AS v FROM b GROUP BY item HAVING rises(price) > 2", [("a", 4.0), ("b", 4.0), ("b", 8.0)]),
        ("SELECT price FROM b WHERE price > (SELECT myavg(price) FROM t)", [(4.0,), (4.0,), (4.0,), (8.0,)]),
        ("SELECT * FROM t WHERE price > (SELECT myavg(u.price) FROM t u WHERE u.item = t.item)",
         [("a", 2.0), ("b", 4.0), ("b", 4.0)]),
        ("SELECT item FROM t GROUP BY item ORDER BY myavg(price) DESC LIMIT 1", [("c",)]),
        ("SELECT item, myavg(price) AS a FROM t GROUP BY ROLLUP(item)",
         [("a", 1.5), ("b", 10 / 3), ("c", 5.0), (None, 3.0)]),
        ("SELECT myavg(x) AS a FROM (VALUES (1.0), (2.0)) AS v(x)", [(1.5,)]),
    ],
)  # fmt: skip
def test_an_aggregate_of_ones_own_gives(session: Session, text: str, expected: list[tuple[Any, ...]]) -> None:
    query = session.execute(text)[-1]
    query.wait(200)
    assert sorted(query.to_polars().rows(), key=str) == sorted(expected, key=str)


def test_a_view_of_it_can_be_aggregated_again(session: Session) -> None:
    session.execute("CREATE VIEW of_r AS SELECT item, myavg(price) AS a FROM r GROUP BY item")[-1].wait(200)
    answered = session.execute("SELECT myavg(a) AS a FROM of_r")[-1]
    answered.wait(200)
    assert answered.to_polars().rows() == [(3.5,)]


@pytest.mark.parametrize("over", ["OVER (ROWS 1 PRECEDING)", "OVER (RANGE 10 SECONDS PRECEDING)"])
def test_distinct_stands_in_over(session: Session, over: str) -> None:
    query = session.execute(f"SELECT price, myavg(DISTINCT price) {over} AS a FROM b")[-1]
    query.wait(200)
    assert [a for _, a in query.to_polars().rows()] == [1.0, 2.5, 3.0, 3.0, 4.0, 6.0]


@pytest.mark.parametrize(
    ("text", "rows", "keys"),
    [
        ("SELECT risky(price) AS x FROM t", [], ["at"]),
        ("SELECT risky(price) AS x, count(*) AS n FROM t", [], ["at"]),
        ("SELECT risky(price + 1) AS x FROM r", [], ["at"]),
        ("SELECT sum(x) AS s FROM (SELECT risky(price) AS x FROM t) q", [(None,)], ["at"]),
        ("SELECT item, risky(price) AS x FROM t GROUP BY item", [("a", 1), ("c", 0)], ["item"]),
        ("SELECT risky(price) AS x FROM b [RANGE 1 MINUTE TUMBLING]", [], ["window_start", "window_end"]),
    ],
)
def test_an_answer_it_fails_on_goes_to_errors(
    session: Session, text: str, rows: list[tuple[Any, ...]], keys: list[str]
) -> None:
    query = session.execute(text)[-1]
    query.wait(200)
    assert sorted(query.to_polars().rows()) == rows
    ((raw, reason),) = query.errors.rows()
    assert list(json.loads(raw)) == keys
    assert reason == "risky: in ITERATE, line 3 of its text: division by zero"


def test_errors_of_a_table_have_the_answer_over_all_its_rows() -> None:
    with Session({"tab": pl.DataFrame({"price": [1.0, 4.0]})}) as session:
        session.run(
            "CREATE TABLE t (price DOUBLE) SOURCE 'frame://tab';" + TEXT[TEXT.index("CREATE AGGREGATE risky") :]
        )
        session.execute("SELECT risky(price) FROM t")[-1].wait(200)
        query = session.execute("SELECT reason FROM errors(t)")[-1]
        until(lambda: query.to_polars().height == 1)
        assert query.to_polars().item() == "risky: in ITERATE, line 3 of its text: division by zero"


def test_one_that_waits_for_the_end_is_refused_where_there_is_none(session: Session) -> None:
    with pytest.raises(QueryError, match="this stream has no end"):
        session.run("SELECT item, myavg(price) FROM b GROUP BY item")
    with pytest.raises(UnsupportedError, match="can't be used in one query"):
        session.run("SELECT item, rises(price), count(*) FROM b GROUP BY item")
