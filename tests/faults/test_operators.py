"""Whatever an operator raises, at its first, a middle or its last call, ends its own query alone, which says what happened.

All operators there are, found by discovery. The two queries beside it answer exactly, and threads and inputs come back.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl
import pytest

from jupyter_stream import Query, QueryError, Session
from jupyter_stream.core.messages import Message
from jupyter_stream.engine import engine, pipeline
from jupyter_stream.graph.graph import Graph
from jupyter_stream.plan.logical import BoundQuery
from tests.faults.raised import RAISED, call_number, combinations
from tests.faults.threads import begun
from tests.operator_rooms import operator_modules
from tests.tiers import thinned
from tests.waiting import PATIENCE, until

ROWS = pl.DataFrame({"ts": range(200), "k": ["a", "b", "c", "a"] * 50, "n": [1, 2, 3, 4, 5] * 40})
MARKED = pl.DataFrame(
    {
        "ts": [v for i in range(0, 200, 10) for v in (*range(i, i + 10), None)],
        "k": [v for i in range(20) for v in (*("ab" * 5), "ab"[i % 2])],
        "n": [v for i in range(20) for v in (*range(10), None)],
        "done": [v for i in range(0, 200, 10) for v in (*([None] * 10), i + 5)],
    }
)
DECLARED = """
CREATE STREAM s (ts BIGINT, k STRING, n BIGINT) ORDER BY ts SOURCE 'frame://rows';
CREATE STREAM r (ts BIGINT, k STRING, n BIGINT) ORDER BY ts SOURCE 'frame://rows';
CREATE STREAM p (ts BIGINT, k STRING, n BIGINT, done BIGINT) ORDER BY ts SOURCE 'frame://marked'
    WITH (punctuation = 'done', punctuation_key = 'k');
CREATE STREAM few AS SELECT k, n * 2 AS m, ts FROM s WHERE n > 1;
CREATE STREAM tidy ORDER BY ts AS SELECT k, n, ts FROM s;
CREATE STREAM sums AS SELECT k, sum(n) AS m FROM s [RANGE 20 MICROSECONDS SLIDE 10 MICROSECONDS] GROUP BY k;
CREATE TABLE names (k STRING, name STRING);
INSERT INTO names VALUES ('a', 'A'), ('b', 'B');
CREATE AGGREGATE twice(x BIGINT) : (y BIGINT) {
    TABLE state(sum BIGINT);
    INITIALIZE : { INSERT INTO state VALUES (x); }
    ITERATE : { UPDATE state SET sum = sum + x; }
    TERMINATE : { INSERT INTO RETURN SELECT sum * 2 FROM state; }
};
CREATE SUMMARY of_s ON s (n) WITH GRANULARITY 16 MICROSECONDS AND COLLAPSE (2, 3);
CREATE SUMMARY of_r ON r (n) WITH GRANULARITY 16 MICROSECONDS AND COLLAPSE (2, 3);
"""
SLIDING = "[RANGE 20 MICROSECONDS SLIDE 10 MICROSECONDS]"
OTHERS = (
    "SELECT k, sum(n) AS t FROM s [RANGE 50 MICROSECONDS TUMBLING] WHERE n <> 4 GROUP BY k",
    "SELECT k, n, ts FROM s WHERE n * 3 > 6",
)
SHORT, SHORTER = "[RANGE 4 MICROSECONDS]", "[RANGE 2 MICROSECONDS]"
TWO = "SELECT a.k, b.n FROM s {0} a {2} JOIN r {1} b ON a.k = b.k"
FADES = "FADE FACTOR 0.8 WINDOW 60 MICROSECONDS"
PREFER = "WITH PREFERENCE DESC SUMMARY.Estimate.Count"
QUERIES = {
    "AliveOperator": f"SELECT DSTREAM k, n FROM s {SHORT}",
    "BagsOperator": f"SELECT k, n FROM s {SHORT} EXCEPT ALL SELECT k, n FROM r {SHORTER}",
    "DistinctOperator": f"SELECT DISTINCT k FROM few {SHORT}",
    "Entering": f"SELECT DSTREAM k, n FROM s {SHORT}",
    "EstimatesOperator": f"SELECT k, sum(n) AS t FROM s {SLIDING} GROUP BY k WITH TOLERANCE (SAMPLE AT LEAST 10)",
    "Estimated": f"SELECT count(*) AS c FROM s {SLIDING} WHERE n > 2 {PREFER}(n) * n",
    "EveryRow": f"SELECT RSTREAM k, n FROM s {SHORT}",
    "ExceptOn": f"SELECT k, n FROM s {SHORT} EXCEPT ALL ON (k) SELECT k, n FROM r {SHORTER}",
    "ExtentAggregate": "SELECT k, count(*) AS c FROM s [SESSION 5 MICROSECONDS PARTITION BY k] GROUP BY k",
    "ExtentChangesOperator": f"SELECT ISTREAM k, n FROM s {SLIDING}",
    "ExtentRowsOperator": f"SELECT ISTREAM k, n FROM s {SLIDING}",
    "FilterOperator": "SELECT k, m FROM few",
    "ForAll": f"SELECT DSTREAM k, n FROM p {SHORT}",
    "InOrder": "SELECT k, n FROM tidy",
    "InstantTicker": "SELECT k, count(*) AS c FROM sums [RANGE 40 MICROSECONDS TUMBLING] GROUP BY k EMIT EVERY 4 MICROSECONDS",
    "KeyedExtentAggregate": f"SELECT k, count(*) AS c FROM p {SLIDING} GROUP BY k",
    "LastTime": f"SELECT count(*) AS c FROM sums {SHORT}",
    "Limit": "SELECT k, n FROM s LIMIT 150",
    "LivesAtInstants": TWO.format(SLIDING, SLIDING, ""),
    "Meld": "SELECT k, m FROM few UNION ALL SELECT k, n AS m FROM r",
    "Named": "SELECT k, m FROM few",
    "Net": f"SELECT DSTREAM k, n FROM s {SHORT}",
    "NewestOperator": TWO.format("[ROWS 2]", SHORTER, ""),
    "Numbered": "SELECT sum(m) AS t FROM few [ROWS 3 SLIDE 2 ROWS]",
    "OverOperator": "SELECT k, sum(n) OVER (PARTITION BY k ROWS 2 PRECEDING) AS x FROM s",
    "ProjectOperator": "SELECT k, n + 1 AS m FROM s",
    "PromisingJoin": f"SELECT s.n, s.ts AS a, r.ts AS b FROM s, r WHERE s.n = r.n {PREFER}(s.n), "
    f"SUMMARY.Estimate.Count(r.n) {FADES}",
    "PromisingRows": f"SELECT n, ts FROM s WHERE n > 2 {PREFER}(n) * n",
    "RelationAggregate": f"SELECT count(*) AS c FROM s {SHORT}",
    "RelationJoinOperator": TWO.format("[ROWS 2]", SHORTER, ""),
    "RelationAtInstants": TWO.format(SLIDING, SLIDING, "LEFT"),
    "Retime": "SELECT count(*) AS c FROM s [RANGE 10 MICROSECONDS SLIDE 5 MICROSECONDS ON n]",
    "Revise": f"SELECT k, count(*) AS c FROM s {SLIDING} GROUP BY k EMIT CHANGES",
    "RowRelation": "SELECT count(*) AS c FROM s [ROWS 3]",
    "RowWindowAggregate": "SELECT k, sum(n) AS t FROM s [PARTITION BY k ROWS 3 SLIDE 2 ROWS] GROUP BY k",
    "RowMatches": "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES sum(b.n) AS t, last(ts) AS e "
    "PATTERN (a b+ c) DEFINE b AS n < 5 AND sum(b.n) < 9, c AS n > PREV(n))",
    "SampleOperator": "SELECT k, n FROM s SAMPLE(50)",
    "SeveralWindows": "SELECT max(n) [RANGE 5 MICROSECONDS TUMBLING] AS a, "
    "count(*) [RANGE 10 MICROSECONDS SLIDE 5 MICROSECONDS] AS b FROM s",
    "ShedOperator": "SELECT k, n FROM s WITH TOLERANCE (SAMPLE AT LEAST 10)",
    "Slots": f"SELECT n, ts FROM s WHERE n > 2 {PREFER}(n) * n",
    "SuccessiveChanges": "SELECT ISTREAM k, n FROM s [ROWS 4 SLIDE 2 ROWS]",
    "TableLookup": "SELECT s.k, name FROM s JOIN names ON s.k = names.k",
    "Ticker": f"SELECT k, count(*) AS c FROM s {SLIDING} GROUP BY k EMIT EVERY 4 MICROSECONDS",
    "TopOfExtents": f"SELECT k, n FROM s {SLIDING} ORDER BY n LIMIT 2",
    "TopOfRelation": f"SELECT k, n FROM s {SHORT} ORDER BY n DESC LIMIT 2",
    "TopRevised": f"SELECT k, sum(n) AS t FROM s {SLIDING} GROUP BY k ORDER BY t LIMIT 1 EMIT CHANGES",
    "Unfold": f"SELECT k, twice(n) AS x FROM s {SLIDING} GROUP BY k EMIT CHANGES",
    "UnnestOperator": "SELECT k, item FROM s, UNNEST(sequence(1, n)) AS u(item)",
    "UserAnswers": f"SELECT k, twice(n) AS x FROM s {SLIDING} GROUP BY k",
    "WindowAggregate": f"SELECT k, count(*) AS c FROM s {SLIDING} GROUP BY k",
    "WindowJoin": TWO.format(SHORT, SHORTER, ""),
    "WindowFunctionsOfExtents": f"SELECT k, rank() OVER (ORDER BY n) AS r FROM s {SLIDING}",
    "WindowFunctionsOfRelation": f"SELECT k, rank() OVER (ORDER BY n) AS r FROM s {SHORT}",
    "Witness": TWO.format(SLIDING, SLIDING, "LEFT"),
}
BUDGET = ("Estimated", "PromisingJoin", "PromisingRows", "Slots")
METHODS = ("on_batch", "on_punctuation", "on_key_punctuation", "on_pair_punctuation", "on_tick")


def discovered() -> dict[str, type]:
    """All operators there are."""
    found = {}
    for made in operator_modules():
        for name, value in vars(made).items():
            own = inspect.isclass(value) and value.__module__ == made.__name__ and not inspect.isabstract(value)
            if own and hasattr(value, "on_batch") and not getattr(value, "_is_protocol", False):
                found[name] = value
    return found


class Injection:
    """Counts the calls of one operator of a query, and raises something in the middle of one of them.

    Args:
        name: the operator's class.
        text: the query.
        at: at which call, from 1; 0 for never.
        kind: what is raised.
    """

    def __init__(self, name: str, text: str, at: int = 0, kind: str = "exception") -> None:
        self.calls = 0
        self.at = at
        self._name, self._text, self._kind = name, text, kind

    def into(self, graph: Graph, asked: BoundQuery) -> None:
        """Have all operators of that class of the query's counted."""
        for step in graph.steps:
            if asked.text == self._text and type(step.operator).__name__ == self._name:
                for method in METHODS:
                    if hasattr(step.operator, method):
                        setattr(step.operator, method, self._counted(getattr(step.operator, method)))

    def _counted(self, method):  # type: ignore[no-untyped-def]
        def counted(*arguments: object) -> Iterable[Message]:
            self.calls += 1
            made = method(*arguments)
            return self._broken(made) if self.calls == self.at else made

        return counted

    def _broken(self, made: Iterable[Message]) -> Iterator[Message]:
        for message in made:
            yield message
            break
        raise RAISED[self._kind][0]()


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that there are many calls."""
    for name, value in {"_FIRST": 16, "_MEANWHILE": 16, "_LEAST_MEANWHILE": 16, "_PAUSE": 0.0}.items():
        monkeypatch.setattr(engine, name, value)


def run(monkeypatch: pytest.MonkeyPatch, name: str, injection: Injection) -> tuple[Query, list[Query]]:
    """The query with that operator, and two others, on the same stream; they have ended, and so has their session."""
    built = pipeline.build

    def build(asked: BoundQuery) -> Graph:
        graph = built(asked)
        injection.into(graph, asked)
        return graph

    with monkeypatch.context() as patch, Session({"rows": ROWS, "marked": MARKED}) as session:
        patch.setattr(pipeline, "build", build)
        session.execute(DECLARED)
        options: dict[str, Any] = {"budget": "1000 probes/row"} if name in BUDGET else {}
        queries = [q for text in (QUERIES[name], *OTHERS) for q in session.execute(text, paused=True, **options)]
        for query in queries:
            assert isinstance(query, Query)
            query.resume()
        victim, *others = queries
        until(lambda: all(q._pipeline.done.is_set() for q in queries), lambda: [q.status for q in queries])
        until(lambda: not session.engine.submit(lambda: session.engine.feeds).result(PATIENCE))
    return victim, others


def test_every_operator_has_a_query_here() -> None:
    assert set(QUERIES) == set(discovered()), "a new operator wants a query in QUERIES above that uses it"


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("name", thinned(QUERIES, 60))
def test_what_an_operator_raises_ends_its_query_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counting = Injection(name, QUERIES[name])
    whole, expected = run(monkeypatch, name, counting)
    assert whole.status in ("finished", "running") and counting.calls > 3
    for _, place, kind in COMBINATIONS[name]:
        injection = Injection(name, QUERIES[name], call_number(place, counting.calls), kind)
        victim, others = run(monkeypatch, name, injection)
        while injection.calls < injection.at:  # how rows come in batches is not the same each time
            injection = Injection(name, QUERIES[name], injection.calls, kind)
            victim, others = run(monkeypatch, name, injection)
        with pytest.raises(QueryError) as told:
            victim.wait(200)
        assert victim.status == "failed" and re.search(RAISED[kind][1], str(told.value)), (place, kind)
        assert victim.snapshot(1).error is not None
        for other, whole in zip(others, expected, strict=True):
            assert other.status == "finished"
            assert sorted(other.to_polars().rows()) == sorted(whole.to_polars().rows())
    until(lambda: sum(t.name.startswith("jupyter-stream") for t in begun()) <= KEPT_THREADS)


COMBINATIONS = {n: [c for c in combinations(QUERIES) if c[0] == n] for n in QUERIES}
KEPT_THREADS = 2
"""The second thread and the supervisor, which all sessions share."""
