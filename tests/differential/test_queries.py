"""Drawn queries get the answers DuckDB gives, of fixed seeds: a failure is of what has changed.

README.md says how to draw others.
"""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest

from tests.differential.cases import CASES, hunt, smallest, state
from tests.differential.report import script
from tests.tiers import ALL, only

PIECES = 6
DRAWN = {"tables": 80, "views": 27, "windows": 74}
"""So many cases a piece; in the gate a third of them."""
ANSWERED = {"tables": 0.7, "views": 0.85, "windows": 0.8}
"""The least share that both answer: with fewer the run would say little."""


@pytest.mark.parametrize(("kind", "piece"), only(product(DRAWN, range(PIECES)), ("windows", 0)))
def test_drawn_queries_get_duckdbs_answers(kind: str, piece: int) -> None:
    seeds = [f"{kind} {i}" for i in range(piece * DRAWN[kind], (piece + 1) * DRAWN[kind], 1 if ALL else 3)]
    states: Counter[str] = Counter()
    for seed, choices, outcome in hunt(kind, seeds):
        states[state(outcome)] += 1
        if state(outcome) == "found":
            shown = script(smallest(kind, choices, tries=300), kind == "tables")
            pytest.fail(f"seed {seed!r}: {outcome.found}\n{shown}")
    assert states["agree"] >= ANSWERED[kind] * states.total(), states


def test_every_kind_is_drawn() -> None:
    assert set(DRAWN) == set(CASES)
