"""The support of nodes: each node and window has its rows, each row of the reference goes for some query. No Spark is needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, get_args

import polars as pl
import pytest

from jupyter_stream.aggregates.truth import KEPT_AS
from jupyter_stream.aggregates.user import calling
from jupyter_stream.binding import bind_query
from jupyter_stream.core.topic import Topic
from jupyter_stream.plan import logical
from jupyter_stream.plan.logical import BoundQuery, Plan, Scan, walk
from jupyter_stream.plan.node import NoInput
from jupyter_stream.session.session import Session
from jupyter_stream.spark import preflight
from jupyter_stream.spark.aggregates import AGGREGATES
from jupyter_stream.spark.nodes import OF_EVERY_NODE, SUPPORT, own_functions, row_numbers
from jupyter_stream.spark.rewrite import normal
from jupyter_stream.spark.rows import ORDER, OTHER_MACHINES, TRUTH, of_window
from jupyter_stream.spark.support import TABLE
from jupyter_stream.syntax import Explain, parse
from jupyter_stream.windows import WINDOWS, Window

NODES = {
    found
    for found in vars(logical).values()
    if isinstance(found, type) and issubclass(found, NoInput) and found.__module__ == logical.__name__
}
SOURCE = "SOURCE 'frame://rows'"
COLUMNS = "k STRING, x INT, y DOUBLE, b BIGINT, ts TIMESTAMP, other TIMESTAMP"
DECLARED = f"""
CREATE STREAM s ({COLUMNS}) ORDER BY ts {SOURCE};
CREATE STREAM w ({COLUMNS}, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS) {SOURCE};
CREATE STREAM arriving ({COLUMNS}) ORDER BY current_time {SOURCE};
CREATE STREAM unordered ({COLUMNS}) {SOURCE};
CREATE STREAM slack ({COLUMNS}) ORDER BY ts {SOURCE} WITH (slack = '10 rows');
CREATE STREAM said ({COLUMNS}) ORDER BY ts {SOURCE} WITH (punctuation = 'other');
CREATE STREAM keyed ({COLUMNS}) ORDER BY ts {SOURCE} WITH (punctuation = 'other', punctuation_key = 'k');
CREATE STREAM clustered ({COLUMNS}, WATERMARK FOR ts AS ts, CLUSTERED (k) WITHIN 3 ROWS) {SOURCE};
CREATE STREAM referring (k STRING, ts TIMESTAMP, FOREIGN KEY (k) REFERENCES w (k) WITHIN 5 SECONDS) ORDER BY ts {SOURCE};
CREATE STREAM files (k STRING, ts BIGINT) ORDER BY ts SOURCE 'file://rows.parquet';
CREATE STREAM texts (k STRING, ts BIGINT) ORDER BY ts SOURCE 'file://rows.csv';
CREATE STREAM d AS SELECT k, x FROM s;
CREATE STREAM hourly AS SELECT k, count(*) AS n FROM s [RANGE 1 HOUR TUMBLING] GROUP BY k;
CREATE STREAM tidy ORDER BY ts AS SELECT k, ts FROM w;
CREATE TABLE names (k STRING, name STRING, f INT); CREATE RETROACTIVE TABLE blocked (k STRING);
CREATE SUMMARY m ON s (k) WITH GRANULARITY 60 SECONDS AND COLLAPSE (4, 3);
CREATE AGGREGATE mean2 (v REAL) : REAL
{{ TABLE state (t REAL, n INT);
  INITIALIZE : {{ INSERT INTO state VALUES (v, 1); }}
  ITERATE : {{ UPDATE state SET t = t + v, n = n + 1; }}
  TERMINATE : {{ INSERT INTO RETURN SELECT t / n FROM state; }} }};
CREATE AGGREGATE looked_up (v INT) : STRING
{{ INITIALIZE : ITERATE : {{ INSERT INTO RETURN SELECT name FROM names WHERE f = v; }} }};
"""
WINDOW = "[RANGE 1 MINUTE TUMBLING]"
QUERIES = f"""
SELECT k FROM files WHERE ts > 3;
SELECT k FROM texts;
SELECT k FROM w;
SELECT k, count(*) FROM arriving {WINDOW} GROUP BY k;
SELECT k FROM unordered;
SELECT k FROM slack;
SELECT k FROM said;
SELECT k FROM keyed;
SELECT k FROM clustered;
SELECT r.k FROM referring r [RANGE 10 SECONDS] JOIN w [RANGE 10 SECONDS] ON r.k = w.k;
SELECT k, 1 / count(*) AS f FROM s {WINDOW} GROUP BY k;
SELECT k, x FROM s UNION ALL SELECT k, x FROM w;
SELECT k, n FROM hourly UNION ALL SELECT k, x FROM w;
SELECT k FROM tidy;
SELECT k, row_num FROM s;
SELECT k, row_num FROM d;
SELECT count(*) FROM s {WINDOW};
SELECT sum(n) FROM (SELECT count(*) AS n FROM s {WINDOW}) [RANGE 1 HOUR TUMBLING];
SELECT k, max(n) FROM hourly [RANGE 1 DAY TUMBLING] GROUP BY k;
SELECT last(n) FROM hourly [RANGE 1 DAY TUMBLING] GROUP BY k;
SELECT k, count(*) FROM s {WINDOW} GROUP BY k EMIT EVERY 1 SECOND;
SELECT k, count(*) FROM s {WINDOW} GROUP BY k EMIT CHANGES;
SELECT k FROM s WITH PREFERENCE DESC SUMMARY.Estimate.Count(k);
SELECT s.k, name FROM s JOIN names ON s.k = names.k;
SELECT s.k, name FROM s LEFT JOIN names ON s.k = names.k AND x / f > 1;
SELECT s.k FROM s [RANGE 1 SECOND] JOIN w [RANGE 1 SECOND] ON s.k = w.k;
SELECT s.k FROM s [RANGE 1 SECOND] LEFT JOIN w [RANGE 1 SECOND] ON s.k = w.k;
SELECT s.k FROM s [RANGE 1 SECOND] LEFT JOIN w [RANGE 1 SECOND] ON s.k = w.k AND s.x / w.x > 1;
SELECT s.k FROM s [RANGE UNBOUNDED] LEFT JOIN w [RANGE 1 SECOND] ON s.k = w.k;
SELECT k, count(*) AS n FROM (SELECT s.k FROM s [RANGE UNBOUNDED] JOIN w [RANGE UNBOUNDED] ON s.k = w.k) {WINDOW} GROUP BY k;
SELECT h.k FROM hourly h [RANGE 1 HOUR] JOIN w [RANGE 1 HOUR] ON h.k = w.k;
SELECT s.k FROM s [RANGE 1 MINUTE SLIDE 1 SECOND] JOIN w [RANGE 1 MINUTE SLIDE 1 SECOND] ON s.k = w.k;
SELECT DISTINCT k FROM s [RANGE 1 MINUTE];
SELECT ISTREAM k, count(*) FROM s [RANGE 1 MINUTE] GROUP BY k;
SELECT ISTREAM k, count(*) FROM s [RANGE 1 MINUTE TUMBLING] GROUP BY k;
SELECT s.k FROM s [RANGE 1 SECOND ON other] JOIN w [RANGE 1 SECOND ON other] ON s.k = w.k;
SELECT k FROM late(w);
SELECT k FROM s SAMPLE(10);
SELECT k FROM s {WINDOW} ORDER BY x LIMIT 3;
SELECT k, rank() OVER (PARTITION BY k ORDER BY x) FROM s {WINDOW};
SELECT k, count(*) AS c FROM s [RANGE 5 MINUTES SLIDE 100 MILLISECONDS] GROUP BY k;
SELECT max(x) [RANGE 5 MINUTES TUMBLING] AS a, count(*) [RANGE 10 MINUTES SLIDE 5 MINUTES] AS n FROM s GROUP BY k;
SELECT k, count(*) FROM s [PARTITION BY k ROWS 5 SLIDE 1] GROUP BY k;
SELECT s.k FROM s [ROWS 5] JOIN blocked ON s.k = blocked.k;
SELECT s.k FROM s [ROWS 5] JOIN names ON s.k = names.k;
SELECT k, count(*) FROM TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '1' MINUTE) GROUP BY k, window_start, window_end;
SELECT k, count(*) FROM s [SESSION 1 MINUTE] GROUP BY k;
SELECT x, count(*) FROM s [SESSION 1 MINUTE PARTITION BY k] GROUP BY x;
SELECT k, count(*) FROM (SELECT k, count(*) AS n FROM s [SESSION 1 MINUTE] GROUP BY k) [RANGE 1 DAY TUMBLING] GROUP BY k;
SELECT k, count(*) FROM s [RANGE 1 MINUTE TUMBLING ON other] GROUP BY k;
SELECT k, count(*) FROM (SELECT k, other + INTERVAL 1 SECOND AS o FROM s) [RANGE 1 MINUTE TUMBLING ON o] GROUP BY k;
SELECT k, count(*) FROM s [RANGE 1 HOUR SLIDE 1 MINUTE CUMULATE] GROUP BY k;
SELECT k, count(*) FROM s [RANGE 1 HOUR SLIDE 1 MINUTE CUMULATE ON other] GROUP BY k;
SELECT k, count(*) FROM s [SESSION 1 MINUTE ON other] GROUP BY k;
SELECT count(*) FROM s [RANGE ALL SLIDE 1 MINUTE];
SELECT count(*) FROM s [RANGE 1 MINUTE SLIDE 1 ROW];
SELECT count(*) OVER (PARTITION BY k ROWS 2 PRECEDING) FROM s;
SELECT max(x), sum(DISTINCT x), var_samp(y), first(x), median(y), mode(x), collect_list(x), approx_count_distinct(x)
  FROM s {WINDOW} GROUP BY k;
SELECT approx_top_k(x, 2) FROM s {WINDOW} GROUP BY k;
SELECT k, mean2(y) FROM s {WINDOW} GROUP BY k;
SELECT k, looked_up(x) FROM s GROUP BY k;
SELECT var_samp(DISTINCT y) FROM s {WINDOW} GROUP BY k;
SELECT k, u.part FROM s, UNNEST(split(k, 'a')) AS u (part);
SELECT gamma(y) FROM s;
SELECT k, count(*) AS n FROM s [RANGE 1 MINUTE TUMBLING] GROUP BY k WITH TOLERANCE (SAMPLE AT LEAST 10);
SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.x AS x PATTERN (A B) DEFINE B AS B.x > A.x)
"""


@pytest.fixture(scope="module")
def queries(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[BoundQuery]]:
    """The queries above, bound."""
    folder = tmp_path_factory.mktemp("files")
    time = pl.col("ts", "other").cast(pl.Datetime("us"))
    frame = pl.DataFrame({"k": ["a"], "x": [1], "y": [1.0], "b": [1], "ts": [0], "other": [0]}).with_columns(time)
    file = pl.DataFrame({"k": ["a"], "ts": [0]})
    file.write_parquet(folder / "rows.parquet")
    file.write_csv(folder / "rows.csv")
    with Session({"rows": frame}) as session:
        session.run(DECLARED.replace("file://", f"file://{folder}/"))
        made = [bound(text, session) for text in QUERIES.split(";")]
        made.append(of_topic(made[0]))
        yield made


def bound(text: str, session: Session) -> BoundQuery:
    (statement,) = parse(f"EXPLAIN {text} ON SPARK")
    assert isinstance(statement, Explain) and statement.select is not None
    with calling(session.catalog.aggregates):
        return bind_query(statement.select, session.catalog)


def of_topic(query: BoundQuery) -> BoundQuery:
    """The query over a topic of Kafka, for which no broker is needed here."""
    source: Any = SimpleNamespace(topic=Topic("localhost:9092", "rows", "earliest", True, query.plan.schema, {}, {}))

    def instead(plan: Plan) -> Plan:
        if isinstance(plan, Scan):
            return replace(plan, stream=replace(plan.stream, source=source, uri="kafka://localhost:9092/rows"))
        return plan.with_inputs([instead(part) for part in plan.inputs])

    return replace(query, plan=instead(query.plan))


def test_every_node_has_its_support() -> None:
    assert set(SUPPORT) == NODES == set(get_args(Plan))


def test_every_node_of_spark_s_own_has_a_translation() -> None:
    """All but streams, whose rows are given."""
    own = {node for node, support in SUPPORT.items() if any(row.kind == "native" for row in support.rows)}
    assert {node for node, support in SUPPORT.items() if support.translate is not None} == own - {Scan}


@pytest.mark.parametrize("window", WINDOWS, ids=lambda w: w.__name__)
def test_every_window_says_what_it_is_on_spark(window: type[Window]) -> None:
    assert window.spark_forms
    assert {of_window(form) for form in window.spark_forms} <= set(TABLE)


def test_the_queries_here_have_every_node(queries: list[BoundQuery]) -> None:
    assert {type(node) for query in queries for node in walk(query.plan)} == NODES


def test_a_node_gives_the_rows_it_declares(queries: list[BoundQuery]) -> None:
    for query in queries:
        for node in walk(normal(query.plan)):
            support = SUPPORT[type(node)]
            for outermost in (True, False):
                given = {row for _, row in (*support.parts(node), *support.also(node, outermost))}
                assert given and given <= set(support.rows), query.text
            assert {row for _, row in (*row_numbers(node), *own_functions(node))} <= set(OF_EVERY_NODE)


def test_every_row_of_the_reference_goes_for_some_query(queries: list[BoundQuery]) -> None:
    told = {v.support for q in queries for v in (*preflight.check(q), *preflight.on_spark(q))}
    elsewhere = {OTHER_MACHINES, TRUTH}  # said when Spark is started; aggregates that are bound as those of another row
    assert told | elsewhere == set(TABLE)
    assert not told & elsewhere and set(ORDER) == set(TABLE)
    assert {AGGREGATES[name].support for name in KEPT_AS} == {TRUTH}


def test_what_only_runs_as_the_kernel_s_operators_is_said_once(queries: list[BoundQuery]) -> None:
    """No part of a query that runs as a whole is called Spark's own but streams' progress."""
    whole = [q for q in queries if preflight.runs_inside(q)]
    assert len(whole) > 20
    for query in whole:
        native = {v.support.part for v in preflight.check(query) if v.support.kind == "native"}
        assert native <= {"progress"}, query.text


@pytest.mark.parametrize("window", ["SESSION 1 MINUTE", "RANGE 1 HOUR SLIDE 1 MINUTE CUMULATE"])
def test_windows_that_spark_lacks_run_inside_on_any_column(queries: list[BoundQuery], window: str) -> None:
    (query,) = (q for q in queries if f"[{window} ON other]" in q.text)
    assert preflight.runs_inside(query)
