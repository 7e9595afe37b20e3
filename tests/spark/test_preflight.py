"""What is said before anything starts: the support table, EXPLAIN ON SPARK, refusals. No Spark is needed."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from jupyter_stream.aggregates import AGGREGATES
from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.session.session import Session
from jupyter_stream.spark import start
from jupyter_stream.spark.aggregates import AGGREGATES as ON_SPARK
from jupyter_stream.spark.aggregates import OURS
from jupyter_stream.spark.support import RUNS, TABLE, page

REFERENCE = Path(__file__).parents[2] / "tutorials" / "reference"
DECLARED = "CREATE STREAM s (k STRING, x INT, ts TIMESTAMP) ORDER BY ts SOURCE 'frame://rows'"


@pytest.fixture
def session():
    frame = pl.DataFrame({"k": ["a"], "x": [1], "ts": [0]}).with_columns(pl.col("ts").cast(pl.Datetime("us")))
    with Session({"rows": frame}) as opened:
        opened.run(DECLARED)
        opened.run(
            "CREATE STREAM r (k STRING, ts TIMESTAMP, FOREIGN KEY (k) REFERENCES s (k) WITHIN 5 SECONDS) ORDER BY ts "
            "SOURCE 'frame://rows'"
        )
        opened.run("CREATE TABLE names (k STRING, name STRING); CREATE RETROACTIVE TABLE blocked (k STRING)")
        yield opened


def test_reference_page_is_what_the_table_says():
    command = "python -c 'from jupyter_stream.spark.support import page; print(page(), end=\"\")' > tutorials/reference/spark.md"
    assert (REFERENCE / "spark.md").read_text() == page(), f"run: {command}"


def test_every_aggregate_is_in_the_table():
    assert {a.name for a in AGGREGATES} == set(ON_SPARK) | set(OURS)


def test_what_is_refused_says_what_to_write_instead():
    assert all(row.how.endswith(".") for row in TABLE if row.kind not in RUNS)


def told(session, query):
    """What EXPLAIN ... ON SPARK says of a query, as one line."""
    return " ".join(str(session.run(f"EXPLAIN {query} ON SPARK")[-1]).split())


def test_explain_on_spark_fits_a_cell(session):
    query = (
        "SELECT k, count(*) AS how_many_rows_there_were, avg(x) AS mean_of_the_values FROM s [RANGE 1 MINUTE TUMBLING]"
    )
    lines = str(session.run(f"EXPLAIN {query} WHERE x > 0 GROUP BY k ON SPARK")[-1]).splitlines()
    assert max(map(len, lines)) <= 95
    # the part that is too long has what becomes of it below, where it begins beside the others
    assert lines[0].startswith("project ") and "native:" not in lines[0]
    assert {line.find("native:") for line in lines if "native:" in line} == {42}


def test_explain_on_spark_goes_part_by_part(session):
    text = told(session, "SELECT k, count(*) AS n FROM s [RANGE 1 MINUTE TUMBLING] WHERE x > 0 GROUP BY k")
    assert "native: window()" in text
    assert "filter (x > 0)" in text
    assert text.endswith("This query runs on Spark.")


def test_explain_on_spark_says_where_operators_of_ours_run(session):
    alone = told(session, "SELECT count(*) AS n FROM s [ROWS 5 SLIDE 1]")
    assert "ours in Spark: row windows of the kernel" in alone and "all rows go to one place" in alone
    spread = told(session, "SELECT k, count(*) AS n FROM s [PARTITION BY k ROWS 5 SLIDE 1] GROUP BY k")
    assert "as many buckets as there are shuffle partitions" in spread


@pytest.mark.parametrize(
    ("query", "which"),
    [
        ("SELECT x FROM (SELECT looked_up(x) AS x FROM s) q", "looked_up() reading names"),
        ("SELECT kept(x) FROM s", "kept() writing names"),
        ("SELECT in_another(DISTINCT x) FROM s [RANGE 1 MINUTE TUMBLING]", "in_another() reading names"),
        ("SELECT in_another(x) OVER (ROWS 2 PRECEDING) FROM s", "in_another() reading names"),
    ],
)
def test_an_aggregate_that_looks_into_tables_is_refused_before_anything_runs(session, query, which):
    session.run(
        """CREATE AGGREGATE looked_up (v INT) : STRING
        { INITIALIZE : ITERATE : { INSERT INTO RETURN SELECT name FROM names WHERE k = CAST(v AS STRING); } };
        CREATE AGGREGATE kept (v INT) : INT REFERENCES names
        { INITIALIZE : ITERATE : { INSERT INTO names VALUES ('a', 'b'); INSERT INTO RETURN VALUES (v); } };
        CREATE AGGREGATE in_another (v INT) : STRING
        { TABLE t (n INT); INITIALIZE : ITERATE : { INSERT INTO t VALUES (v); }
          TERMINATE : { INSERT INTO RETURN SELECT looked_up(n) FROM t; } };"""
    )
    text = told(session, query)
    assert which in text and "not in Spark: Spark's processes can't look into the tables" in text
    assert text.endswith("This query can't run on Spark.")
    with pytest.raises(UnsupportedError, match=f"{re.escape(which)} can't run on Spark") as refused:
        session.run(query, engine="spark")
    assert "join the table in FROM" in str(refused.value)


def test_explain_on_spark_shows_what_is_refused(session):
    text = told(session, "SELECT r.k FROM r [RANGE 10 SECONDS] JOIN s [RANGE 10 SECONDS] ON r.k = s.k")
    assert "not in Spark: A join of Spark's drops a row that refers to nothing" in text
    assert text.endswith("This query can't run on Spark.")


@pytest.mark.parametrize("emit", ["EVERY 1 SECOND", "CHANGES"])
def test_explain_on_spark_says_that_provisional_answers_come_from_one_place(session, emit):
    text = told(session, f"SELECT k, count(*) AS n FROM s [RANGE 1 MINUTE TUMBLING] GROUP BY k EMIT {emit}")
    assert f"EMIT {emit.split()[0]}" in text and "on one partition" in text and "all rows go to one place" in text
    assert text.endswith("This query runs on Spark.")


def test_explain_of_a_query_by_name(session):
    session.run("SELECT k FROM s", name="names")[-1].wait(200)
    assert "stream s" in told(session, "names")


@pytest.mark.parametrize(
    ("query", "says"),
    [
        (
            "CREATE SUMMARY m ON s (k) WITH GRANULARITY 60 SECONDS AND COLLAPSE (4, 3); "
            "SELECT k FROM s WITH PREFERENCE DESC SUMMARY.Estimate.Count(k)",
            "leave the preference out",
        ),
        (
            "SELECT r.k, count(*) FROM r [RANGE 10 SECONDS] JOIN s [RANGE 10 SECONDS] ON r.k = s.k GROUP BY r.k",
            "leave the constraint out",
        ),
    ],
)
def test_refused_query_starts_nothing(session, query, says, own_temporary):
    with pytest.raises(UnsupportedError) as refused:
        session.run(query, name="refused", engine="spark")
    assert says in str(refused.value)
    assert "refused" not in session.queries
    assert not list(own_temporary.iterdir())


def test_a_cluster_needs_a_folder_that_it_can_read(session):
    with pytest.raises(UnsupportedError, match="--checkpoint DIR"):
        session.run("SELECT k FROM s", engine="spark", master="spark://cluster:7077")


def test_explain_says_who_reads_a_source(session, tmp_path):
    pl.DataFrame({"k": ["a"], "ts": [0]}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"k": ["a"], "ts": [0]}).write_csv(tmp_path / "a.csv")
    for ending, says in (("parquet", "is read by Spark as it is"), ("csv", "parsed by our reader")):
        session.run(f"CREATE STREAM f (k STRING, ts BIGINT) ORDER BY ts SOURCE 'file://{tmp_path}/a.{ending}'")
        assert says in told(session, "SELECT k FROM f")
    assert "kept on disk in numbered files" in told(session, "SELECT k FROM s")


def test_without_java_it_says_what_to_install(session, monkeypatch):
    monkeypatch.setattr(start, "_made", None)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(UnsupportedError, match="Spark needs Java") as refused:
        session.run("SELECT k FROM s", engine="spark")
    assert "openjdk-17" in str(refused.value)
    kernel = session.run("SELECT k FROM s")[-1]
    assert kernel.wait(200)


def test_session_of_a_cluster_is_refused_with_the_reason(session, monkeypatch):
    from pyspark.sql import SparkSession

    cluster = object.__new__(SparkSession)
    context = type("Context", (), {"_jsc": object(), "master": "yarn"})()
    monkeypatch.setattr(SparkSession, "sparkContext", context)
    session.namespace["spark"] = cluster
    with pytest.raises(UnsupportedError, match="yarn"):
        session.run("SELECT k FROM s", engine="spark")


def test_unknown_engine(session):
    with pytest.raises(QueryError, match="no engine 'flink'"):
        session.run("SELECT k FROM s", engine="flink")
