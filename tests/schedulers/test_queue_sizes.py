"""The sizes of queues the papers print and prove, from the engine's own schedulers on a virtual clock."""

import pytest

from tests.benchmarks.queue_sizes import GRAIN, bound, bursts, drawn, optimum, paper
from tests.schedulers import two_paths


def test_the_table_of_the_paper_number_for_number() -> None:
    assert paper("fifo") == pytest.approx([1, 1.2, 2, 2.2, 3, 3.2, 4])
    assert paper("chain") == pytest.approx([1, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2])


@pytest.mark.parametrize("seed", range(6))
def test_chain_is_near_the_clairvoyant_optimum(seed: int) -> None:
    plan = drawn(seed, (3, 5))
    least = bound(plan)
    assert least <= plan.under("chain", grain=GRAIN).peak + 1e-6
    assert plan.under("chain", grain=GRAIN).peak <= 1.05 * least
    assert least <= optimum(plan) + 1e-6 <= plan.under("chain").peak + 2e-6


def test_chain_sees_what_greedy_does_not() -> None:
    peaks = {policy: bursts(policy).peak for policy in ("fifo", "greedy", "chain")}
    assert peaks["chain"] < peaks["greedy"] and peaks["chain"] < peaks["fifo"]


@pytest.mark.parametrize("seed", range(10))
def test_on_two_paths_chain_is_near_the_optimum_and_never_worse_than_greedy(seed: int) -> None:
    plan = two_paths.drawn(seed)
    least, chain = plan.bound(), plan.peak("chain")
    assert least <= chain + 1e-6
    assert chain <= 1.05 * least
    assert chain <= plan.peak("greedy") + 2 * two_paths.GRAIN  # what a step takes, of the cheapest operator


@pytest.mark.parametrize("seed", [15, 16, 17, 23])
def test_on_some_plans_of_two_paths_chain_is_better_than_greedy(seed: int) -> None:
    plan = two_paths.drawn(seed)
    assert plan.peak("chain") < 0.99 * plan.peak("greedy")
