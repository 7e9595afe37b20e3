"""Which tests run when: the gate (`python tests`) or everything (`python tests --all`).

The gate holds each room's essence in a few minutes. What takes longer than a second is `slow` unless it is that
essence, properties look at fewer examples, and of a table of like cells every fifth is enough. A test's tier is seen at the test.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

ALL = os.environ.get("TESTS") == "all"
"""Whether everything runs."""

slow = pytest.mark.slow
"""For `--all` alone; a test that is named on the command line runs all the same."""


def examples(most: int) -> int:
    """How many examples a property draws that is worth `most` of them: an eighth in the gate, three at least."""
    return most if ALL else min(most, max(3, most // 8))


def only(values: Iterable[Any], *kept: Any) -> list[Any]:
    """Parameters of which all but these few are slow: they show that the way is open, the others what lies along it.

    A tuple is several arguments.
    """
    values = list(values)
    assert set(kept) <= set(values), set(kept) - set(values)
    return [v if v in kept else pytest.param(*(v if isinstance(v, tuple) else (v,)), marks=slow) for v in values]


def thinned(values: Iterable[Any], every: int = 5) -> list[Any]:
    """Parameters of which all but every fifth are slow: other cells that run the same code. A tuple is several arguments."""
    return [
        v if i % every == 0 else pytest.param(*(v if isinstance(v, tuple) else (v,)), marks=slow)
        for i, v in enumerate(values)
    ]
