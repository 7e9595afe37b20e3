"""Output punctuation from every operator: each promises, keeps its promises, and says when nothing more comes."""

from __future__ import annotations

import inspect

import polars as pl
import pytest

import jupyter_stream
from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import TS, Batch, Message, Punctuation, Tick
from jupyter_stream.flow.protocol import Operator, Stateless
from jupyter_stream.graph.graph import Step
from tests.operator_rooms import operator_modules
from tests.promises import BrokenPromise, Watch, unfinished
from tests.tiers import slow, thinned

ROWS = pl.DataFrame({"k": ["a", "b", None] * 20, "n": list(range(60)), "ts": [t ^ 5 for t in range(60)]})
GIVEN = """
CREATE STREAM s (k STRING, n BIGINT, ts BIGINT, WATERMARK FOR ts AS ts - INTERVAL 5 MICROSECONDS) SOURCE 'frame://rows';
CREATE STREAM t (k STRING, n BIGINT, ts BIGINT, WATERMARK FOR ts AS ts - INTERVAL 5 MICROSECONDS) SOURCE 'frame://rows';
CREATE STREAM u (k STRING, n BIGINT, ts BIGINT, upto BIGINT) ORDER BY ts
  SOURCE 'frame://punctuated' WITH (punctuation = 'upto', punctuation_key = 'k');
CREATE STREAM big AS SELECT k, n, ts FROM s WHERE n > 10;
CREATE TABLE names (k STRING, name STRING);
INSERT INTO names VALUES ('a', 'Ann'), ('b', 'Bob');
CREATE SUMMARY ks ON s (k) WITH GRANULARITY 16 MICROSECONDS AND COLLAPSE (2, 2);
CREATE STREAM tidy ORDER BY ts AS SELECT k, n, ts FROM s;
CREATE AGGREGATE total(x BIGINT) : BIGINT {
    TABLE state(sum BIGINT);
    INITIALIZE : { INSERT INTO state VALUES (x); }
    ITERATE : { UPDATE state SET sum = sum + x; }
    TERMINATE : { INSERT INTO RETURN SELECT sum FROM state; }
};
"""
QUERIES = (
    "SELECT k, item FROM s, UNNEST(sequence(0, n % 3)) AS u(item)",
    "SELECT k, n + 1 AS m FROM s WHERE n > 3 UNION ALL SELECT k, n AS m FROM t",
    "SELECT k, count(*) AS c FROM big [RANGE 10 MICROSECONDS SLIDE 5 MICROSECONDS] GROUP BY k EMIT EVERY 5 MICROSECONDS",
    "SELECT k, count(*) AS c FROM s [RANGE 10 MICROSECONDS TUMBLING] GROUP BY k ORDER BY c DESC LIMIT 1",
    "SELECT k, count(*) AS c FROM s [SESSION 4 MICROSECONDS] GROUP BY k",
    "SELECT k, sum(n) AS c FROM s [ROWS 10 SLIDE 5] GROUP BY k",
    "SELECT k, max(n) AS c FROM s [ROWS 10] GROUP BY k",
    "SELECT max(n) AS c FROM s [RANGE 9 MICROSECONDS SLIDE 1 ROW]",
    "SELECT k, sum(n) OVER (PARTITION BY k ROWS 3 PRECEDING) AS c FROM s",
    "SELECT k, rank() OVER (PARTITION BY k ORDER BY n) AS r FROM s [RANGE 9 MICROSECONDS]",
    "SELECT k, rank() OVER (PARTITION BY k ORDER BY n) AS r FROM s [RANGE 9 MICROSECONDS SLIDE 3 MICROSECONDS]",
    "SELECT k, count(*) AS c FROM s [RANGE 9 MICROSECONDS] GROUP BY k",
    "SELECT k, count(*) AS c FROM s [RANGE 9 MICROSECONDS] GROUP BY k ORDER BY c LIMIT 1",
    "SELECT RSTREAM DISTINCT k FROM s [RANGE 9 MICROSECONDS]",
    "SELECT k FROM s [RANGE 9 MICROSECONDS] EXCEPT ALL SELECT k FROM t [RANGE 3 MICROSECONDS]",
    "SELECT k, n FROM s [RANGE 9 MICROSECONDS] EXCEPT ALL ON (k) SELECT k FROM t [RANGE 3 MICROSECONDS]",
    "SELECT s.k FROM s [RANGE 9 MICROSECONDS] LEFT JOIN t [RANGE 3 MICROSECONDS] ON s.k = t.k",
    "SELECT k, total(n) AS c FROM s [RANGE 10 MICROSECONDS TUMBLING] GROUP BY k",
    "SELECT k, total(n) AS c FROM s [RANGE 10 MICROSECONDS TUMBLING] GROUP BY k EMIT CHANGES",
    "SELECT count(*) [RANGE 9 MICROSECONDS SLIDE 3 MICROSECONDS] AS a, sum(n) [RANGE 3 MICROSECONDS TUMBLING] AS b FROM s",
    "SELECT k, count(*) AS c FROM u [RANGE 9 MICROSECONDS SLIDE 3 MICROSECONDS] GROUP BY k",
    "SELECT k, count(*) AS c FROM u [SESSION 9 MICROSECONDS] GROUP BY k",
    "SELECT count(*) AS c FROM s [RANGE 9 MICROSECONDS TUMBLING ON n]",
    "SELECT k, n FROM s SAMPLE(50)",
    "SELECT max(c) AS most FROM (SELECT k, count(*) AS c FROM s [RANGE 9 MICROSECONDS] GROUP BY k)",
    "SELECT count(*) AS c FROM (SELECT k, count(*) AS n FROM s [RANGE 3 MICROSECONDS TUMBLING] GROUP BY k)"
    " [RANGE 9 MICROSECONDS TUMBLING] EMIT EVERY 3 MICROSECONDS",
    "SELECT s.k, count(*) AS c FROM s [RANGE 9 MICROSECONDS] LEFT JOIN t [RANGE 3 MICROSECONDS] ON s.k = t.k GROUP BY s.k",
    "SELECT count(*) AS c FROM u [RANGE 9 MICROSECONDS TUMBLING]",
    "SELECT k, n FROM s [RANGE 9 MICROSECONDS SLIDE 3 MICROSECONDS]",
    "SELECT k, n FROM s [RANGE 9 MICROSECONDS SLIDE 3 MICROSECONDS] ORDER BY n LIMIT 2 EMIT CHANGES",
    "SELECT DSTREAM k FROM s [RANGE 9 MICROSECONDS SLIDE 3 MICROSECONDS]",
    "SELECT DSTREAM k FROM s [RANGE 9 MICROSECONDS SLIDE 1 ROW]",
    "SELECT s.k FROM s [ROWS 10] JOIN t [RANGE 3 MICROSECONDS] ON s.k = t.k",
    "SELECT s.k, t.n FROM s, t [RANGE 9 MICROSECONDS SLIDE 3 MICROSECONDS] WHERE s.k = t.k",
    "SELECT s.k, t.n FROM s LEFT JOIN t [RANGE 9 MICROSECONDS SLIDE 3 MICROSECONDS] ON s.k = t.k",
    "SELECT s.k, name FROM s LEFT JOIN names ON s.k = names.k LIMIT 5",
    "SELECT k, n FROM s WHERE n > 2 WITH PREFERENCE DESC SUMMARY.Estimate.Count(k)",
    "SELECT s.n, t.n FROM s, t WHERE s.k = t.k WITH PREFERENCE WEIGHTED SUMMARY.Estimate.Count(s.k) WINDOW 9 MICROSECONDS",
    "SELECT k, n FROM tidy",
    "SELECT sum(n) AS c FROM (SELECT k, n FROM s) [ROWS 10 SLIDE 5]",
    "SELECT sum(n) AS c FROM (SELECT k, count(*) AS n FROM s [RANGE 9 MICROSECONDS TUMBLING] GROUP BY k) [RANGE 9 MICROSECONDS]",
    "SELECT count(*) AS c FROM s [RANGE 8 MICROSECONDS TUMBLING] WITH PREFERENCE WEIGHTED SUMMARY.Estimate.Count(k)",
    "SELECT k, count(*) AS c FROM s [RANGE 8 MICROSECONDS TUMBLING] GROUP BY k WITH TOLERANCE (SAMPLE AT LEAST 10)",
    "SELECT k, n FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES last(b.n) AS n PATTERN (a b) WITHIN 5 MICROSECONDS"
    " DEFINE a AS a.n % 2 = 0)",
)
BUDGETS = {query: "1 probes/row" for query in QUERIES if "PREFERENCE" in query}


def operator_classes() -> set[type]:
    """Every class of the rooms that is an operator."""
    found = set()
    for module in operator_modules():
        for _, kind in inspect.getmembers(module, inspect.isclass):
            if kind.__module__ == module.__name__ and hasattr(kind, "on_batch") and not inspect.isabstract(kind):
                found.add(kind)
    return found - {Operator, Stateless}


@pytest.fixture(scope="module")
def seen(watches: list[Watch]) -> dict[str, list[Watch]]:
    """The watched operators of each query, run to its end."""
    punctuated = ROWS.with_columns(upto=pl.when(pl.col("n") % 7 == 0).then(pl.col("ts") - 5))
    session = jupyter_stream.Session({"rows": ROWS, "punctuated": punctuated})
    session.execute(GIVEN)
    out = {}
    for query in QUERIES:
        watches.clear()
        (answer,) = session.execute(query, budget=BUDGETS.get(query))
        assert answer.wait(200)
        assert answer.status == "finished"
        out[query] = list(watches)
    session.close()
    return out


@slow
def test_every_operator_is_watched(seen):
    assert operator_classes() == {type(w.step.operator) for watched in seen.values() for w in watched}


@pytest.mark.parametrize("query", QUERIES)
def test_every_operator_says_when_nothing_more_comes(seen, query):
    assert unfinished(seen[query]) == []


MANY = 30_000
PASSED = pl.DataFrame(
    {"k": [f"key {i:06}" for i in range(MANY)], "n": range(MANY), "ts": [(i ^ 37) // 100 for i in range(MANY)]}
)


@pytest.mark.parametrize("query", thinned(QUERIES, 7))
def test_state_is_empty_after_the_stream_has_passed(watches: list[Watch], query: str):
    """Whatever it has met: here each row is of a group of its own. Some dead groups may be waiting for company to go."""
    punctuated = PASSED.with_columns(upto=pl.when(pl.col("n") % 7 == 0).then(pl.col("ts") - 5))
    with jupyter_stream.Session({"rows": PASSED, "punctuated": punctuated}) as session:
        session.execute(GIVEN)
        watches.clear()
        (answer,) = session.execute(query)
        assert answer.wait(200)
        left = {w.step.control.name: w.step.control.bytes for w in watches}
        assert max(left.values()) < 800_000, left  # thirty thousand groups are two million bytes and more


class Forgetful:
    """Gives rows it has promised not to give."""

    def __init__(self) -> None:
        self.control = ControlTable("forgetful")
        self.synopses: list[ControlTable] = []

    def on_batch(self, port: int, batch: Batch) -> tuple[Message, ...]:
        return (Punctuation(10), batch)

    def on_punctuation(self, port: int, punctuation: Punctuation) -> tuple[Message, ...]:
        return (Punctuation(20), Punctuation(19))

    def on_tick(self, tick: Tick) -> tuple[Message, ...]:
        return ()


def test_a_broken_promise_is_seen():
    operator = Forgetful()
    watch = Watch(Step(operator, None))
    with pytest.raises(BrokenPromise, match="promised 10, and then gave a row of 9"):
        operator.on_batch(0, Batch(pl.DataFrame({TS: [9, 11]})))
    with pytest.raises(BrokenPromise, match="promised 20, and then 19"):
        operator.on_punctuation(0, Punctuation(3))
    assert unfinished([watch]) == ["Forgetful"]
