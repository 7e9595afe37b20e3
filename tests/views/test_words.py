import datetime as dt

import polars as pl
import pytest

from jupyter_stream.core.time import MIN_TIME, show_span
from jupyter_stream.views import words
from jupyter_stream.views.strip import RowRates, nothing_yet, readings, summary

SECOND = 1_000_000
AT = 1_700_000_000 * SECOND


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (318, "318"),
        (9_990, "9,990"),
        (12_345, "12.3 k"),
        (1_200_000, "1.20 M"),
        (1.25, "1.2"),
        (5e12, "5.00 T"),
    ],
)
def test_counts_have_three_figures(value, text):
    assert words.count(value) == text


@pytest.mark.parametrize(
    ("micros", "text"),
    [(350_000, "350 ms"), (4_200_000, "4.2 s"), (200 * SECOND, "3 min 20 s"), (93_900 * SECOND, "1 d 2 h"), (-SECOND, "-1 s"),
     (12_301_000, "12.3 s"), (780, "0.78 ms"),
     (3_600 * SECOND, "1 h")],
)  # fmt: skip
def test_spans_have_two_units(micros, text):
    assert show_span(micros) == text


def test_clock_leaves_the_day_out_beside_the_same_day():
    assert words.clock(AT, AT + SECOND) == "22:13:20"
    assert words.clock(AT, AT + 86_400 * SECOND) == "2023-11-14 22:13:20"
    assert words.clock(MIN_TIME) == "-∞"


def test_cells_are_text_and_long_ones_cut():
    assert words.cells(pl.Series([1.23456789, None, float("nan")])) == ["1.23457", "NULL", "NaN"]
    assert words.cells(pl.Series([dt.datetime(2024, 1, 2, 3, 4, 5, 600_000)])) == ["2024-01-02 03:04:05.600"]
    assert len(words.cells(pl.Series(["x" * 10_000]))[0]) == words.LONGEST_CELL


def test_waiting_says_what_for(demo):
    query = demo()
    assert nothing_yet(query.snapshot()) == "waiting for the first row"
    query.advance()
    query._records = []
    assert nothing_yet(query.snapshot()) == "waiting for the first window to close: watermark 22:13:27, needs 22:13:30"
    query.stop()
    assert nothing_yet(query.snapshot()) == "stopped without a result: 12,345 rows read"
    assert nothing_yet(demo().advance().snapshot()) is None


def test_rates_are_over_the_last_seconds():
    rates = RowRates()
    assert rates.read(0.0, 0, 0) == (0.0, 0.0)
    assert rates.read(1.0, 1000, 10) == (1000.0, 10.0)
    for second in range(2, 10):
        now = rates.read(float(second), 1000, 10)
    assert now == (0.0, 0.0)


def test_the_strip_alarms_on_late_and_bad_rows_and_gives_the_lag(demo):
    query = demo().advance(3)
    query.late = 7
    shown = {r.label: r for r in readings(query.snapshot(), (5.0, 1.0))}
    assert shown["late"].alarm and shown["late"].value == "7" and not shown["bad"].alarm
    assert shown["lag"].value == "4 s"
    query.finish()
    assert "lag" not in {r.label for r in readings(query.snapshot(), (0.0, 0.0))}


def test_the_summary_says_when_and_how_much(demo):
    query = demo().advance(3)
    query.stop()
    assert summary(query.snapshot()).startswith("stopped at ")
    assert summary(query.snapshot()).endswith(", 37.0 k rows in, 9 out")


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [(27.6061, 88.3739, ("27.6", "88.4")), (123_456.7, 987_654.3, ("123,000", "988,000")), (1.0, 1.0, ("1", "1")),
     (0.00412, 0.00987, ("0.00412", "0.00987")), (-5.0, 5.0, ("-5", "5")), (1e6, 1e6 + 2, ("1,000,000", "1,000,002"))],
)  # fmt: skip
def test_the_ends_of_a_range_are_told_apart_and_no_finer(low, high, text):
    assert words.ends(low, high) == text
