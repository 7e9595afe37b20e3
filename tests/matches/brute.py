"""What MATCH_RECOGNIZE means, by definition: all ways a pattern goes on from a row, in order of preference, one row at a time.

Exponential, and knows nothing of streams: rows of one partition lie in a list, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from jupyter_stream.core.row_pattern import (
    AfterMatch,
    PatternChoice,
    PatternRepeat,
    PatternSequence,
    PatternVariable,
    RowPattern,
)

Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class At:
    """A row of a match under way, or of a whole one.

    Attributes:
        rows: the partition.
        start: the match's first row.
        path: the variables of its rows so far, the current one among them.
    """

    rows: Sequence[Row]
    start: int
    path: tuple[str, ...]

    def of(self, variable: str | None) -> list[Row]:
        """The rows of a variable; of all."""
        return [self.rows[self.start + i] for i, v in enumerate(self.path) if variable in (None, v)]

    def last(self, column: str, variable: str | None = None, offset: int = 0) -> Any:
        """LAST(variable.column, offset)."""
        found = self.of(variable)
        return found[-1 - offset][column] if offset < len(found) else None

    def first(self, column: str, variable: str | None = None, offset: int = 0) -> Any:
        """FIRST(variable.column, offset)."""
        found = self.of(variable)
        return found[offset][column] if offset < len(found) else None

    def near(self, column: str, shift: int) -> Any:
        """PREV or NEXT of the last row."""
        at = self.start + len(self.path) - 1 + shift
        return self.rows[at][column] if 0 <= at < len(self.rows) else None

    def total(self, column: str, variable: str | None = None) -> Any:
        """sum(variable.column)."""
        known = [r[column] for r in self.of(variable) if r[column] is not None]
        return sum(known) if known else None


Condition: TypeAlias = Callable[[At], bool]


@dataclass(frozen=True)
class Meant:
    """A pattern with its conditions."""

    pattern: RowPattern
    conditions: dict[str, Condition]
    within: int | None
    after: AfterMatch

    def matches(self, rows: Sequence[Row]) -> list[tuple[int, tuple[str, ...]]]:
        """Where each match begins, and the variables of its rows; rows have their time in `ts`."""
        found = []
        start = 0
        while start < len(rows):
            path = next(self._ways(self.pattern, rows, start, ()), None)
            if not path:
                start += 1
                continue
            found.append((start, path))
            start = self._behind(start, path)
        return found

    def _behind(self, start: int, path: tuple[str, ...]) -> int:
        if self.after.to == "past last row":
            return start + len(path)
        if self.after.to == "next row":
            return start + 1
        at = [i for i, v in enumerate(path) if v in self.after.variables]
        place = (at[0] if self.after.to == "first" else at[-1]) if at else 0
        return start + max(1, place)

    def _ways(
        self, pattern: RowPattern, rows: Sequence[Row], start: int, path: tuple[str, ...]
    ) -> Iterator[tuple[str, ...]]:
        match pattern:
            case PatternVariable(name=name):
                at = start + len(path)
                more = (*path, name)
                if at < len(rows) and self._goes(name, At(rows, start, more)):
                    yield more
            case PatternChoice(parts=parts):
                for part in parts:
                    yield from self._ways(part, rows, start, path)
            case PatternSequence(parts=parts):
                if not parts:
                    yield path
                    return
                for way in self._ways(parts[0], rows, start, path):
                    yield from self._ways(PatternSequence(parts[1:]), rows, start, way)
            case PatternRepeat():
                yield from self._repeated(pattern, rows, start, path, 0)

    def _repeated(
        self, pattern: PatternRepeat, rows: Sequence[Row], start: int, path: tuple[str, ...], times: int
    ) -> Iterator[tuple[str, ...]]:
        if not pattern.greedy and times >= pattern.low:
            yield path
        if pattern.high is None or times < pattern.high:
            for way in self._ways(pattern.part, rows, start, path):
                yield from self._repeated(pattern, rows, start, way, times + 1)
        if pattern.greedy and times >= pattern.low:
            yield path

    def _goes(self, name: str, at: At) -> bool:
        row = at.rows[at.start + len(at.path) - 1]
        if self.within is not None and row["ts"] - at.rows[at.start]["ts"] >= self.within:
            return False
        condition = self.conditions.get(name)
        return condition is None or condition(at)
