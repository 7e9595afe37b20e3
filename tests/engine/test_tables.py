"""Tables: declared, changed, selected from, and looked into by streams at the time of their rows."""

import threading

import polars as pl
import pytest

from jupyter_stream import QueryError, Session
from jupyter_stream.session.query import Message
from tests.waiting import until


@pytest.fixture
def session():
    trades = pl.DataFrame(
        {"symbol": ["a", "b", "a", None, "c"], "n": [1, 2, 3, 4, 5], "ts": [0, 10, 20, 30, 5]},
        schema={"symbol": pl.String, "n": pl.Int64, "ts": pl.Int64},
    )
    symbols = pl.DataFrame({"symbol": ["a", "b", "b", None], "name": ["Alpha", "Beta", "Bravo", "Nobody"]})
    with Session({"trades": trades, "symbols_df": symbols}) as made:
        made.execute(
            "CREATE STREAM trades (symbol STRING, n BIGINT, ts BIGINT, WATERMARK FOR ts AS ts - INTERVAL 15 MICROSECONDS)"
            " SOURCE 'frame://trades';"
            "CREATE TABLE symbols (symbol STRING, name STRING) SOURCE 'frame://symbols_df';"
            "CREATE TABLE small (k INT, v STRING); INSERT INTO small VALUES (1, 'x'), (2, 'y'), (3, NULL)"
        )
        yield made


def rows(session: Session, query: str) -> list[tuple]:
    (handle,) = session.execute(query)
    assert handle.wait(200)
    return sorted(handle.to_polars().rows(), key=repr)


def said(session: Session, statement: str) -> str:
    (message,) = session.run(statement)
    assert isinstance(message, Message)
    return str(message)


def test_rows_are_inserted_changed_and_deleted(session: Session) -> None:
    assert said(session, "INSERT INTO small (v) VALUES (upper('q'))") == "1 row inserted into small."
    assert said(session, "UPDATE small SET k = k * 10, v = coalesce(v, 'z') WHERE k > 1") == "2 rows changed in small."
    assert said(session, "DELETE FROM small WHERE k = 1") == "1 row deleted from small."
    assert rows(session, "SELECT * FROM small") == [(20, "y"), (30, "z"), (None, "Q")]
    assert (
        said(session, "INSERT INTO small SELECT k + 1, v FROM small WHERE k IS NOT NULL")
        == "2 rows inserted into small."
    )
    assert rows(session, "SELECT count(*) AS n, sum(k) AS k FROM small") == [(5, 102)]
    assert said(session, "DELETE FROM small") == "5 rows deleted from small."
    assert rows(session, "SELECT * FROM small") == []


def test_a_select_over_tables_is_answered_once_as_they_are_now(session: Session) -> None:
    (handle,) = session.execute("SELECT v, count(*) AS n FROM small GROUP BY v")
    assert handle.wait(200) and handle.status == "finished"
    session.execute("INSERT INTO small VALUES (9, 'x')")
    assert sorted(handle.to_polars().rows(), key=repr) == [("x", 1), ("y", 1), (None, 1)]
    assert ("x", 2) in rows(session, "SELECT v, count(*) AS n FROM small GROUP BY v")
    crossed = "SELECT s.name, t.v FROM symbols s JOIN small t ON t.k = length(s.name) - 3"
    assert rows(session, crossed) == [("Alpha", "y"), ("Beta", "x"), ("Bravo", "y"), ("Nobody", None)]
    assert rows(session, "SELECT t.k FROM small t JOIN small u ON t.k = u.k AND u.v = 'y'") == [(2,)]


def test_stream_rows_look_up_the_tables_rows(session: Session) -> None:
    join = "FROM trades t {} symbols s ON t.symbol = s.symbol"
    assert rows(session, f"SELECT n, name {join.format('JOIN')}") == [
        (1, "Alpha"),
        (2, "Beta"),
        (2, "Bravo"),
        (3, "Alpha"),
    ]
    left = rows(session, f"SELECT n, name {join.format('LEFT JOIN')}")
    assert left == [(1, "Alpha"), (2, "Beta"), (2, "Bravo"), (3, "Alpha"), (4, None), (5, None)]
    assert rows(session, f"SELECT n {join.format('LEFT SEMI JOIN')}") == [(1,), (2,), (3,)]
    assert rows(session, f"SELECT n {join.format('LEFT ANTI JOIN')}") == [(4,), (5,)]
    assert rows(
        session, "SELECT n, name FROM symbols s, trades t WHERE t.symbol = s.symbol AND n > 1 AND name < 'Bf'"
    ) == [(2, "Beta"), (3, "Alpha")]
    assert rows(session, "SELECT symbol, n, name FROM trades JOIN symbols USING (symbol) WHERE n = 1") == [
        ("a", 1, "Alpha")
    ]
    assert rows(session, "SELECT n, v FROM trades JOIN small ON n >= k AND n <= k + 1 AND v = 'y'") == [
        (2, "y"),
        (3, "y"),
    ]
    both = "SELECT n, name, v FROM trades t JOIN symbols s USING (symbol) LEFT JOIN small m ON m.k = t.n"
    assert rows(session, both) == [(1, "Alpha", "x"), (2, "Beta", "y"), (2, "Bravo", "y"), (3, "Alpha", None)]


def test_a_window_on_the_stream_is_one_on_the_joined_rows(session: Session) -> None:
    windowed = (
        "SELECT name, sum(n) AS n FROM trades [RANGE 20 MICROSECONDS TUMBLING] t "
        "JOIN symbols s ON t.symbol = s.symbol GROUP BY name"
    )
    assert rows(session, windowed) == [
        (0, 20, "Alpha", 1),
        (0, 20, "Beta", 2),
        (0, 20, "Bravo", 2),
        (20, 40, "Alpha", 3),
    ]
    assert rows(session, windowed.replace(" [RANGE 20 MICROSECONDS TUMBLING]", "")) == [
        ("Alpha", 4),
        ("Beta", 2),
        ("Bravo", 2),
    ]


def test_late_rows_are_looked_up_too(session: Session) -> None:
    (handle,) = session.execute(
        "SELECT count(name) AS n FROM trades [RANGE 10 MICROSECONDS TUMBLING] t LEFT JOIN symbols s ON t.n + 2 = length(s.name)"
    )
    assert handle.wait(200)
    assert handle.late["n"].to_list() == [5]


def test_a_change_goes_for_the_rows_that_come_after_it() -> None:
    more = threading.Event()

    def ticks():
        yield {"k": 1, "ts": 10}
        more.wait(200)
        yield {"k": 1, "ts": 20}

    with Session({"ticks": ticks()}) as session:
        session.execute(
            "CREATE TABLE t (k INT, v STRING); INSERT INTO t VALUES (1, 'before');"
            "CREATE STREAM s (k INT, ts BIGINT) ORDER BY current_time SOURCE 'python://ticks'"
        )
        (handle,) = session.execute("SELECT s.k, v FROM s JOIN t ON s.k = t.k")
        until(lambda: len(handle.to_polars()))
        session.execute("UPDATE t SET v = 'after'")
        more.set()
        assert handle.wait(200)
        assert handle.to_polars()["v"].to_list() == ["before", "after"]


def test_a_table_is_shown_described_and_dropped(session: Session) -> None:
    (shown,) = session.run("SHOW TABLES")
    assert shown.frame["table"].to_list() == ["symbols", "small"]  # type: ignore[union-attr]
    (streams,) = session.run("SHOW STREAMS")
    assert streams.frame["stream"].to_list() == ["trades"]  # type: ignore[union-attr]
    (described,) = session.run("DESCRIBE small")
    assert described.frame.rows() == [("k", "INT", ""), ("v", "STRING", "")]  # type: ignore[union-attr]
    assert said(session, "DROP TABLE small") == "Table small is dropped."
    with pytest.raises(QueryError, match="there is no table called small"):
        session.execute("DELETE FROM small")


@pytest.mark.parametrize(
    ("statement", "message", "column"),
    [
        ("INSERT INTO trades VALUES (1)", "trades is a stream, and can't be written to", 13),
        ("INSERT INTO smal VALUES (1)", "there is no table called smal", 13),
        ("INSERT INTO small VALUES (1)", "1 value for 2 columns", 27),
        ("INSERT INTO small (k, q) VALUES (1, 2)", "there is no column called q", 23),
        ("INSERT INTO small VALUES (k, 'a')", "there is no column called k", 27),
        (
            "INSERT INTO small SELECT n, symbol FROM trades",
            "trades is a stream: an INSERT into a table would never end",
            19,
        ),
        ("INSERT INTO small SELECT k FROM small", "1 columns for 2", 19),
        ("UPDATE small SET q = 1", "there is no column called q", 18),
        ("UPDATE small SET k = 1, k = 2", "k is set twice", 25),
        ("DELETE small", "FROM is missing here", 8),
        ("DELETE FROM small WHERE k", "WHERE takes a condition, and this is INT", 25),
        ("CREATE TABLE t (a INT) ORDER BY a", "a table can't have ORDER BY or a watermark", 33),
        (
            "SELECT n FROM trades t RIGHT JOIN symbols s ON t.symbol = s.symbol",
            "a right join with a table would wait forever",
            15,
        ),
        (
            "SELECT n FROM symbols s LEFT JOIN trades t ON t.symbol = s.symbol",
            "a left join of a table with a stream",
            15,
        ),
        (
            "SELECT n FROM trades JOIN symbols [RANGE 1 SECOND] s ON TRUE",
            "symbols is a table, and windows need a stream",
            35,
        ),
    ],
)
def test_mistakes_with_tables(session: Session, statement: str, message: str, column: int) -> None:
    with pytest.raises(QueryError) as wrong:
        session.execute(statement)
    assert message in wrong.value.message and wrong.value.column == column


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO small VALUES (1 / 0, 'a')",
        "INSERT INTO small VALUES ('x', 'a')",
        "UPDATE small SET k = 1 / (k - 2)",
    ],
)
def test_a_statement_that_fails_changes_nothing(session: Session, statement: str) -> None:
    with pytest.raises(QueryError, match="nothing is changed"):
        session.execute(statement)
    assert rows(session, "SELECT * FROM small") == [(1, "x"), (2, "y"), (3, None)]


def test_a_table_is_made_by_a_select_over_tables(session: Session) -> None:
    assert said(session, "CREATE TABLE named AS SELECT symbol, name FROM symbols WHERE symbol IS NOT NULL") == (
        "Table named declared: 2 columns, 3 rows."
    )
    assert rows(session, "SELECT * FROM named") == [("a", "Alpha"), ("b", "Beta"), ("b", "Bravo")]
    said(session, "CREATE RETROACTIVE TABLE counts (k, many) AS SELECT symbol, count(*) FROM symbols GROUP BY symbol")
    said(session, "INSERT INTO counts VALUES ('z', 9)")
    assert rows(session, "SELECT k, many FROM counts WHERE many > 1") == [("b", 2), ("z", 9)]
    said(session, "DELETE FROM named WHERE symbol = 'b'")
    assert rows(session, "SELECT count(*) AS n FROM symbols") == [(4,)], "the table has rows of its own"


def test_a_table_keeps_what_a_view_held(session: Session) -> None:
    (view,) = session.execute("CREATE VIEW busy AS SELECT symbol, count(*) AS n FROM trades GROUP BY symbol")
    assert view.wait(200)
    said(session, "CREATE TABLE kept AS SELECT * FROM busy WHERE n > 1")
    session.execute("DROP VIEW busy")
    assert rows(session, "SELECT * FROM kept") == [("a", 2)]


@pytest.mark.parametrize(
    ("statement", "message", "column"),
    [
        (
            "CREATE TABLE t AS SELECT n FROM trades",
            "trades is a stream, which never ends, and a table is filled once",
            19,
        ),
        ("CREATE TABLE t (a, b) AS SELECT k FROM small", "2 names for 1 columns", 17),
        ("CREATE TABLE t (a INT) AS SELECT k FROM small", "the columns of a table have the types of its SELECT", 17),
        (
            "CREATE TABLE t AS SELECT k FROM small EMIT CHANGES",
            "EMIT can't be used here: a table is filled once, with the final answer",
            39,
        ),
        ("CREATE TABLE t AS WITH (a = 'b')", "the name of a subquery is missing here", 24),
        ("CREATE TABLE t AS SELECT z FROM small", "there is no column called z", 26),
    ],
)
def test_mistakes_in_tables_made_by_selects(session: Session, statement: str, message: str, column: int) -> None:
    with pytest.raises(QueryError) as wrong:
        session.execute(statement)
    assert wrong.value.message == message and wrong.value.column == column
    assert session.catalog.find("t") is None
