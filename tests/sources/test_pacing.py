from __future__ import annotations

import threading
from collections.abc import Iterator

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_stream.core.schema import TIMESTAMP
from jupyter_stream.errors import SourceError
from jupyter_stream.sources import Chunk, open_source, pace, parse_rate
from jupyter_stream.sources.conform import rejected
from jupyter_stream.sources.pacing import STEP, EventTime, Rate, RowsPerSecond


class SettableClock:
    """Goes on only when somebody waits."""

    def __init__(self) -> None:
        self.time = 100.0

    def now(self) -> float:
        return self.time

    def wait(self, seconds: float, stop: threading.Event) -> None:
        assert 0 < seconds <= STEP
        self.time += seconds


def chunks(times: list[int | None], size: int) -> Iterator[Chunk]:
    for start in range(0, len(times), size):
        part = times[start : start + size]
        yield Chunk(
            pl.DataFrame({"ts": pl.Series(part, dtype=pl.Int64).cast(TIMESTAMP), "i": range(start, start + len(part))})
        )


def delivered(times: list[int | None], size: int, rate: Rate) -> list[tuple[int, float]]:
    """Rows with the second of their delivery."""
    clock = SettableClock()
    found: list[tuple[int, float]] = []
    for chunk in pace(chunks(times, size), rate, "ts", threading.Event(), clock):
        assert chunk.frame.height
        found += [(i, clock.time - 100.0) for i in chunk.frame["i"]]
    return found


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("1000/s", RowsPerSecond(1000)),
        ("1,000 rows / second", RowsPerSecond(1000)),
        ("90 per minute", RowsPerSecond(1.5)),
        ("5k/s", RowsPerSecond(5000)),
        ("0.5/s", RowsPerSecond(0.5)),
        ("event time", EventTime(1)),
        ("Event Time x60", EventTime(60)),
        ("event time 0.5x", EventTime(0.5)),
        ("event_time", EventTime(1)),
        ("max", None),
    ],
)
def test_rates_as_people_write_them(text, rate):
    assert parse_rate(text) == rate


@pytest.mark.parametrize("text", ["fast", "1000", "0/s", "event time x0", "5/parsec", "-1/s", "", "1.2.3/s"])
def test_what_is_no_rate_is_refused_with_an_example(text):
    with pytest.raises(SourceError, match="is not a rate") as error:
        parse_rate(text)
    assert "'event time x60'" in str(error.value)
    with pytest.raises(SourceError, match="is not a rate"):
        open_source("generate://packets", None, {"rate": text}, {})


def test_a_rate_for_a_live_source_is_refused():
    with pytest.raises(SourceError, match="is live"):
        open_source("system://cpu", None, {"rate": "10/s"}, {})
    assert open_source("system://cpu", None, {"rate": "max"}, {})


@settings(deadline=None)
@given(st.integers(1, 300), st.integers(1, 50), st.sampled_from([3.0, 100.0, 1000.0]))
def test_rows_are_handed_over_when_due_and_at_most_a_step_later(count, size, rows_per_second):
    found = delivered([0] * count, size, RowsPerSecond(rows_per_second))
    assert [i for i, _ in found] == list(range(count))
    for i, at in found:
        assert i / rows_per_second <= at + 1e-9
        assert at <= i / rows_per_second + STEP + 1e-9


@settings(deadline=None)
@given(st.lists(st.one_of(st.none(), st.integers(-5_000_000, 5_000_000)), max_size=40), st.integers(1, 10))
def test_by_event_time_a_row_is_due_with_the_newest_row_before_it(times, size):
    found = delivered(times, size, EventTime(10))
    assert [i for i, _ in found] == list(range(len(times)))
    first = newest = None
    for (_, at), time in zip(found, times, strict=True):
        if time is not None:
            first = time if first is None else first
            newest = time if newest is None else max(newest, time)
        due = 0.0 if first is None or newest is None else (newest - first) / 1e7
        assert due <= at + 1e-9
        assert at <= due + STEP + 1e-9


def test_as_fast_as_it_goes_changes_nothing():
    clock = SettableClock()
    given = list(chunks([5, 1, 9], 2))
    assert list(pace(iter(given), None, None, threading.Event(), clock)) == given


def test_rejected_records_are_not_lost():
    told = rejected(["x"], ["bad"])
    empty = Chunk(pl.DataFrame({"ts": pl.Series([], dtype=TIMESTAMP)}), told)
    found = list(pace(iter([empty]), RowsPerSecond(1), None, threading.Event(), SettableClock()))
    assert [c.rejected for c in found] == [told]


def test_stopping_ends_a_wait():
    stop = threading.Event()
    paced = pace(chunks([0, 3_600_000_000], 2), EventTime(1), "ts", stop)
    assert next(paced).frame.height == 1
    threading.Timer(0.1, stop.set).start()
    assert list(paced) == []


def test_event_time_needs_a_time_column():
    with pytest.raises(SourceError, match="ORDER BY ts"):
        list(pace(chunks([0], 1), EventTime(1), None, threading.Event()))
