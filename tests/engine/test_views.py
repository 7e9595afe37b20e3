"""CREATE VIEW: kept up to date, read with ad hoc SELECTs, shown and dropped."""

import threading

import polars as pl
import pytest

from jupyter_stream import QueryError, Session
from tests.engine.live import Live
from tests.waiting import until

STREAM = "CREATE STREAM s (k STRING, n BIGINT, ts BIGINT) ORDER BY ts SOURCE 'frame://rows'"


@pytest.fixture
def session():
    rows = pl.DataFrame({"k": ["a", "b", "a", "c"], "n": [1, 2, 3, 4], "ts": [0, 10, 20, 30]})
    with Session({"rows": rows}) as made:
        made.execute(STREAM)
        yield made


def answer(session: Session, query: str) -> list[tuple]:
    (handle,) = session.execute(query)
    assert handle.wait(200)
    return sorted(handle.to_polars().rows(), key=repr)


def test_a_view_holds_the_newest_row_of_each_partition(session: Session) -> None:
    (latest,) = session.execute("CREATE VIEW latest AS SELECT k, sum(n) AS n FROM s [PARTITION BY k ROWS 1] GROUP BY k")
    assert latest.name == "latest" and latest.wait(200)
    assert answer(session, "SELECT * FROM latest WHERE n > 1") == [("a", 3), ("b", 2), ("c", 4)]
    assert answer(session, "SELECT count(*) AS c, sum(n) AS n FROM latest") == [(3, 9)]


def test_a_view_of_a_sliding_window_is_the_extent_that_ended_last(session: Session) -> None:
    (view,) = session.execute(
        "CREATE VIEW v AS SELECT k, sum(n) AS n FROM s [RANGE 20 MICROSECONDS SLIDE 10 MICROSECONDS] GROUP BY k"
    )
    assert view.wait(200)
    assert view.changes().select("window_end", "k", "n", "op", "at").rows()[:6] == [
        (10, "a", 1, 1, 9),
        (10, "a", 1, -1, 19),
        (20, "a", 1, 1, 19),
        (20, "b", 2, 1, 19),
        (20, "a", 1, -1, 29),
        (20, "b", 2, -1, 29),
    ]


def test_columns_can_be_renamed_and_views_are_shown_described_and_dropped(session: Session) -> None:
    session.execute("CREATE VIEW few (key, many) AS SELECT k, count(*) FROM s GROUP BY k")
    (shown,) = session.run("SHOW VIEWS")
    assert shown.frame["view"].to_list() == ["few"]  # type: ignore[union-attr]
    (tables,) = session.run("SHOW TABLES")
    assert tables.frame.height == 0  # type: ignore[union-attr]
    (described,) = session.run("DESCRIBE few")
    assert described.frame.rows() == [("key", "STRING", ""), ("many", "BIGINT", "")]  # type: ignore[union-attr]
    session.execute("DROP VIEW few")
    assert "few" not in session.queries
    with pytest.raises(QueryError, match="there is no stream called few"):
        session.execute("SELECT * FROM few")


def test_a_running_view_is_read_as_it_is_now() -> None:
    over = threading.Event()

    def rows():
        yield {"k": "a", "ts": 1}
        yield {"k": "b", "ts": 2}
        over.wait(600)

    with Session({"rows": rows()}) as session:
        session.execute("CREATE STREAM s (k STRING, ts BIGINT) ORDER BY ts SOURCE 'python://rows'")
        (view,) = session.execute("CREATE VIEW v AS SELECT count(*) AS n FROM s")
        until(lambda: view.to_polars().rows() == [(1,)])  # the second row's time may still bring others
        assert answer(session, "SELECT n FROM v") == [(1,)]
        assert view.status == "running"
        over.set()


def test_a_view_over_tables_is_there_for_what_follows_in_its_text() -> None:
    with Session({"t": pl.DataFrame({"id": [1, 2]})}) as session:
        *_, sorted_rows = session.execute(
            "CREATE TABLE t SOURCE 'frame://t'; CREATE VIEW v AS SELECT id FROM t ORDER BY id DESC; SELECT id FROM v"
        )
        sorted_rows.wait(200)
        assert sorted_rows.to_polars().rows() == [(2,), (1,)]
        session.execute("CREATE RETROACTIVE TABLE r (a BIGINT); INSERT INTO r VALUES (1), (2)")
        *_, changing = session.execute(
            "CREATE VIEW total AS SELECT sum(a) AS s FROM r; CREATE VIEW next AS SELECT s + 1 AS s FROM total; SELECT s FROM next"
        )
        changing.wait(200)
        assert changing.to_polars().rows() == [(4,)]


def test_a_view_over_views_is_kept_up_to_date_as_they_are() -> None:
    with Live({"s": {"k": pl.String, "n": pl.Int64, "ts": pl.Int64}}) as live:
        session = live.session
        session.execute(
            "CREATE STREAM s (k STRING, n BIGINT, ts BIGINT, WATERMARK FOR ts AS ts) SOURCE 'python://s';"
            "CREATE TABLE names (k STRING, name STRING); INSERT INTO names VALUES ('a', 'Alpha')"
        )
        one, two, three, named = session.execute(
            "CREATE VIEW per_key AS SELECT k, count(*) AS n FROM s GROUP BY k;"
            "CREATE VIEW how_many AS SELECT n, count(*) AS many FROM per_key GROUP BY n;"
            "CREATE VIEW both AS SELECT p.k, h.many FROM per_key p JOIN how_many h ON p.n = h.n;"
            "CREATE VIEW named AS SELECT k FROM per_key WHERE k IN (SELECT k FROM names)"
        )
        live.say(three, "s", ("a", 1, 1), ("b", 1, 2), ("a", 1, 3), ("c", 1, 4))
        assert answer(session, "SELECT k, n FROM per_key") == [("a", 2), ("b", 1)]
        assert answer(session, "SELECT n, many FROM how_many") == [(1, 1), (2, 1)]
        live.say(three, "s", ("b", 1, 5), ("d", 1, 6))
        assert answer(session, "SELECT n, many FROM how_many") == [(1, 1), (2, 2)]
        assert answer(session, "SELECT k, many FROM both") == [("a", 2), ("b", 2), ("c", 1)]
        live.end(three)
        assert sorted(named.to_polars().rows()) == [("a",)]
        assert all(v.wait(200) and v.status == "finished" for v in (one, two, three))


@pytest.mark.parametrize(
    ("statement", "message", "column"),
    [
        ("INSERT INTO v VALUES (1)", "v is a view, and can't be written to", 13),
        (
            "SELECT s.k FROM s JOIN v ON s.k = v.k",
            "this input has no window, which says how long rows wait for matching rows",
            17,
        ),
        ("SELECT k FROM v [RANGE 1 SECOND]", "v is a view, and windows need a stream", 17),
        ("CREATE VIEW w", "AS is missing here", 13),
    ],
)
def test_mistakes_with_views(session: Session, statement: str, message: str, column: int) -> None:
    session.execute("CREATE VIEW v AS SELECT k FROM s")
    with pytest.raises(QueryError) as wrong:
        session.execute(statement)
    assert message in wrong.value.message and wrong.value.column == column
