"""What tutorial 2 draws is what the rows are: extents against brute force, and the picture after each move of a slider."""

import itertools
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tutorials"))
from window_drawing import Explorer, lanes
from window_frames import KINDS, ROWS, run, times

from tests.tiers import slow, thinned

AT = times(disorder=9)


def sliding(length: float | None, slide: float) -> list[tuple[float | None, float, int]]:
    extents = []
    for k in range(1, 100):
        end = k * slide
        start = None if length is None else end - length
        held = sum((start is None or start <= t) and t < end for t in AT)
        within = (start is None or start <= max(AT)) and end - slide <= max(AT)
        if held and (within or length is not None):
            extents.append((start, end, held))
    return extents


def sessions(gap: float) -> list[tuple[float | None, float, int]]:
    extents: list[tuple[float | None, float, int]] = []
    for t in sorted(AT):
        if extents and t < extents[-1][1]:
            start, _, held = extents[-1]
            extents[-1] = (start, t + gap, held + 1)
        else:
            extents.append((t, t + gap, 1))
    return extents


TRUTH = {
    "tumbling": sliding(8, 8),
    "sliding": sliding(15, 5),
    "landmark": sliding(None, 8),
    "rows": [(max(k - 8, 0) + 0.5, min(k, ROWS) + 0.5, min(k, ROWS) - max(k - 8, 0)) for k in range(4, ROWS + 4, 4)],
    "slide-by-tuple": [(e - 10, e, sum(e - 10 < t <= e for t in AT)) for e in sorted(AT[2::3])],
    "session": sessions(2),
    "over": [(e - 4, e, sum(e - 4 <= t <= e for t in AT)) for e in sorted(AT)],
}


def frames(name: str, patience: float = 12):
    kind = KINDS[name]
    first, second = (0 if knob is None else knob.first for knob in (kind.range, kind.slide))
    return run(kind, first, second, patience, AT)[1]


@pytest.mark.parametrize("name", thinned(KINDS))
def test_final_extents_are_those_of_all_rows_at_once(name: str):
    final = frames(name)[-1].final
    assert sorted(final, key=lambda e: (e[1], e[0] or 0)) == sorted(TRUTH[name], key=lambda e: (e[1], e[0] or 0))


@pytest.mark.parametrize("name", KINDS)
def test_what_is_final_stays(name: str):
    run = frames(name, patience=3)
    assert len(run) == ROWS + 2
    for before, after in itertools.pairwise(run):
        assert after.final[: len(before.final)] == before.final


@pytest.mark.parametrize("name", ["tumbling", "sliding", "landmark"])
def test_a_row_that_is_not_late_is_in_one_pane(name: str):
    arrived = set()
    for i, frame in enumerate(frames(name)[1:-1]):
        arrived.add(AT[i])
        assert sum(start <= AT[i] < end for start, end in frame.parts) == 1
        assert all(any(start <= t < end for t in arrived) for start, end in frame.parts)


def test_extents_in_a_lane_do_not_overlap():
    extents = [(a, b, c) for a, b, c in TRUTH["sliding"]]
    for lane in set(lanes(extents)):
        mine = [e for e, at in zip(extents, lanes(extents), strict=True) if at == lane]
        assert all(one[1] <= other[0] for one, other in itertools.pairwise(mine))


@pytest.mark.parametrize("name", thinned(KINDS))
def test_each_row_can_be_shown(name: str):
    explorer = Explorer(name, disorder=9, patience=3)
    shown = []
    for arrived in range(ROWS + 2):
        explorer.arrived.value = arrived
        assert f"Row {arrived}</b>" in explorer.reading.value or arrived in (0, ROWS + 1)
        shown.append(explorer.drawing.change)
        dots = sum(len(shown[-1]["data"][source]["x"]) - 1 for source in ("here", "late", "coming"))
        assert dots == ROWS  # each source also has a point off the picture
    assert len({str(change) for change in shown}) == ROWS + 2


def test_a_slider_runs_the_query_again():
    explorer = Explorer("sliding")
    before = explorer.drawing.change
    explorer.sliders["range"].value = 20
    assert "[RANGE 20 SECONDS SLIDE 5 SECONDS]" in explorer.query.value
    assert explorer.drawing.change != before
    violet = explorer.drawing.change["data"]["held"]["left"][:-1]
    assert len(violet) == 4


@slow
def test_disorder_beyond_the_watermark_makes_late_rows():
    explorer = Explorer("tumbling", disorder=0, patience=0)
    explorer.arrived.value = ROWS
    assert "late rows 0" in explorer.reading.value
    explorer.sliders["disorder"].value = 12
    assert "late rows 0" not in explorer.reading.value
