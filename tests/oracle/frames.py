"""Window functions by definition: for each row a loop over its partition. Rows are dicts, NULL is None."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True)
class Key:
    """A key of ORDER BY."""

    column: str
    descending: bool = False
    nulls_last: bool = False

    def sql(self) -> str:
        return f"{self.column}{' DESC' if self.descending else ''} NULLS {'LAST' if self.nulls_last else 'FIRST'}"

    def place(self, value: Any) -> tuple:
        """Where a value stands: NULLs before or behind all others."""
        if value is None:
            return (2 if self.nulls_last else 0, 0)
        return (1, _falling(value) if self.descending else value)


def _falling(value: Any) -> Any:
    return (*(-ord(c) for c in value), 1) if isinstance(value, str) else -value


@dataclass(frozen=True)
class Frame:
    """ROWS, RANGE or GROUPS BETWEEN low AND high: negative for PRECEDING, None for UNBOUNDED."""

    unit: str
    low: int | None
    high: int | None

    def sql(self) -> str:
        ends = [_end(self.low, "PRECEDING"), _end(self.high, "FOLLOWING")]
        return f"{self.unit} BETWEEN {ends[0]} AND {ends[1]}"

    def rows(self, part: Sequence[Row], at: int, keys: Sequence[Key]) -> list[Row]:
        """The rows of the frame of one row of a sorted partition."""
        places = [tuple(k.place(row[k.column]) for k in keys) for row in part]
        groups = sorted(set(places))
        numbers = [groups.index(place) for place in places]
        found = []
        for other, row in enumerate(part):
            if self.unit == "ROWS":
                apart: float = other - at
            elif self.unit == "GROUPS" or (self.low in (0, None) and self.high in (0, None)):
                apart = numbers[other] - numbers[at]
            else:
                apart = self._value_apart(part[at], row, keys[0], numbers[other] - numbers[at])
            if (self.low is None or self.low <= apart) and (self.high is None or apart <= self.high):
                found.append(row)
        return found

    def _value_apart(self, mine: Row, other: Row, key: Key, groups: int) -> float:
        """How far values are apart in the order; a NULL is near to NULLs only."""
        one, two = mine[key.column], other[key.column]
        if one is None or two is None:
            return 0 if one is two else float("inf") * (1 if groups > 0 else -1)
        return one - two if key.descending else two - one


def _end(distance: int | None, unbounded: str) -> str:
    if distance is None:
        return f"UNBOUNDED {unbounded}"
    if not distance:
        return "CURRENT ROW"
    return f"{abs(distance)} {'PRECEDING' if distance < 0 else 'FOLLOWING'}"


def over(
    rows: Sequence[Row],
    partition: Sequence[str],
    keys: Sequence[Key],
    made: Callable[[list[Row], int], Any],
) -> list[tuple[Row, Any]]:
    """Each row with what a function makes of its sorted partition and its place there; ties by all columns."""
    parts: dict[tuple, list[Row]] = {}
    for row in rows:
        parts.setdefault(tuple(row[c] for c in partition), []).append(row)
    found = []
    for part in parts.values():
        rest = [Key(c) for c in part[0] if c not in {k.column for k in keys}]
        part.sort(key=lambda row: tuple(k.place(row[k.column]) for k in (*keys, *rest)))
        found += [(row, made(part, at)) for at, row in enumerate(part)]
    return found


def rank(part: list[Row], at: int, keys: Sequence[Key]) -> int:
    """One more than the rows before the first peer."""
    return 1 + sum(_place(row, keys) < _place(part[at], keys) for row in part)


def dense_rank(part: list[Row], at: int, keys: Sequence[Key]) -> int:
    """One more than the groups of peers before."""
    return 1 + len({_place(row, keys) for row in part if _place(row, keys) < _place(part[at], keys)})


def ntile(part: list[Row], at: int, buckets: int) -> int:
    """So many buckets, larger ones first."""
    sizes = [len(part) // buckets + (i < len(part) % buckets) for i in range(buckets)]
    return next(i + 1 for i in range(buckets) if at < sum(sizes[: i + 1]))


def neighbour(part: list[Row], at: int, column: str, apart: int, default: Any = None) -> Any:
    """The value so many rows on."""
    return part[at + apart][column] if 0 <= at + apart < len(part) else default


def _place(row: Row, keys: Sequence[Key]) -> tuple:
    return tuple(k.place(row[k.column]) for k in keys)
