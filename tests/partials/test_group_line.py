"""What groups hold in the RANGE before rising times is what a look at every partial says, however rows and times are cut."""

from collections.abc import Callable

import numpy as np
import pytest

from jupyter_stream.partials.group_line import GroupLine
from tests.tiers import thinned

COLUMNS: tuple[tuple[np.ufunc | None, float, type, Callable[[list[float]], float]], ...] = (
    (None, 0, np.int64, sum),
    (np.maximum, np.iinfo(np.int64).min, np.int64, max),
    (np.minimum, np.inf, np.float64, min),
    (np.add, 0.0, np.float64, sum),
)


def line(span: int, stacked: bool) -> GroupLine:
    columns = COLUMNS if stacked else COLUMNS[:1]
    return GroupLine(span, [c[0] for c in columns], [c[1] for c in columns], [c[2] for c in columns])


@pytest.mark.parametrize("span", [1, 7, 40, 1_000])
@pytest.mark.parametrize("stacked", [True, False])
@pytest.mark.parametrize("seed", thinned(range(3)))
def test_extents_hold_what_is_in_their_range(span: int, stacked: bool, seed: int) -> None:
    rng = np.random.default_rng([seed, span])
    held, known, groups = line(span, stacked), dict[tuple[int, int], int](), 5
    reached = 0
    for step in range(60):
        groups += int(rng.integers(0, 2))
        until = reached + int(rng.choice([1, 3, 30, 90]))
        rows = sorted(
            {(int(rng.integers(reached, until)), int(rng.integers(0, groups))) for _ in range(rng.integers(0, 25))}
        )
        values = rng.integers(-50, 50, len(rows))
        known.update(zip(rows, values.tolist(), strict=True))
        if rows:
            ts, slots = np.array(rows).T
            kinds = [values.astype(c[2]) for c in (COLUMNS if stacked else COLUMNS[:1])]
            held.append(slots, ts, kinds)
            held.fit(groups)
        times = sorted({t for t, _ in rows if rng.random() < 0.5}) if step % 4 else []
        shown = held.copy() if step % 3 == 0 else held  # what a copy is asked does nothing to the original
        at = 0
        while at < len(times):
            ends = times[at : at + int(rng.integers(1, 5))]
            extents, slots, columns = shown.read(np.array(ends))
            expected = []
            for i, end in enumerate(ends):
                for slot in range(groups):
                    inside = [v for (t, s), v in known.items() if s == slot and end - span < t <= end]
                    if inside:
                        expected.append((i, slot, *(c[3](inside) for c in (COLUMNS if stacked else COLUMNS[:1]))))
            assert list(zip(extents.tolist(), slots.tolist(), *(c.tolist() for c in columns), strict=True)) == expected
            at += len(ends)
        held.forget(until - span)
        held.check()
        assert held.times.size == sum(t > until - span for t, _ in known)
        reached = until


def test_nothing_is_held_when_all_is_forgotten() -> None:
    held = line(10, stacked=True)
    held.append(np.arange(100), np.arange(100), [np.ones(100, c[2]) for c in COLUMNS])
    held.fit(100)
    held.read(np.arange(0, 100, 7))
    assert held.bytes > 1_000
    held.forget(1_000)
    assert held.bytes == 0
