"""CREATE AGGREGATE and calls: mistakes are told where they stand, with what to write instead."""

# ruff: noqa: E501  # tables of statements read best with one to a line

from __future__ import annotations

import polars as pl
import pytest

from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.session.session import Session

AVG = """CREATE AGGREGATE mean2 (Next REAL) : REAL
{ TABLE state (tsum REAL, cnt INT);
  INITIALIZE : { INSERT INTO state VALUES (Next, 1); }
  ITERATE : { UPDATE state SET tsum = tsum + Next, cnt = cnt + 1; }
  TERMINATE : { INSERT INTO RETURN SELECT tsum / cnt FROM state; } }"""
ONLINE = "CREATE AGGREGATE online (x) { ITERATE : { INSERT INTO RETURN VALUES (x); } }"


@pytest.fixture
def session():
    frame = pl.DataFrame({"k": ["a"], "x": [1.0], "ts": [0]}).with_columns(pl.col("ts").cast(pl.Datetime("us")))
    with Session({"rows": frame}) as opened:
        opened.run("CREATE STREAM s (k STRING, x REAL, ts TIMESTAMP) ORDER BY ts SOURCE 'frame://rows'")
        opened.run(f"{AVG}; {ONLINE}")
        yield opened


DECLARATIONS = [
    (AVG.replace("tsum + Next", "«tsun» + Next"), "there is no column called tsun", "Did you mean tsum?"),
    (AVG.replace("SELECT tsum / cnt FROM state", "SELECT tsum FROM «stat»"), "this aggregate has no table called stat", "Did you mean state?"),
    (AVG.replace("UPDATE state", "UPDATE «inwindow»"), "this aggregate has no table called inwindow", "TABLE inwindow"),
    (AVG.replace("(Next, 1)", "(«Next»)"), "1 value for 2 columns", None),
    (AVG.replace("INSERT INTO RETURN SELECT tsum / cnt FROM state; ", "").replace("mean2", "«mean2»"), "mean2 never returns anything", "INSERT INTO RETURN"),
    (AVG.replace("TERMINATE", "«TERMINTAE»"), "INITIALIZE, ITERATE, TERMINATE or EXPIRE is missing here", "Did you mean TERMINATE?"),
    (AVG.replace("ITERATE : {", "«INITIALIZE» : {"), "INITIALIZE appears twice", "in one place"),
    (AVG.replace("tsum / cnt", "«upper(cnt) + DATE '2024-01-01'»"), "+ can't take", None),
    (AVG.replace("SELECT tsum / cnt FROM state", "VALUES («DATE '2024-01-01'»)"), "the result is DOUBLE", None),
    (AVG.replace("UPDATE state SET", "UPSERT state SET").replace("UPSERT", "«UPSERT»"), "no statement in the body of an aggregate begins with UPSERT", None),
    (AVG.replace("cnt INT", "«cnt»"), "the type of cnt is missing", "cnt DOUBLE"),
    (AVG.replace("tsum + Next", "tsum + «oldest()»"), "oldest() needs the table inwindow, which this aggregate doesn't have", "TABLE inwindow"),
    (AVG.replace("tsum + Next", "«sum(Next)»"), "an aggregate can't be used in SET", "SELECT max(x)"),
    (AVG.replace("tsum / cnt", "«tsum», count(*)").replace(": REAL\n", ": (a REAL, b INT)\n"), "this is neither grouped nor aggregated", "GROUP BY"),
    ("CREATE WINDOW AGGREGATE f (x INT) { TABLE inwindow (a INT, b INT); ITERATE : { INSERT INTO RETURN VALUES (x); } }".replace("inwindow", "«inwindow»"), "inwindow has 2 columns, and the aggregate 1 parameters", None),
    ("CREATE WINDOW AGGREGATE f (x INT) { TABLE inwindow («a» REAL); ITERATE : { INSERT INTO RETURN VALUES (x); } }", "a is DOUBLE, and x is INT", None),
    ("CREATE WINDOW AGGREGATE f (x INT) { TABLE inwindow (a INT); ITERATE : { INSERT INTO «inwindow» VALUES (x); } }", "inwindow can't be written to: the system puts the rows in", None),
    ("CREATE AGGREGATE f (x INT, «x» INT) { ITERATE : { INSERT INTO RETURN VALUES (x); } }", "x appears twice", "another name"),
    ("CREATE AGGREGATE f (x INT) { ITERATE : { INSERT INTO RETURN VALUES (x) «INSERT» INTO RETURN VALUES (x); } }", "; is missing here", None),
    (AVG.replace("FROM state;", "FROM state ORDER BY «3»;"), "there is no select item number 3", "There are 1"),
    (AVG.replace("SELECT tsum / cnt FROM state;", "SELECT DISTINCT cnt FROM state ORDER BY «tsum»;"), "with DISTINCT, ORDER BY can only name what is selected", "remove DISTINCT"),
    ("CREATE AGGREGATE f (x INT) { ITERATE : { «SELECT» 1 FROM t; } }", "a SELECT alone does nothing here", "INSERT INTO RETURN"),
]  # fmt: skip


@pytest.mark.parametrize(("marked", "message", "hint"), DECLARATIONS, ids=[m for _, m, _ in DECLARATIONS])
def test_a_mistake_in_a_body_is_told_where_it_stands(
    session: Session, marked: str, message: str, hint: str | None
) -> None:
    with pytest.raises(QueryError) as caught:
        session.run(marked.replace("«", "").replace("»", ""))
    error = caught.value
    before = marked[: marked.index("«")].replace("»", "")
    assert message in error.message
    assert (error.line, error.column) == (before.count("\n") + 1, len(before) - before.rfind("\n")), str(error)
    assert hint is None or (error.hint is not None and hint in error.hint), error.hint


CALLS = [
    ("SELECT «mean2(x)» FROM s", "has a TERMINATE, which waits for the end of a window", "[RANGE 10 MINUTES SLIDE 1 MINUTE]"),
    ("SELECT «mean2(x, x)» FROM s [ROWS 5 SLIDE 1]", "mean2 takes 1 argument, not 2", "mean2(Next DOUBLE) -> DOUBLE"),
    ("SELECT mean2(«ts») FROM s [ROWS 5 SLIDE 1]", "argument 1 of mean2 is DOUBLE, not TIMESTAMP", "CAST"),
    ("SELECT «meen2(x)» FROM s", "there is no function called meen2", "Did you mean mean2?"),
    ("SELECT count(*), «online(x)» FROM s", "built-in and user-defined aggregates can't be used in one query", "one query for each"),
    ("SELECT x FROM s WHERE «mean2(x)» > 1", "an aggregate can't be used in WHERE", None),
    ("SELECT «x», mean2(x) FROM s [ROWS 5 SLIDE 1]", "x is neither grouped nor aggregated", None),
    ("SELECT count(*) OVER (RANGE 1 SECOND PRECEDING ACTIVE EXPIRATION), "
     "«mean2(x)» OVER (RANGE 1 SECOND PRECEDING ACTIVE EXPIRATION) FROM s",
     "built-in and user-defined aggregates can't be combined under ACTIVE EXPIRATION", "one query for each"),
    ("DROP AGGREGATE «meen2»", "there is no user-defined aggregate called meen2", "Did you mean mean2?"),
    ("DESCRIBE AGGREGATE «meen2»", "there is no user-defined aggregate called meen2", "Did you mean mean2?"),
]  # fmt: skip


@pytest.mark.parametrize(("marked", "message", "hint"), CALLS, ids=[m for _, m, _ in CALLS])
def test_a_wrong_call_is_told_where_it_stands(session: Session, marked: str, message: str, hint: str | None) -> None:
    with pytest.raises(QueryError) as caught:
        session.run(marked.replace("«", "").replace("»", ""))
    error = caught.value
    assert message in error.message
    assert error.column == marked.index("«") + 1, str(error)
    assert hint is None or (error.hint is not None and hint in error.hint), error.hint


def test_on_spark_a_user_defined_aggregate_runs_as_the_kernels_operator(session: Session) -> None:
    text = str(session.run("EXPLAIN SELECT mean2(x) FROM s [RANGE 1 MINUTE TUMBLING] ON SPARK")[-1])
    assert "mean2(x)" in text
    assert "ours in Spark: the kernel's operators" in text


def test_another_strategy_than_panes_is_refused(session: Session) -> None:
    with pytest.raises(UnsupportedError, match="isn't available for user-defined aggregates"):
        session.run("SELECT k, mean2(x) FROM s [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY k", strategy="wid")


def test_show_describe_and_drop(session: Session) -> None:
    shown = session.run("SHOW AGGREGATES")[-1].to_polars()
    assert set(shown.filter(pl.col("aggregate").is_in(["mean2", "online"])).rows()) == {
        ("mean2", "mean2(Next DOUBLE) -> DOUBLE", "base", "", "User-defined aggregate in SQL: INITIALIZE, ITERATE, TERMINATE."),
        ("online", "online(x)", "base", "", "User-defined aggregate in SQL: ITERATE."),
    }  # fmt: skip
    assert "UPDATE state SET" in str(session.run("DESCRIBE AGGREGATE Mean2")[-1])
    assert "UPDATE state SET" in str(session.run("DESCRIBE mean2")[-1])
    assert session.run("DESCRIBE FUNCTION mean2")[-1].to_polars().height == 1
    assert "mean2" in session.run("DESCRIBE FUNCTIONS")[-1].to_polars()["function"].to_list()
    assert str(session.run("DROP AGGREGATE mean2")[-1]) == "Aggregate mean2 is dropped."
    assert str(session.run("DROP AGGREGATE IF EXISTS mean2")[-1]) == "There is no mean2."
    with pytest.raises(QueryError, match="there is no function called mean2"):
        session.run("SELECT mean2(x) FROM s")


WAYS = [
    ("SELECT mean2(x) FROM s [RANGE 4 SECONDS SLIDE 2 SECONDS]", "mean2 (recomputed: "),
    ("SELECT mean2(x) FROM s [RANGE ALL SLIDE 2 SECONDS]", "mean2 (running: "),
    ("SELECT delta(x) FROM s [RANGE 4 SECONDS SLIDE 2 SECONDS]", "delta (delta: "),
    ("SELECT delta(x) FROM s [RANGE 4 SECONDS TUMBLING]", "delta (recomputed: "),
    ("SELECT delta(x) OVER (ROWS 3 PRECEDING) FROM s", "delta (delta: "),
    ("SELECT mean2(x) OVER (ROWS 3 PRECEDING) FROM s", "mean2 (recomputed: "),
    ("SELECT mean2(x) OVER (RANGE UNBOUNDED PRECEDING) FROM s", "mean2 (running: "),
    (
        "SELECT most(x) FROM s [RANGE 4 SECONDS SLIDE 2 SECONDS]",
        "most (paned: an answer of each pane, and most over those)",
    ),
    (
        "SELECT most(x) OVER (ROWS 9 PRECEDING SLIDE 4) FROM s",
        "most (paned: an answer of each tumble of 2 rows, and most ",
    ),
    ("SELECT most(x) OVER (ROWS 9 PRECEDING SLIDE 3) FROM s", "most (recomputed: "),
    (
        "SELECT both(x) FROM s [RANGE 4 SECONDS SLIDE 2 SECONDS]",
        "both (paned: an answer of each pane, and both over those, EXPIRE",
    ),
    ("SELECT online(x) FROM s", "online (running: "),
    ("SELECT mean2(x) FROM s [SESSION 2 SECONDS]", "mean2 (recomputed: "),
]


@pytest.mark.parametrize(("text", "way"), WAYS)
def test_explain_says_how_each_runs(session: Session, text: str, way: str) -> None:
    session.run(
        "CREATE WINDOW AGGREGATE delta (x REAL) { TABLE s (n REAL); INITIALIZE : { INSERT INTO s VALUES (x); }"
        " ITERATE : { UPDATE s SET n = n + x; } TERMINATE : { INSERT INTO RETURN SELECT n FROM s; }"
        " EXPIRE : { UPDATE s SET n = n - x; } };"
        "CREATE ALGEBRAIC AGGREGATE most (x REAL) : REAL { TABLE s (n REAL); INITIALIZE : { INSERT INTO s VALUES (x); }"
        " ITERATE : { UPDATE s SET n = x WHERE x > n; } TERMINATE : { INSERT INTO RETURN SELECT n FROM s; } };"
        "CREATE ALGEBRAIC AGGREGATE both (x REAL) : REAL { TABLE s (n REAL); INITIALIZE : { INSERT INTO s VALUES (x); }"
        " ITERATE : { UPDATE s SET n = n + x; } TERMINATE : { INSERT INTO RETURN SELECT n FROM s; } };"
        "CREATE WINDOW AGGREGATE both (x REAL) : REAL { TABLE s (n REAL); INITIALIZE : { INSERT INTO s VALUES (x); }"
        " ITERATE : { UPDATE s SET n = n + x; } TERMINATE : { INSERT INTO RETURN SELECT n FROM s; }"
        " EXPIRE : { UPDATE s SET n = n - x; } }"
    )
    assert f"user-defined {way}" in str(session.run(f"EXPLAIN {text}")[-1])
