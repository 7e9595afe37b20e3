"""Folds over ranges that move forward, against folding each range by itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_stream.partials import timeline
from jupyter_stream.partials.timeline import NumberColumn, Timeline
from tests.tiers import examples


@pytest.fixture(params=[1, 4_096], ids=["two stacks", "runs"], autouse=True)
def short(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "_SHORT", request.param)


@settings(max_examples=examples(60))
@given(
    st.integers(1, 40),
    st.lists(st.lists(st.tuples(st.integers(1, 6), st.integers(-50, 50)), max_size=25), max_size=12),
    st.booleans(),
)
def test_every_range_is_folded_as_by_itself(span: int, steps: list[list[tuple[int, int]]], peeks: bool) -> None:
    line = Timeline([None, np.maximum, np.minimum], [np.int64, np.int64, np.int64])
    times: list[int] = []
    values: list[int] = []
    now = 0
    for step in steps:
        start = len(times)
        for gap, value in step:
            now += gap
            times.append(now)
            values.append(value)
        new = np.array(values[start:], np.int64)
        line.append(np.array(times[start:], np.int64), [new, new, new])
        ends = np.array(times[start:], np.int64)
        if not ends.size:
            continue
        held = [[v for t, v in zip(times, values, strict=True) if e - span < t <= e] for e in ends.tolist()]
        for asked in (line.copy(), line) if peeks else (line,):
            first, stop = asked.places(ends - span, ends)
            assert asked.read(0, first, stop).tolist() == [sum(h) for h in held]
            assert asked.read(1, first, stop).tolist() == [max(h) for h in held]
            assert asked.read(2, first, stop).tolist() == [min(h) for h in held]
        line.forget(now - span)
        assert line.times.tolist() == [t for t in times if t > now - span]


def test_what_is_forgotten_takes_no_memory() -> None:
    line = Timeline([None, np.maximum], [np.int64, np.int64])
    most = 0
    for step in range(300):
        ts = np.arange(step * 1_000, (step + 1) * 1_000)
        line.append(ts, [ts, ts])
        first, stop = line.places(ts - 20_000, ts)
        assert np.array_equal(line.read(1, first, stop), ts)
        line.forget(int(ts[-1]) - 20_000)
        most = max(most, line.bytes)
    assert most < 20_000 * 8 * 8
    line.forget(10**9)
    assert line.bytes == 0


def test_places_stay_when_the_oldest_are_forgotten() -> None:
    column = NumberColumn(np.int64)
    for step in range(50):
        column.append(np.arange(step * 100, step * 100 + 100))
        column.forget(step * 100 - 350)
        assert np.array_equal(column.held, np.arange(column.begin, column.end))
