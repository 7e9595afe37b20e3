"""Row patterns of MATCH_RECOGNIZE (SQL:2016, 7.7): which rows follow one another, as a regular expression over variables.

Not for what the variables mean, and not for how rows are searched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class PatternVariable:
    """One row for which a variable's condition holds.

    Attributes:
        name: the variable.
        shown: whether ALL ROWS PER MATCH shows the row; not inside `{- -}`.
    """

    name: str
    shown: bool = True

    def __str__(self) -> str:
        return self.name if self.shown else f"{{- {self.name} -}}"


@dataclass(frozen=True, slots=True)
class PatternSequence:
    """Parts that follow one another."""

    parts: tuple[RowPattern, ...]

    def __str__(self) -> str:
        return " ".join(f"({p})" if isinstance(p, PatternChoice) else str(p) for p in self.parts)


@dataclass(frozen=True, slots=True)
class PatternChoice:
    """One of several parts; the first that goes is taken."""

    parts: tuple[RowPattern, ...]

    def __str__(self) -> str:
        return " | ".join(map(str, self.parts))


@dataclass(frozen=True, slots=True)
class PatternRepeat:
    """A part several times.

    Attributes:
        part: what is repeated.
        low: how often at least.
        high: how often at most; None for no bound.
        greedy: whether as often as possible is tried first.
    """

    part: RowPattern
    low: int
    high: int | None
    greedy: bool = True

    def __str__(self) -> str:
        plain = isinstance(self.part, PatternVariable) and self.part.shown
        often = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((self.low, self.high))
        if often is None:
            high = "" if self.high is None else self.high
            often = f"{{{self.low}}}" if self.low == self.high else f"{{{self.low},{high}}}"
        return (str(self.part) if plain else f"({self.part})") + often + ("" if self.greedy else "?")


RowPattern: TypeAlias = PatternVariable | PatternSequence | PatternChoice | PatternRepeat


@dataclass(frozen=True, slots=True)
class AfterMatch:
    """Where the search goes on behind a match: AFTER MATCH SKIP.

    Attributes:
        to: past the last row, to the row behind the first one, to the first or the last row of some variables.
        variables: which.
    """

    to: Literal["past last row", "next row", "first", "last"] = "past last row"
    variables: tuple[str, ...] = ()

    def __str__(self) -> str:
        return {"past last row": "on behind its last row", "next row": "on from its second row"}.get(
            self.to, f"on from its {self.to} {' or '.join(self.variables)}"
        )


def variables(pattern: RowPattern) -> Iterator[str]:
    """The variables, in the order written, each as often as it is."""
    match pattern:
        case PatternVariable(name=name):
            yield name
        case PatternRepeat(part=part):
            yield from variables(part)
        case PatternSequence(parts=parts) | PatternChoice(parts=parts):
            for part in parts:
                yield from variables(part)


def beginnings(pattern: RowPattern) -> frozenset[str]:
    """The variables that the first row of a match may go for."""
    match pattern:
        case PatternVariable(name=name):
            return frozenset((name,))
        case PatternRepeat(part=part):
            return beginnings(part)
        case PatternChoice(parts=parts):
            return frozenset[str]().union(*map(beginnings, parts))
        case PatternSequence(parts=parts):
            needed = next((i for i, part in enumerate(parts) if least_rows(part)), len(parts) - 1)
            return frozenset[str]().union(*map(beginnings, parts[: needed + 1]))


def least_rows(pattern: RowPattern) -> int:
    """How many rows a match has at least."""
    match pattern:
        case PatternVariable():
            return 1
        case PatternRepeat(part=part, low=low):
            return low * least_rows(part)
        case PatternSequence(parts=parts):
            return sum(map(least_rows, parts))
        case PatternChoice(parts=parts):
            return min(map(least_rows, parts))


def bounded(pattern: RowPattern) -> bool:
    """Whether a match has so many rows at most."""
    match pattern:
        case PatternVariable():
            return True
        case PatternRepeat(part=part, high=high):
            return high is not None and bounded(part)
        case PatternSequence(parts=parts) | PatternChoice(parts=parts):
            return all(map(bounded, parts))


def size(pattern: RowPattern) -> int:
    """Variables of the pattern with its counts written out."""
    match pattern:
        case PatternVariable():
            return 1
        case PatternRepeat(part=part, low=low, high=high):
            return max(1, low if high is None else high) * size(part) + (high is None)
        case PatternSequence(parts=parts) | PatternChoice(parts=parts):
            return sum(map(size, parts))


__all__ = [
    "AfterMatch",
    "PatternChoice",
    "PatternRepeat",
    "PatternSequence",
    "PatternVariable",
    "RowPattern",
    "beginnings",
    "bounded",
    "least_rows",
    "size",
    "variables",
]
