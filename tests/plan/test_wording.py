"""EXPLAIN says what the user wrote, never the names columns have inside."""

from collections.abc import Iterator

import polars as pl
import pytest

import jupyter_stream


@pytest.fixture(scope="module")
def session() -> Iterator[jupyter_stream.Session]:
    made = jupyter_stream.Session({"f": pl.DataFrame({"ts": [1], "k": ["a"], "x": [1]})})
    made.execute("CREATE STREAM s (ts BIGINT, k STRING, x BIGINT, WATERMARK FOR ts AS ts) SOURCE 'frame://f'")
    made.execute(
        "CREATE AGGREGATE middle (Next BIGINT) : BIGINT { TABLE seen (v BIGINT); INITIALIZE : { INSERT INTO seen VALUES (Next); }"
        " ITERATE : { UPDATE seen SET v = Next; } TERMINATE : { INSERT INTO RETURN SELECT v FROM seen; } }"
    )
    yield made
    made.close()


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (
            "SELECT k, count(*) AS n, sum(x + 1) FROM s [RANGE 5 SECONDS TUMBLING] GROUP BY k HAVING max(x) > 3",
            ["project window_start, window_end, k, count(*) AS n, sum(x + 1) ", "filter (max(x) > 3)"],
        ),
        (
            "SELECT k, count(*) [RANGE 4 SECONDS SLIDE 2 SECONDS] + 1 AS a, sum(x) [RANGE 3 SECONDS TUMBLING] AS b"
            " FROM s GROUP BY k",
            [
                "project window_start, window_end, k, count(*) [RANGE 4 SECONDS SLIDE 2 SECONDS] + 1 AS a, "
                "sum(x) [RANGE 3 SECONDS TUMBLING] AS b "
            ],
        ),
        (
            "SELECT max(n) AS most FROM (SELECT count(*) AS n FROM s [RANGE 5 SECONDS SLIDE 1 SECOND] GROUP BY k)"
            " [RANGE 1 SECOND TUMBLING]",
            ["max(n) AS most", "count(*) AS n"],
        ),
        (
            "SELECT count(DISTINCT x) FILTER (WHERE x > 3), quantile(x, 0.5) AS q FROM s [ROWS 4 SLIDE 2]",
            ["count(DISTINCT x) FILTER (WHERE x > 3)", ", 0.5) AS q"],
        ),
        (
            "SELECT k, x FROM s [RANGE 5 SECONDS TUMBLING]"
            " QUALIFY ROW_NUMBER() OVER (PARTITION BY upper(k) ORDER BY x + 1 DESC) <= 1",
            ["filter (ROW_NUMBER() <= 1)", "order by x + 1 DESC LIMIT 1 BY upper(k)", "rows by pane merge"],
        ),
        (
            "SELECT row_num, avg(x) OVER (PARTITION BY k ROWS 3 PRECEDING) + 1 AS m FROM s",
            ["project row_num, avg(x) OVER (PARTITION BY k ROWS 3 PRECEDING) + 1.0 AS m "],
        ),
        (
            "SELECT k, middle(x + 1) FROM s [RANGE 5 SECONDS TUMBLING] GROUP BY k",
            ["k, middle(x + 1) ", "rows by pane merge"],
        ),
        (
            "SELECT k, rank() OVER (ORDER BY sum(x) DESC), sum(max(x)) OVER (PARTITION BY k) AS m"
            " FROM s [RANGE 5 SECONDS TUMBLING] GROUP BY k",
            ["rank() OVER (ORDER BY sum(x) DESC) AS rank()", "sum(max(x)) OVER (PARTITION BY k) AS m"],
        ),
        (
            "SELECT transform(array(x, 1), y -> y + x * 2) AS t, aggregate(array(1), x, (a, b) -> a + b, a -> -a) AS u,"
            " map_filter(map('a', 1), (k, v) -> v > s.x) AS w FROM s",
            ["transform(array(x, 1), y -> (y + (x * 2))) AS t", "(a, b) -> (a + cast(b AS BIGINT))", "AS w"],
        ),
    ],
)
def test_columns_without_a_name_are_shown_as_written(
    session: jupyter_stream.Session, query: str, said: list[str]
) -> None:
    text = str(session.execute("EXPLAIN " + query)[0])
    for part in said:
        assert part in text
    assert "$" not in text


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (
            "SELECT k, count(*) AS n FROM s [RANGE 5 SECONDS TUMBLING] GROUP BY k HAVING sum(DISTINCT x) > 3",
            ["project window_start, window_end, k, count(*) AS n ", "filter (sum(DISTINCT x) > 3) ", " count(*) "],
        ),
        (
            "SELECT max(n) AS most FROM (SELECT count(*) FILTER (WHERE x > 1) AS n FROM s [RANGE 1 SECOND TUMBLING] GROUP BY k)"
            " [RANGE 5 SECONDS TUMBLING]",
            ["max(n) AS most ", "count(*) FILTER (WHERE x > 1) AS n "],
        ),
        ("SELECT row_num, x % 3 AS d FROM s", ["project row_num, x % 3 AS d "]),
        ("SELECT k, sum(x) OVER (ROWS 3 PRECEDING) AS m FROM s", ["project k, sum(x) OVER (ROWS 3 PRECEDING) AS m "]),
        ("SELECT k, middle(x) FROM s [RANGE 5 SECONDS TUMBLING] GROUP BY k", ["k, middle(x) "]),
        (
            "SELECT k, x FROM s [RANGE 5 SECONDS TUMBLING] ORDER BY x LIMIT 3",
            ["project window_start, window_end, k, x ", "rows of each extent"],
        ),
    ],
)
def test_so_they_are_on_spark(session: jupyter_stream.Session, query: str, said: list[str]) -> None:
    text = " ".join(str(session.execute(f"EXPLAIN {query} ON SPARK")[0]).split())
    for part in said:
        assert part in text
    assert "$" not in text


def test_a_running_querys_steps_have_names_in_its_words(session: jupyter_stream.Session) -> None:
    """Hints about steps that take long, errors about settings and the table of operators say them."""
    (query,) = session.execute(
        "SELECT k, round(avg(x) + 1, 2) AS m FROM s [RANGE 5 SECONDS TUMBLING] GROUP BY k HAVING sum(x) > 3"
    )
    names = [step.control.name for step in query._pipeline.graph.steps]
    query.stop()
    assert "filter (sum(x) > 3)" in names
    assert "project window_start, window_end, k, round((avg(x) + 1.0), 2) AS m" in names
    assert "$" not in "".join(names)
