"""A row of year 9999 goes to errors(name), whatever it comes in; it doesn't end the stream for the rows after it."""

from __future__ import annotations

import datetime as dt
from typing import Any

import polars as pl
import pytest

from jupyter_stream import Session
from jupyter_stream.errors import QueryError
from tests.tiers import slow

START = dt.datetime(2024, 1, 1)
ROWS = [START + dt.timedelta(seconds=i) for i in range(4)]
END_OF_TIME = dt.datetime(9999, 12, 31)


def answers(times: list[dt.datetime | None], with_: str = "", size: int = 100) -> tuple[int, int, list[str]]:
    """How many rows are counted, how many are late, and why others are refused."""
    rows = pl.DataFrame({"ts": times}, schema={"ts": pl.Datetime("us")})
    pieces = [rows[i : i + size] for i in range(0, rows.height, size)]
    with Session({"rows": lambda: iter(pieces)}) as session:
        session.execute(f"CREATE STREAM s (ts TIMESTAMP) ORDER BY ts SOURCE 'python://rows' {with_}")
        (query,) = session.execute("SELECT count(*) AS n FROM s [RANGE 2 SECONDS TUMBLING] HAVING count(*) > 0")
        assert query.wait(200)  # type: ignore[union-attr]
        counted = query.to_polars().get_column("n").sum()  # type: ignore[union-attr]
        return counted, query.late.height, query.errors.get_column("reason").to_list()  # type: ignore[union-attr]


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize("at", range(5))
def test_a_row_of_year_9999_is_refused_in_any_batching(at: int, size: int) -> None:
    times = [*ROWS[:at], END_OF_TIME, *ROWS[at:]]
    counted, late, reasons = answers(times, size=size)
    assert (counted, late, len(reasons)) == (4, 0, 1)
    assert "too far ahead" in reasons[0] and "ahead = 'off'" in reasons[0]


@slow
@pytest.mark.parametrize("size", [1, 3, 100])
def test_rows_that_follow_others_within_ten_years_are_taken_however_late_the_year(size: int) -> None:
    years = [dt.datetime(year, 1, 1) for year in range(2030, 2100, 9)]
    assert answers([*years, END_OF_TIME, years[-1]], "WITH (slack = '3 rows')", size)[0] == len(years) + 1


def test_a_null_beside_it_keeps_its_own_reason() -> None:
    counted, _, reasons = answers([*ROWS, END_OF_TIME, None])
    assert counted == 4
    assert sorted("NULL" in reason for reason in reasons) == [False, True]


def test_off_takes_it_and_a_length_of_time_says_how_far_ahead_of_the_rows_before() -> None:
    later = START + dt.timedelta(days=40)
    assert answers([START, later])[0] == 2
    assert answers([START, later], "WITH (ahead = '30 days')")[0] == 1
    assert answers([START, later], "WITH (ahead = 'off')")[0] == 2
    assert answers([START, later], "WITH (ahead = 'any')")[0] == 2
    with pytest.raises(QueryError, match="ahead takes a length of time, or 'off'"):
        answers([START], "WITH (ahead = 'far')")


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize("at", [1, 2, 4])
def test_on_a_replay_ahead_is_measured_from_the_highest_time_so_far(at: int, size: int) -> None:
    times = [*ROWS[:at], START + dt.timedelta(days=1), START + dt.timedelta(hours=1), *ROWS[at:]]
    counted, late, reasons = answers(times, "WITH (ahead = '5 minutes')", size)
    assert (counted, late, len(reasons)) == (4, 0, 2)
    assert all("ahead of the rows before it, by more than 5 minutes" in reason for reason in reasons)


def of_live(times: list[dt.datetime], with_: str = "") -> tuple[list[dt.datetime], list[str]]:
    """The times of a live stream's rows that are used, and why others are refused."""
    with Session({"rows": iter([{"ts": t} for t in times])}) as session:
        session.execute(f"CREATE STREAM s (ts TIMESTAMP) ORDER BY ts SOURCE 'python://rows' {with_}")
        query: Any = session.execute("SELECT ts FROM s")[0]
        assert query.wait(200)
        return query.to_polars().get_column("ts").to_list(), query.errors.get_column("reason").to_list()


def test_a_row_of_a_live_stream_more_than_a_day_ahead_of_the_clock_is_refused() -> None:
    now = dt.datetime.now(dt.UTC).replace(tzinfo=None)
    soon, far = now + dt.timedelta(hours=23), now + dt.timedelta(hours=25)
    used, reasons = of_live([now, far, soon])
    assert used == [now, soon]
    assert ["ahead of the clock, by more than 1 day" in reason for reason in reasons] == [True]
    assert of_live([now, far, soon], "WITH (ahead = 'off')") == ([now, far, soon], [])
    assert of_live([soon, now], "WITH (ahead = '5 minutes')")[0] == [now]
    assert of_live([START, START + dt.timedelta(days=400)])[1] == []
