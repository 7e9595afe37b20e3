"""EXPLAIN says what the user wrote, never the names columns have inside."""

import polars as pl
import pytest

import jupyter_stream


@pytest.fixture(scope="module")
def session() -> jupyter_stream.Session:
    made = jupyter_stream.Session({"f": pl.DataFrame({"ts": [1], "k": ["a"], "x": [1]})})
    made.execute("CREATE STREAM s (ts BIGINT, k STRING, x BIGINT, WATERMARK FOR ts AS ts) SOURCE 'frame://f'")
    return made


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (
            "SELECT k, count(*) AS n, sum(x + 1) FROM s [RANGE 5 SECONDS TUMBLING] GROUP BY k HAVING max(x) > 3",
            ["project window_start, window_end, k, count(*) AS n, sum(x + 1) ", "filter (max(x) > 3)"],
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
    ],
)
def test_columns_without_a_name_are_shown_as_written(
    session: jupyter_stream.Session, query: str, said: list[str]
) -> None:
    text = str(session.execute("EXPLAIN " + query)[0])
    for part in said:
        assert part in text
    assert "$" not in text
