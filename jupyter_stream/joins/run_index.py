"""How the rows of a run are found by their keys: a table of numbers, a table of hashes, or groups of equal hashes.

- `Direct`: integers whose values are close to each other say themselves where to look. What it finds needs no comparison.
- `Hashed`: a table of hashes, one row in each place; the few that found their place taken are groups.
- `Grouped`: rows with one hash side by side, for keys that many rows have.

Which one it is follows from the rows. All give candidates; whether times and keys fit is for the caller to see.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from jupyter_stream.core.axis import plus
from jupyter_stream.core.messages import Int64s
from jupyter_stream.joins.sorted_hashes import MOST_ROWS, ROW_BITS
from jupyter_stream.joins.sorted_hashes import ROW_MASK as _ROW_MASK
from jupyter_stream.keys.join_keys import Hashes, JoinKeys

_MORE: Final = np.uint64(1 << ROW_BITS)
"""In a place of a table of hashes: other rows found it taken."""
_FEW_HASHES: Final = 256
"""Rows that are not worth a table of hashes."""
_PAIRS: Final = 1 << 19
"""Pairs made at a time."""
CROWDED: Final = 4
MANY: Final = 4_096
"""Candidates per row, and beyond, above which those of the right time are looked for."""
_BLOCK: Final = 16_384
"""Rows looked up at a time, so that what is computed of them stays in the processor's cache."""
_SPREAD: Final = 4
_FEW: Final = 1_024
"""Places for each row, and beyond, at most, where integers say where to look."""

Pairs = tuple[Int64s, Int64s]


@dataclass(frozen=True)
class Probes:
    """Rows that look for others.

    Attributes:
        keys: theirs.
        times: theirs, microseconds.
        low: the least time of a row found minus that of the row that looks, None for no bound.
        high: the greatest.
    """

    keys: JoinKeys
    times: Int64s
    low: int | None
    high: int | None


class Index(Protocol):
    """Rows by key."""

    settled: frozenset[int]
    """Key columns, by number, in which what is found is equal to what was asked for."""
    by_numbers: bool
    """Whether it is looked up by the keys themselves rather than by their hashes."""
    crowded: bool
    """Whether many rows have one key."""

    @property
    def bytes(self) -> int:
        """Bytes held."""

    def pairs(self, asked: Probes, begin: int, end: int) -> Iterator[Pairs]:
        """Candidates for the rows asked for from `begin` to `end`, some at a time: their numbers, and those of rows here.

        Those with times outside of the bounds may be among them.
        """


def indexed(keys: JoinKeys, times: Int64s, cells: dict[int, tuple[int, int]]) -> Index:
    """The index that suits the rows, whose `cells_of` are those."""
    if cells:
        direct = Direct(keys, times, cells)
        if len(cells) == len(keys.columns) or not direct.crowded:
            return direct
    return by_hash(keys, np.arange(keys.rows), times)


def by_hash(keys: JoinKeys, rows: Int64s, times: Int64s) -> Hashed | Grouped:
    """Some of the rows, by the hashes of their keys."""
    taken = Hashed.of(keys, rows, times) if keys.columns and rows.size > _FEW_HASHES else None
    return Grouped.by_hash(keys.hashes, rows, times) if taken is None else taken


class Groups:
    """Rows group by group.

    Args:
        rows: numbers of rows, those of one group side by side.
        first: where each group begins, and the end.
        times: of all rows.
    """

    def __init__(self, rows: Int64s, first: Int64s, times: Int64s) -> None:
        self._rows, self._first, self._times = rows, first, times
        self._timed: tuple[Int64s, Int64s, int, int, int, int] | None = None

    @property
    def bytes(self) -> int:
        """Bytes held."""
        timed = 0 if self._timed is None else sum(a.nbytes for a in self._timed[:2])
        return self._rows.nbytes + self._first.nbytes + timed

    def pairs(self, new: Int64s, groups: Int64s, asked: Probes) -> Iterator[Pairs]:
        """Each of `new` with the rows of its group."""
        begin, end, rows = self._first[groups], self._first[groups + 1], self._rows
        bounded = asked.low is not None or asked.high is not None
        if bounded and int((end - begin).sum()) > CROWDED * new.size + MANY:
            begin, end, rows = self._in_time(groups, asked.times.take(new), asked.low, asked.high)
        yield from expanded(new, begin, end, rows)

    def _in_time(self, groups: Int64s, at: Int64s, low: int | None, high: int | None) -> tuple[Int64s, Int64s, Int64s]:
        """Where a group's rows from `at + low` to `at + high` begin and end, among all rows by group and time."""
        if self._timed is None:
            group = np.repeat(np.arange(self._first.size - 1), np.diff(self._first))
            times = self._times[self._rows]
            least, most = int(times.min()), int(times.max())
            # group and time in one number; where the times are too far apart for that, in steps of a power of two
            shift = max(0, (most - least).bit_length() - (62 - self._first.size.bit_length()))
            span = (most >> shift) - (least >> shift) + 2
            order = group * span + ((times >> shift) - (least >> shift))
            by = np.argsort(order)
            self._timed = (order[by], self._rows[by], shift, span, least, most)
        order, rows, shift, span, least, most = self._timed
        base = groups * span
        first, last = base, base + span - 1
        if low is not None:
            first = base + (np.clip(plus(at, low), least, most + 1) >> shift) - (least >> shift)
        if high is not None:  # one before the first time is before all rows of the group
            last = base + (np.clip(plus(at, high), least - 1, most) >> shift) - (least >> shift)
        begin = np.searchsorted(order, first, "left")
        return begin, np.maximum(np.searchsorted(order, last, "right"), begin), rows


class Direct:
    """Rows by integers: a place for every value there may be, of several columns together.

    Args:
        keys: the rows' keys.
        times: their times.
        cells: of some of the key columns, by their number, the least value, and how many from there on.
    """

    by_numbers = True

    def __init__(self, keys: JoinKeys, times: Int64s, cells: dict[int, tuple[int, int]]) -> None:
        self._cells = cells
        self.settled = frozenset(cells)
        places = 1
        for _, many in cells.values():
            places *= many + 1
        at = self._places(keys, 0, keys.rows)
        numbers = np.arange(keys.rows)
        self._row = np.full(places, -1, np.int32)
        self._row[at] = numbers
        self._groups: Groups | None = None
        if (self._row.take(at) != numbers).any():
            if places <= 1 << 16:  # by their digits: 7 ns a row where comparing takes 40
                rows = np.argsort(at.astype(np.uint16), kind="stable")
            else:
                rows = (np.sort((at << ROW_BITS) | numbers)) & (MOST_ROWS - 1)
            first = np.zeros(places + 1, np.int64)
            np.cumsum(np.bincount(at, minlength=places), out=first[1:])
            self._groups = Groups(rows, first, times)
        self.crowded = self._groups is not None

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return self._row.nbytes + (0 if self._groups is None else self._groups.bytes)

    def _places(self, keys: JoinKeys, begin: int, end: int) -> Int64s:
        """Where to look for rows. Values beyond those here share the place behind the last, which is empty."""
        places: Int64s | None = None
        for number, (least, many) in self._cells.items():
            column = keys.columns[number]
            assert isinstance(column, np.ndarray)
            at = column[begin:end] - least
            # a value below the least becomes a huge number
            np.minimum(at.view(np.uint64), np.uint64(many), out=at.view(np.uint64))
            if places is None:
                places = at
            else:
                places *= many + 1
                places += at
        assert places is not None
        return places

    def pairs(self, asked: Probes, begin: int, end: int) -> Iterator[Pairs]:
        """See `Index`."""
        new, found = [], []
        for start in range(begin, end, _BLOCK):
            at = self._places(asked.keys, start, min(end, start + _BLOCK))
            rows = self._row.take(at)
            hit = np.flatnonzero(rows >= 0)
            found.append(rows.take(hit).astype(np.int64) if self._groups is None else at.take(hit))
            hit += start
            new.append(hit)
        mine, theirs = np.concatenate(new), np.concatenate(found)
        if not mine.size:
            return
        if self._groups is None:
            yield mine, theirs
        else:
            yield from self._groups.pairs(mine, theirs, asked)


def cells_of(keys: JoinKeys) -> dict[int, tuple[int, int]]:
    """Of key columns of integers the least value and how many from there on, of those with most as many as there is room for.

    Nothing where these say too little.
    """
    ranges = []
    for number, column in enumerate(keys.columns):
        if isinstance(column, np.ndarray):
            least = int(column.min())
            ranges.append((int(column.max()) - least + 1, number, least))
    cells, places = {}, 1
    for many, number, least in sorted(ranges, reverse=True):
        if places * (many + 1) <= _SPREAD * keys.rows + _FEW:
            places *= many + 1
            cells[number] = (least, many)
            if len(cells) == 1 and _tells_apart(keys, cells):
                return cells  # each further column would cost every row that is looked up
    return cells if len(cells) == len(keys.columns) or _tells_apart(keys, cells) else {}


def _tells_apart(keys: JoinKeys, cells: Collection[int]) -> bool:
    """Whether no two of a few rows are alike in these columns, integers."""
    few = [np.asarray(keys.columns[n])[:_FEW] for n in cells]
    if not few:
        return False
    in_order = np.sort(few[0]) if len(few) == 1 else np.sort(JoinKeys(tuple(few), few[0].size).hashes)
    return bool((in_order[1:] != in_order[:-1]).all())


def repeats(keys: JoinKeys, cells: Collection[int]) -> bool:
    """Whether integers say where to look, those of the `cells_of`, and two of the first rows are in one place."""
    return bool(cells) and not _tells_apart(keys, cells)


class Hashed:
    """A table of hashes. Of each row the upper bits of its hash and its number, in the place the uppermost of them say.

    Args:
        places: them, 0 where there is none.
        rest: rows that found their place taken, None without any.
    """

    settled: frozenset[int] = frozenset()
    by_numbers = False

    def __init__(self, places: Hashes, rest: Hashed | Grouped | None) -> None:
        self._places, self._rest = places, rest
        self._shift = np.uint64(65 - places.size.bit_length())
        self.crowded: bool = rest is not None and rest.crowded

    @classmethod
    def of(cls, keys: JoinKeys, rows: Int64s, times: Int64s) -> Hashed | None:
        """Some of the rows. None where many find their place taken, since their keys are not distinct."""
        hashes = keys.hashes.take(rows)
        bits = rows.size.bit_length() + 1
        at = (hashes >> np.uint64(64 - bits)).view(np.int64)
        hashes &= ~(_ROW_MASK | _MORE)
        hashes |= rows.view(np.uint64)
        places = np.zeros(1 << bits, np.uint64)
        places[at] = hashes
        lost = np.flatnonzero(places.take(at) != hashes)
        if 3 * lost.size > rows.size:
            return None
        if not lost.size:
            return cls(places, None)
        places[at[lost]] |= _MORE
        return cls(places, by_hash(keys, rows.take(lost), times))

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return self._places.nbytes + (0 if self._rest is None else self._rest.bytes)

    def pairs(self, asked: Probes, begin: int, end: int) -> Iterator[Pairs]:
        """See `Index`."""
        found, more = [], []
        for start in range(begin, end, _BLOCK):
            new, old, passed = self._look(asked.keys.hashes[start : min(end, start + _BLOCK)])
            new += start
            found.append((new, old))
            if passed is not None:
                passed += start
                more.append(passed)
        yield np.concatenate([new for new, _ in found]), np.concatenate([old for _, old in found])
        if self._rest is not None:
            yield from self._rest.of_rows(asked, np.concatenate(more))

    def of_rows(self, asked: Probes, rows: Int64s) -> Iterator[Pairs]:
        """Candidates for some of the rows asked for."""
        new, old, passed = self._look(asked.keys.hashes.take(rows))
        yield rows.take(new), old
        if self._rest is not None and passed is not None:
            yield from self._rest.of_rows(asked, rows.take(passed))

    def _look(self, hashes: Hashes) -> tuple[Int64s, Int64s, Int64s | None]:
        """Which of the hashes seem to be here, the rows, and which are to be looked for among the rest."""
        held = self._places.take((hashes >> self._shift).view(np.int64))
        # an empty place may look like row 0: that is no harm, since keys are compared
        new = np.flatnonzero((held ^ hashes) <= _ROW_MASK | _MORE)
        old = (held.take(new) & _ROW_MASK).view(np.int64)
        return new, old, None if self._rest is None else np.flatnonzero(held & _MORE)


class Grouped:
    """Rows with the same upper bits of their hash side by side; a table says which groups each range of hashes has.

    Args:
        order: upper bits and row number of each row, in order.
        times: of all rows.
    """

    settled: frozenset[int] = frozenset()
    by_numbers = False

    def __init__(self, order: Hashes, times: Int64s) -> None:
        upper = order >> np.uint64(ROW_BITS)
        first = np.flatnonzero(upper[1:] != upper[:-1]) + 1
        first = np.concatenate([[0], first, [order.size]])
        groups = first.size - 1
        self._groups = Groups((order & _ROW_MASK).view(np.int64), first, times)
        self.crowded: bool = int(np.diff(first).max()) > CROWDED
        self._upper = upper[first[:-1]]
        bits = max(4, groups.bit_length())
        self._shift = np.uint64(64 - bits)
        place = (self._upper >> np.uint64(64 - ROW_BITS - bits)).view(np.int64)
        starts = np.flatnonzero(place[1:] != place[:-1]) + 1
        starts = np.concatenate([[0], starts, [groups]])
        self._cells = np.zeros(1 << bits, np.int64)  # the first group << 32 | how many groups; 0: none
        self._cells[place[starts[:-1]]] = (starts[:-1] << 32) | np.diff(starts)

    @classmethod
    def by_hash(cls, hashes: Hashes, rows: Int64s, times: Int64s) -> Grouped:
        """Some rows."""
        order = (hashes.take(rows) & ~_ROW_MASK) | rows.view(np.uint64)
        order.sort()
        return cls(order, times)

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return self._upper.nbytes + self._cells.nbytes + self._groups.bytes

    def pairs(self, asked: Probes, begin: int, end: int) -> Iterator[Pairs]:
        """See `Index`."""
        yield from self.of_rows(asked, np.arange(begin, end))

    def of_rows(self, asked: Probes, rows: Int64s) -> Iterator[Pairs]:
        """Candidates for some of the rows asked for."""
        found, groups = self._find(asked.keys.hashes.take(rows))
        if found.size:
            yield from self._groups.pairs(rows.take(found), groups, asked)

    def _find(self, hashes: Hashes) -> Pairs:
        """Which of the hashes have a group, and which."""
        cells = self._cells.take((hashes >> self._shift).view(np.int64))
        new = np.flatnonzero(cells)
        cells = cells[new]
        group, left = cells >> 32, cells & 0xFFFFFFFF
        wanted = hashes[new] >> np.uint64(ROW_BITS)
        hit = self._upper.take(group) == wanted
        found = [(new[hit], group[hit])]
        going = np.flatnonzero(~hit & (left > 1))
        while going.size:  # the next group of the same range: at most a few times
            new, group, left, wanted = new[going], group[going] + 1, left[going] - 1, wanted[going]
            hit = self._upper.take(group) == wanted
            found.append((new[hit], group[hit]))
            going = np.flatnonzero(~hit & (left > 1))
        if len(found) == 1:
            return found[0]
        return np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])


def expanded(new: Int64s, begin: Int64s, end: Int64s, rows: Int64s) -> Iterator[Pairs]:
    """Each of `new` with each of `rows[begin:end]`, `_PAIRS` at a time."""
    counts = end - begin
    totals = np.cumsum(counts)
    at = 0
    while at < new.size:
        done = int(totals[at - 1]) if at else 0
        stop = max(at + 1, int(np.searchsorted(totals, done + _PAIRS, "right")))
        sizes = counts[at:stop]
        offset = begin[at:stop] - (totals[at:stop] - sizes - done)
        old = np.arange(int(totals[stop - 1]) - done) + np.repeat(offset, sizes)
        yield np.repeat(new[at:stop], sizes), rows.take(old)
        at = stop


__all__ = ["Direct", "Grouped", "Hashed", "Index", "Probes", "cells_of", "expanded", "indexed"]
