"""Entries come out best first, within the budget, each once: against a plain list."""

import numpy as np
from drawn import QUICK
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_stream.summaries.priorities import Priorities

pushes = st.tuples(
    st.integers(0, 3), st.lists(st.integers(0, 5), max_size=12), st.lists(st.integers(1, 3), min_size=12)
)
moves = st.lists(st.one_of(pushes, st.integers(0, 20), st.sampled_from(["fade", "free"])), max_size=30)


@settings(max_examples=40, phases=QUICK)
@given(moves)
def test_the_best_entries_within_the_budget_come_out_and_are_gone(steps):
    made = Priorities()
    waiting: list[tuple[int, float, float, int]] = []  # zone, score, cost, number
    factor = dict.fromkeys(range(4), 1.0)
    pushed = 0
    for step in steps:
        if isinstance(step, tuple):
            zone, scores, costs = step
            cost = np.array(costs[: len(scores)], float)
            numbers = np.arange(pushed, pushed + len(scores))
            made.push(zone, factor[zone], np.array(scores, float), {"n": numbers}, cost)
            waiting += zip([zone] * len(scores), map(float, scores), cost.tolist(), numbers.tolist(), strict=True)
            pushed += len(scores)
        elif step == "fade":
            factor[0] /= 2
            assert made.fade(lambda zone: factor[zone]) == 0
        elif step == "free":
            gone = [e for e in waiting if e[0] == 3]
            assert made.fade(lambda zone: None if zone == 3 else factor[zone]) == len(gone)
            waiting = [e for e in waiting if e[0] != 3]
        else:
            taken = made.take(step)
            found = [] if taken is None else taken.columns["n"].tolist()
            rest = {e[3]: e for e in waiting}
            worth = [rest[n][1] * factor[rest[n][0]] for n in found]
            assert worth == sorted(worth, reverse=True)
            assert sum(rest[n][2] for n in found) <= step
            waiting = [e for e in waiting if e[3] not in found]
            left = [e[1] * factor[e[0]] for e in waiting]
            assert not found or not left or max(left) <= worth[-1]
            if waiting and sum(rest[n][2] for n in found) < step - 2:  # no cost is above 3
                raise AssertionError("there was budget for one more")
        made.check()
        assert len(made) == len(waiting)
        assert made.zones == {e[0] for e in waiting}


def test_equal_scores_come_in_the_order_they_were_pushed():
    made = Priorities()
    for number in range(20):  # more than are kept apart
        made.push(1, 1.0, np.ones(2), {"n": np.array([2 * number, 2 * number + 1])})
    taken = made.take(25)
    assert taken is not None and taken.columns["n"].tolist() == list(range(25))
    assert len(made) == 15


def test_what_gets_old_comes_later():
    made = Priorities()
    made.push(1, 1.0, np.array([10.0]), {"n": np.array([1])})
    made.push(2, 1.0, np.array([8.0]), {"n": np.array([2])})
    made.fade(lambda zone: 0.5 if zone == 1 else 1.0)
    taken = made.take(1)
    assert taken is not None and taken.zone.tolist() == [2]
    assert made.take(0.5) is None
    assert made.bytes > 0
