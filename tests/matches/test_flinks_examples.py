"""The examples of Flink's page on MATCH_RECOGNIZE, over rows of our own."""

from __future__ import annotations

import datetime as dt
from typing import Any

import polars as pl
import pytest

from jupyter_stream import Query, QueryError, Session

BEGIN = dt.datetime(2018, 4, 10, 10)


def at(seconds: int) -> dt.datetime:
    return BEGIN + dt.timedelta(seconds=seconds)


def answer(prices: list[tuple[int, int]], query: str) -> list[tuple[Any, ...]]:
    """The answers over a Ticker of (second, price)."""
    rows = pl.DataFrame(
        {"symbol": "ACME", "rowtime": [at(s) for s, _ in prices], "price": [p for _, p in prices]},
        schema={"symbol": pl.String, "rowtime": pl.Datetime("us"), "price": pl.Int64},
    )
    with Session({"ticker": rows}) as session:
        session.execute("CREATE STREAM Ticker ORDER BY rowtime SOURCE 'frame://ticker'")
        (found,) = session.execute(query)
        assert isinstance(found, Query) and found.wait(200)
        return sorted(found.to_polars().rows())


def test_a_period_of_decreasing_prices() -> None:
    prices = list(enumerate((12, 17, 19, 21, 25, 18, 15, 14, 24, 25, 19)))
    query = """
SELECT *
FROM Ticker
    MATCH_RECOGNIZE (
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES
            START_ROW.rowtime AS start_tstamp,
            LAST(PRICE_DOWN.rowtime) AS bottom_tstamp,
            LAST(PRICE_UP.rowtime) AS end_tstamp
        ONE ROW PER MATCH
        AFTER MATCH SKIP TO LAST PRICE_UP
        PATTERN (START_ROW PRICE_DOWN+ PRICE_UP)
        DEFINE
            PRICE_DOWN AS
                (LAST(PRICE_DOWN.price, 1) IS NULL AND PRICE_DOWN.price < START_ROW.price) OR
                    PRICE_DOWN.price < LAST(PRICE_DOWN.price, 1),
            PRICE_UP AS
                PRICE_UP.price > LAST(PRICE_DOWN.price, 1)
    ) MR;
"""
    assert answer(prices, query) == [("ACME", at(4), at(7), at(8))]


def test_the_longest_period_with_a_low_average() -> None:
    prices = list(enumerate((12, 17, 13, 16, 25, 2, 4, 10, 15, 25, 25, 30)))
    query = """
SELECT * FROM Ticker MATCH_RECOGNIZE (
    PARTITION BY symbol
    ORDER BY rowtime
    MEASURES FIRST(A.rowtime) AS start_tstamp, LAST(A.rowtime) AS end_tstamp, AVG(A.price) AS avgPrice
    ONE ROW PER MATCH
    AFTER MATCH SKIP PAST LAST ROW
    PATTERN (A+ B)
    DEFINE A AS AVG(A.price) < 15) MR
"""
    assert answer(prices, query) == [("ACME", at(0), at(3), 14.5), ("ACME", at(5), at(10), 13.5)]


@pytest.mark.parametrize(("pattern", "lasts"), [("A B* C", [16]), ("A B*? C", [13, 16])])
def test_greedy_and_reluctant_quantifiers(pattern: str, lasts: list[int]) -> None:
    prices = list(enumerate((10, 11, 12, 13, 14, 16), 2))
    query = f"""
SELECT * FROM Ticker MATCH_RECOGNIZE (
    PARTITION BY symbol ORDER BY rowtime MEASURES C.price AS lastPrice ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
    PATTERN ({pattern}) DEFINE A AS A.price > 10, B AS B.price < 15, C AS C.price > 12)
"""
    assert answer(prices, query) == [("ACME", last) for last in lasts]


def test_a_drop_within_an_hour() -> None:
    prices = [(0, 20), (1800, 17), (2400, 9), (7200, 20), (7300, 19), (10801, 8)]
    query = """
SELECT * FROM Ticker MATCH_RECOGNIZE (
    PARTITION BY symbol ORDER BY rowtime MEASURES C.rowtime AS dropTime, A.price - C.price AS dropDiff
    ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
    PATTERN (A B* C) WITHIN INTERVAL '1' HOUR DEFINE B AS B.price > A.price - 10, C AS C.price < A.price - 10)
"""
    assert answer(prices, query) == [("ACME", at(2400), 11), ("ACME", at(10801), 11)]


SKIPPED = {
    "PAST LAST ROW": [(26, 1, 4), (17, 5, 6)],
    "TO NEXT ROW": [(26, 1, 4), (24, 2, 5), (15, 3, 5), (22, 4, 6), (17, 5, 6)],
    "TO LAST A": [(26, 1, 4), (15, 3, 5), (22, 4, 6), (17, 5, 6)],
}


@pytest.mark.parametrize("after", SKIPPED)
def test_where_the_search_goes_on(after: str) -> None:
    prices = list(enumerate((7, 9, 10, 5, 17, 14), 1))
    query = f"""
SELECT sumPrice, startTime, endTime FROM Ticker MATCH_RECOGNIZE (
    PARTITION BY symbol ORDER BY rowtime
    MEASURES SUM(A.price) AS sumPrice, FIRST(rowtime) AS startTime, LAST(rowtime) AS endTime
    ONE ROW PER MATCH AFTER MATCH SKIP {after} PATTERN (A+ C) DEFINE A AS SUM(A.price) < 30)
"""
    assert answer(prices, query) == sorted((s, at(a), at(b)) for s, a, b in SKIPPED[after])


def test_skipping_to_the_first_row_again_is_refused() -> None:
    query = """
SELECT * FROM Ticker MATCH_RECOGNIZE (ORDER BY rowtime MEASURES A.price AS p AFTER MATCH SKIP TO FIRST A PATTERN (A C))
"""
    with pytest.raises(QueryError, match="found again and again") as error:
        answer([(0, 1)], query)
    assert error.value.hint == "Write AFTER MATCH SKIP TO NEXT ROW."
