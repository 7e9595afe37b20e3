"""The sliding fold against folding each window's panes from scratch, late rows among them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sortedcontainers import SortedDict

from jupyter_stream.aggregates import Partial
from jupyter_stream.partials.move import Move
from jupyter_stream.partials.panes import Panes
from jupyter_stream.partials.sliding import SlidingFold
from jupyter_stream.windows import TimeWindow

PARTIALS = (Partial("count"), Partial("sum"), Partial("min"), Partial("max"), Partial("max", "float"))
SLOTS = 4
rows = st.tuples(st.integers(0, 60), st.integers(0, SLOTS - 1), st.integers(-50, 50))


def expected(held: list[tuple[int, int, int]], first: int | None, end: int) -> list[list[float]]:
    result: list[list[float]] = []
    for fold, nothing in ((len, 0), (sum, 0), (min, 2**63 - 1), (max, -(2**63)), (max, float("-inf"))):
        column = []
        for slot in range(SLOTS):
            values = [v for p, s, v in held if s == slot and p < end and (first is None or p >= first)]
            column.append(fold(values) if values else nothing)
        result.append(column)
    return result


@given(
    st.integers(1, 9),
    st.booleans(),
    st.booleans(),
    st.lists(st.tuples(st.integers(0, 4), st.lists(rows, max_size=8)), max_size=25),
)
def test_every_window_folds_exactly_its_panes(
    size: int, landmark: bool, together: bool, steps: list[tuple[int, list]]
) -> None:
    window = TimeWindow(None if landmark else size, 1)
    panes = Panes(PARTIALS)
    panes.fit(SLOTS)
    fold = SlidingFold(panes, not landmark and size == 1, landmark)
    held: list[tuple[int, int, int]] = []
    k = 0
    for forward, arriving in steps:
        oldest = window.first_pane(k + 1)
        for pane, slot, value in arriving:
            if oldest is not None and pane < oldest:
                continue  # no extent still to come holds it
            held.append((pane, slot, value))
            at, what = np.array([slot]), np.array([value])
            late = fold.back is not None and pane <= fold.back
            if late:
                fold.reopen(pane)
            cells = panes.cells(np.array([pane]), at, window)
            for i, partial in enumerate(PARTIALS):
                given_ = None if partial.op == "count" else what.astype(float if partial.kind == "float" else np.int64)
                panes.update(i, cells, given_)
                if late:
                    fold.patch(i, pane, at, given_)
        panes.check()
        for ahead in (k + 1, k + 3):
            first = window.first_pane(ahead)
            got = fold.provisional(first, ahead)
            assert [a.tolist() for a in got] == expected(held, first, ahead)
        if forward:
            ks = range(k + 1, k + forward + 1) if together else [k + forward]
            k += forward
            first = window.first_pane(k)
            if together:
                move = fold.move(window.first_panes(np.array(ks)), np.array(ks))
                halves = [fold.read(move, part) for part in (slice(0, 1), slice(1, SLOTS))]
                fold.commit(move)
                for n, at in enumerate(ks):
                    got = [np.concatenate([a[n], b[n]]).tolist() for a, b in zip(*halves, strict=True)]
                    assert got == expected(held, window.first_pane(at), at)
            else:
                fold.advance(first, k)
            assert [a.tolist() for a in fold.current(first)] == expected(held, first, k)
            following = window.first_pane(k + 1)
            if following is not None:
                fold.evict(following)


class Asked(SortedDict):
    """Counts how often it is asked for panes."""

    times = 0

    def irange(self, *arguments, **options):  # type: ignore[no-untyped-def]  # passed on as they are
        """As of a SortedDict."""
        self.times += 1
        return super().irange(*arguments, **options)


def test_a_move_through_many_extents_asks_for_panes_a_few_times() -> None:
    rows, ends = Asked({100: 0, 2_000: 1}), np.arange(101, 12_001)
    move = Move.through(rows, ends - 10_000, ends, None, None, ("single pane", "two stacks"))
    assert rows.times < 20
    assert move.entered.tolist() == [1 if end <= 2_000 else 2 for end in ends]
    assert move.left.tolist() == [(end > 10_100) + (end > 12_000) for end in ends]
    assert np.flatnonzero(move.last_rows >= 0).tolist() == [0, 1_900]
