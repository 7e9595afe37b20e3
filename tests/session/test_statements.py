"""What statements about tables and names do, and the places of what they refuse."""

from pathlib import Path

import polars as pl
import pytest

from jupyter_stream import QueryError, Session, SourceError


@pytest.fixture
def session():
    rows = pl.DataFrame({"ts": range(6), "k": list("aabbbc"), "n": range(6)})
    with Session({"rows": rows}) as session:
        session.execute("CREATE STREAM s (ts BIGINT, k STRING, n BIGINT) ORDER BY ts SOURCE 'frame://rows'")
        session.execute("CREATE TABLE t (k STRING, v INT)")
        session.execute("INSERT INTO t VALUES ('a', 1), ('b', 2), ('c', 0)")
        yield session


def answer(session: Session, text: str) -> pl.DataFrame:
    query = session.execute(text)[-1]
    assert query.wait(200)
    return query.to_polars()


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("INSERT INTO t VALUES ('d', 1),\n ('e', 'x')", 2, 8),
        ("INSERT INTO t (v, k) VALUES (1 / 0, 'd')", 1, 30),
        ("UPDATE t SET k = 'z', v = 1 / 0", 1, 27),
        ("UPDATE t SET v = 1 WHERE 1 / v > 0", 1, 26),
        ("DELETE FROM t WHERE 1 / v > 0", 1, 21),
        ("INSERT INTO t SELECT k, k FROM t", 1, 15),
        ("INSERT INTO t SELECT k, DATE '2024-01-01' FROM t", 1, 15),
    ],
)
def test_a_value_that_a_table_cannot_take_is_told_with_its_place(
    session: Session, text: str, line: int, column: int
) -> None:
    with pytest.raises(QueryError) as told:
        session.execute(text)
    assert (told.value.line, told.value.column) == (line, column)
    assert told.value.snippet
    assert sorted(answer(session, "SELECT k, v FROM t").rows()) == [("a", 1), ("b", 2), ("c", 0)]


def test_if_not_exists_leaves_what_is_there(session: Session) -> None:
    session.execute("CREATE VIEW v AS SELECT k, count(*) AS c FROM s GROUP BY k")
    session.execute("CREATE TABLE IF NOT EXISTS t (other INT); CREATE STREAM IF NOT EXISTS s AS SELECT k FROM s")
    (again,) = session.execute("CREATE VIEW IF NOT EXISTS v AS SELECT k FROM s")
    assert again is session.queries["v"]
    assert answer(session, "SELECT count(v) AS c FROM t")["c"].to_list() == [3]
    assert session.catalog.find("s").schema.names == ("ts", "k", "n")
    session.execute("CREATE TABLE IF NOT EXISTS fresh (a INT)")
    assert session.catalog.find("fresh") is not None


@pytest.mark.parametrize(
    ("text", "hint"),
    [("DROP TABLE s", "DROP STREAM s"), ("DROP STREAM t", "DROP TABLE t"), ("DROP TABLE v", "DROP VIEW v")],
)
def test_drop_names_what_it_drops(session: Session, text: str, hint: str) -> None:
    session.execute("CREATE VIEW v AS SELECT k, count(*) AS c FROM s GROUP BY k")
    with pytest.raises(QueryError) as told:
        session.execute(text)
    assert told.value.column == 12 + (text[5] == "S") and hint in str(told.value)
    session.execute(hint)
    assert session.catalog.find(hint.split()[-1]) is None


def test_a_stream_that_others_derive_from_stays_and_the_error_has_a_place(session: Session) -> None:
    session.execute("CREATE STREAM big AS SELECT ts AS at, n FROM s WHERE n > 1")
    with pytest.raises(QueryError, match="line 1, column 13: big is derived from s"):
        session.execute("DROP STREAM s")


def test_describe_says_which_column_of_a_derived_stream_is_its_time(session: Session) -> None:
    (columns,) = session.execute("CREATE STREAM big AS SELECT n, ts AS at FROM s; DESCRIBE big")
    assert columns.to_polars()["role"].to_list() == ["", "event time"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT t.k, v FROM t LEFT JOIN u ON t.k = u.k ORDER BY w NULLS FIRST", [("c", 0), ("b", 2), ("a", 1)]),
        ("SELECT k FROM t ORDER BY v DESC", [("b",), ("a",), ("c",)]),
        ("SELECT k FROM t ORDER BY -v, k", [("b",), ("a",), ("c",)]),
        ("SELECT k FROM s GROUP BY k ORDER BY count(*) DESC", [("b",), ("a",), ("c",)]),
        ("SELECT k FROM s GROUP BY k ORDER BY count(*) LIMIT 2", [("c",), ("a",)]),
        ("SELECT n FROM s ORDER BY n % 3, n LIMIT 5", [(0,), (3,), (1,), (4,), (2,)]),
    ],
)
def test_rows_come_in_the_order_asked_for_whether_or_not_its_keys_are_selected(
    session: Session, text: str, expected: list[tuple[object, ...]]
) -> None:
    session.execute("CREATE TABLE u (k STRING, w INT); INSERT INTO u VALUES ('a', 9), ('b', 3)")
    assert answer(session, text).rows() == expected


def test_a_change_of_a_key_that_is_not_selected_is_no_change_of_the_answer(session: Session) -> None:
    (query,) = session.execute("SELECT k FROM s GROUP BY k ORDER BY count(*)")
    assert query.wait(200)
    assert query.changes().select("k", "op").rows() == [("a", 1), ("b", 1), ("c", 1)]


def test_what_stands_before_a_mistake_is_run(session: Session) -> None:
    with pytest.raises(QueryError, match="no column called nope"):
        session.execute("SELECT n FROM s; SELECT nope FROM s", name="first")
    assert session.queries["first"].wait(200)
    assert session.queries["first"].to_polars().height == 6


def test_a_query_whose_source_is_gone_has_failed_rather_than_waits(session: Session) -> None:
    del session.namespace["rows"]
    with pytest.raises(SourceError):
        session.execute("SELECT n FROM s", name="gone")
    assert session.queries["gone"].status == "failed"
    with pytest.raises(QueryError, match="gone failed"):
        session.queries["gone"].wait(200)


def test_names_for_columns_say_which_columns_there_are(session: Session) -> None:
    with pytest.raises(QueryError, match="2 names for 4 columns") as told:
        session.execute(
            "CREATE STREAM m (a, b) AS SELECT k, count(*) AS c FROM s [RANGE 2 MICROSECONDS TUMBLING] GROUP BY k"
        )
    assert "window_start, window_end, k, c" in str(told.value)


@pytest.mark.parametrize(
    "wrong",
    ["follow = 'maybe'", "HEADERS = 'true'", "rate = 'soon'", "quote = 'ab'", "null_values = 'x'"],
)
@pytest.mark.parametrize("what", ["STREAM", "TABLE"])
def test_the_caret_of_an_option_that_cant_be_is_under_the_option(tmp_path: Path, what: str, wrong: str) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n")
    text = f"CREATE {what} s (x INT) SOURCE 'file://{tmp_path}/a.csv'\n  WITH (delimiter = ',', {wrong})"
    with Session() as session, pytest.raises(SourceError) as caught:
        session.execute(text)
    error = caught.value
    assert error.line == 2 and error.column is not None and error.snippet is not None
    assert error.snippet[error.column - 1 :][: error.width] == wrong


def test_a_row_for_which_a_value_has_several_rows_is_shown_as_it_came(session: Session) -> None:
    session.execute("INSERT INTO t VALUES ('a', 3)")
    query, over = session.execute(
        "SELECT ts, (SELECT v FROM t WHERE t.k = s.k) AS v FROM s WHERE n = 0;"
        "SELECT k, sum(n) AS m FROM s [RANGE 9 MICROSECONDS TUMBLING] WHERE n = 0 GROUP BY k HAVING sum(n) < (SELECT v FROM t)"
    )
    assert query.wait(200) and over.wait(200)
    assert query.errors["raw"].to_list() == ['{"ts":0,"k":"a","n":0}']
    assert over.errors["raw"].to_list() == ['{"k":"a","window_start":0,"window_end":9}']
