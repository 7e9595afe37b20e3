"""What can be told of a step of the automaton from a few rows behind it, for all rows at once, by columns.

A step is worth taking only if some way goes on from it for the next rows, or the match is whole. That is a condition like those
of DEFINE, and saves the search most of its ways back. It changes no answer: only ways that fail are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jupyter_stream.arrays.runs import ends_run
from jupyter_stream.core.messages import Bools, Int64s
from jupyter_stream.matches.automaton import END, Automaton

Ways: TypeAlias = list[list[tuple[int, int, "bytes | None"]]]
"""For each state (code, next state, the bytes of rows), in order of preference; no bytes where every row goes."""
_ROWS: Final = 8
"""Rows looked at behind a step."""
_MOST: Final = 48
"""Steps of an automaton for which that is worked out: each takes an array as long as the rows."""


def ways(automaton: Automaton, flags: Sequence[NDArray[np.uint8] | None]) -> Ways:
    """The steps with the bytes of their codes."""
    of = [None if f is None else f.tobytes() for f in flags]
    return [[(c, then, None if c == END else of[c]) for c, then in steps] for steps in automaton.steps]


def ways_ahead(
    automaton: Automaton, flags: Sequence[NDArray[np.uint8] | None], partitions: Int64s, ended: bool
) -> Ways:
    """The same, where a byte says as well whether the next rows lead on. None of the flags says that a condition fails.

    Args:
        automaton: the pattern.
        flags: for each code the bytes of its condition.
        partitions: of the rows, which lie in order.
        ended: whether no row comes behind the last one of each.
    """
    pairs = {step for steps in automaton.steps for step in steps if step[0] != END}
    if len(pairs) > _MOST:
        return ways(automaton, flags)
    last = ends_run(partitions)
    goes = [np.ones(partitions.size, np.bool_) if f is None else f != 0 for f in flags]
    leads: list[Bools] = [
        np.ones(partitions.size, np.bool_) for _ in automaton.steps
    ]  # a match from the row on, in the state
    for _ in range(_ROWS):
        behind = [
            _next(lead, last, _is_whole(steps) or not ended) for lead, steps in zip(leads, automaton.steps, strict=True)
        ]
        leads = [
            _any([goes[c] & behind[then] if c != END else None for c, then in steps], partitions.size)
            for steps in automaton.steps
        ]
    behind = [
        _next(lead, last, _is_whole(steps) or not ended) for lead, steps in zip(leads, automaton.steps, strict=True)
    ]
    of = {(c, then): (goes[c] & behind[then]).tobytes() for c, then in pairs}
    return [[(c, then, None if c == END else of[c, then]) for c, then in steps] for steps in automaton.steps]


def _is_whole(steps: Sequence[tuple[int, int]]) -> bool:
    """Whether the match may end in a state."""
    return bool(steps) and steps[-1][0] == END


def _next(leads: Bools, last: Bools, beyond: bool) -> Bools:
    """What holds at the row behind each."""
    found = np.append(leads[1:], beyond)
    found[last] = beyond
    return found


def _any(parts: Sequence[Bools | None], size: int) -> Bools:
    """Whether one holds; the end of the match always does."""
    found = np.zeros(size, np.bool_)
    for part in parts:
        if part is None:
            return np.ones(size, np.bool_)
        found |= part
    return found


__all__ = ["Ways", "ways", "ways_ahead"]
