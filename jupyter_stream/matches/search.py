"""The search for a match from one row on: the preferred one, by going back where a way doesn't lead on.

It stops where it needs a row that hasn't come, and goes on from there when it has. Ways that are known to fail are not gone
again where conditions don't read the match so far: each state is then met once at each row. Not for which rows are at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from jupyter_stream.functions.scalar import RowError, Scalar
from jupyter_stream.matches.ahead import Ways
from jupyter_stream.matches.automaton import END
from jupyter_stream.matches.conditions import FAILS, NO, SearchPlace

FOUND, NONE, WAITS, RESTS = "found", "none", "waits", "rests"
"""How far a search has come: there is a match, there is none, a row is missing, it has taken its steps."""
_MOST: Final = 20_000
"""Steps between two rests: some ten milliseconds."""


@dataclass
class Attempt:
    """A search under way.

    Attributes:
        start: the number of the row it begins at.
        path: codes of the rows so far.
        states: the state before each row, and the present one.
        turns: for each state which of its steps is tried next.
        totals: of each aggregate its state after each row, as far as it was asked for.
    """

    start: int
    path: bytearray = field(default_factory=bytearray)
    states: list[int] = field(default_factory=lambda: [0])
    turns: list[int] = field(default_factory=lambda: [0])
    totals: list[list[object]] = field(default_factory=list)


class Search:
    """Searches along the ways of an automaton.

    Args:
        stepwise: for each code what has to be asked of the match so far; None for nothing.
    """

    def __init__(self, stepwise: Sequence[Scalar | None]) -> None:
        self._stepwise = list(stepwise)
        self.remembers = not any(s is not None for s in stepwise)
        """Whether a way that failed once from a state and a row fails always."""

    def goes_on(
        self,
        attempt: Attempt,
        ways: Ways,
        place: SearchPlace,
        limit: int,
        ends: bool,
        failed: set[tuple[int, int]] | None,
        tell: Callable[[int, int, str | None], None],
    ) -> str:
        """Go on with an attempt. Gives `FOUND`, with the match in its path; `NONE`, `WAITS` or `RESTS`.

        Args:
            attempt: the attempt.
            ways: the steps of the automaton, with the bytes of the rows at hand.
            place: what conditions read; its `offset` is that of the bytes.
            limit: the number of the first row that can't be read.
            ends: whether it can't be part of the match, either.
            failed: states and rows that don't lead to a match; None to remember nothing.
            tell: takes a row a condition fails on, its code, and why, where the byte doesn't say it.
        """
        stepwise = self._stepwise
        path, states, turns = attempt.path, attempt.states, attempt.turns
        offset, start = place.offset, attempt.start
        place.start, place.path, place.totals = start, path, attempt.totals
        for _ in range(_MOST):
            turn = turns[-1]
            choices = ways[states[-1]]
            if turn == len(choices):
                if not _goes_back(attempt, failed):
                    return NONE
                continue
            code, then, bytes_ = choices[turn]
            if code == END:
                return FOUND
            row = start + len(path)
            if row >= limit:
                if not ends:
                    return WAITS
                turns[-1] = len(choices) - (choices[-1][0] == END)  # only the end of the match needs no row
                continue
            turns[-1] = turn + 1
            flag = 1 if bytes_ is None else bytes_[offset + row]
            if flag == NO:
                continue
            if flag == FAILS:
                tell(row, code, None)
                continue
            if failed is not None and (then, row + 1) in failed:
                continue
            asked = stepwise[code]
            if asked is not None and not _holds(asked, place, row, code, tell):
                continue
            path.append(code)
            states.append(then)
            turns.append(0)
        return RESTS


def _holds(
    asked: Scalar, place: SearchPlace, row: int, code: int, tell: Callable[[int, int, str | None], None]
) -> bool:
    """Whether what is asked of the match so far is true of the row; false where it fails, which is told."""
    try:
        return asked(place) is True  # type: ignore[arg-type]  # what it reads is this place
    except RowError as error:
        tell(row, code, str(error))
        return False


def _goes_back(attempt: Attempt, failed: set[tuple[int, int]] | None) -> bool:
    """Leave a state from which nothing leads on; whether there is one before it."""
    path = attempt.path
    state = attempt.states.pop()
    attempt.turns.pop()
    if failed is not None:
        failed.add((state, attempt.start + len(path)))
    if not attempt.states:
        return False
    path.pop()
    for total in attempt.totals:
        del total[len(path) + 1 :]
    return True


__all__ = ["FOUND", "NONE", "RESTS", "WAITS", "Attempt", "Search"]
