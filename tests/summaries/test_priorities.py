"""Entries come out best first, within the budget, each once: against a plain list."""

import numpy as np
from drawn import QUICK
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_stream.summaries.priorities import Priorities
from tests.tiers import examples

pushes = st.tuples(st.lists(st.integers(0, 5), max_size=12), st.lists(st.integers(1, 3), min_size=12))
moves = st.lists(st.one_of(pushes, st.integers(0, 20)), max_size=40)


@settings(max_examples=examples(40), phases=QUICK)
@given(moves)
def test_the_best_entries_within_the_budget_come_out_and_are_gone(steps):
    made = Priorities()
    waiting: dict[int, tuple[float, float]] = {}  # score and cost by number
    pushed = 0
    for step in steps:
        if isinstance(step, tuple):
            scores, costs = step
            cost = np.array(costs[: len(scores)], float)
            numbers = np.arange(pushed, pushed + len(scores))
            made.push(np.array(scores, float), {"n": numbers}, cost)
            waiting |= dict(zip(numbers.tolist(), zip(map(float, scores), cost.tolist(), strict=True), strict=True))
            pushed += len(scores)
        else:
            taken = made.take(step)
            found = [] if taken is None else taken.columns["n"].tolist()
            gone = [waiting.pop(n) for n in found]
            worth = [score for score, _ in gone]
            spent = sum(cost for _, cost in gone)
            assert worth == sorted(worth, reverse=True)
            assert spent <= step
            best = max((score for score, _ in waiting.values()), default=None)
            assert not found or best is None or best <= worth[-1]
            if waiting and spent < step - 2:  # no cost is above 3
                raise AssertionError("there was budget for one more")
        made.check()
        assert len(made) == len(waiting)


def test_equal_scores_come_in_the_order_they_were_pushed():
    made = Priorities()
    for number in range(10):
        made.push(np.ones(2), {"n": np.array([2 * number, 2 * number + 1])})
    taken = made.take(13)
    assert taken is not None and taken.columns["n"].tolist() == list(range(13))
    assert len(made) == 7


def test_runs_are_merged_and_what_is_taken_frees_its_memory():
    made = Priorities()
    for number in range(200):
        made.push(np.array([number % 7, 3.0]), {"n": np.array([2 * number, 2 * number + 1])})
    assert len(made._runs) <= 12
    assert made.take(0.5) is None
    before = made.bytes
    taken = made.take(10_000)
    assert taken is not None and sorted(taken.columns["n"].tolist()) == list(range(400))
    assert 0 == made.bytes < before
