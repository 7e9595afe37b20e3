"""Grouping keys as dense integers: each live group has a slot; slots of groups nobody needs any more are used again.

Any mix of column types, NULLs among them. Equality is exact: where keys are found by hash, the values are compared.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from jupyter_stream.arrays.growing import grown
from jupyter_stream.arrays.rows import frame_of, rows_at, rows_where
from jupyter_stream.core.messages import Int64s, ints
from jupyter_stream.keys.hash_table import EMPTY, DirectTable, HashTable
from jupyter_stream.keys.key_rows import KeyRows, longer
from jupyter_stream.keys.key_words import KeyWords

_COMPACT_ABOVE = 1024
_ROOM = (1024, 32, 4, 0)
"""How often the range of values has room again on either side, where there is so much in a word."""


class KeySlots:
    """Slots of the groups of one operator.

    Args:
        schema: names and types of the grouping columns, at least one.
        spare: places in the hash table for each group when it grows: 3 for speed, 2 where memory counts.
    """

    def __init__(self, schema: Sequence[tuple[str, pl.DataType]], spare: int = 3) -> None:
        self._spare = spare
        self._names = [name for name, _ in schema]
        self._integral = len(schema) == 1 and _is_integral(schema[0][1])
        self._table: DirectTable | HashTable
        self._null: int
        self._in_words = len(schema) > 1 and all(_is_integral(t) and t != pl.UInt64 for _, t in schema)
        """Whether keys are kept as words, each exactly one key: several integers of small ranges, none of them NULL so far."""
        self._words: KeyWords | None = None
        self._types = [dtype for _, dtype in schema]
        self._seed = 0
        self._came = False  # whether the rows before had new keys, close together
        self._dtype: pl.DataType = schema[0][1] if self._integral else pl.Null()
        self._rows = KeyRows(dict(schema))
        self._clear()

    def _clear(self) -> None:
        self._table = DirectTable() if self._by_numbers else HashTable(spare=self._spare)
        self._null = EMPTY
        self._rows.clear()
        self._numbers = np.empty(0, np.int64)  # slot -> the one integral column, or the word, which has no rows
        self._live = np.empty(0, np.bool_)
        self._free: list[Int64s] = []  # pieces
        self._freed = 0
        self.capacity = 0

    @property
    def _by_numbers(self) -> bool:
        """Whether a key is a number."""
        return self._integral or self._in_words

    @property
    def live(self) -> int:
        """Groups that have a slot."""
        return self.capacity - self._freed

    @property
    def used(self) -> Int64s:
        """The slots of groups that have one."""
        return np.flatnonzero(self._live[: self.capacity])

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return self._table.bytes + self._rows.bytes + self._numbers.nbytes + self._live.nbytes + 8 * self._freed

    def encode(self, columns: Sequence[pl.Series]) -> Int64s:
        """The slot of each row; new groups get one. `columns` are the grouping columns, in order."""
        if self._integral:
            return self._encode_ints(columns[0])
        if self._in_words and (words := self._packed(columns)) is not None:
            return self.find(words) if words.size else words
        return self._find_rows(frame_of([_normal(c).alias(n) for n, c in zip(self._names, columns, strict=True)]))

    def takes_numbers(self, columns: Sequence[pl.Series]) -> bool:
        """Whether `find` serves these grouping columns."""
        return self._integral and not columns[0].null_count()

    def gather(self, slots: Int64s) -> list[pl.Series]:
        """The grouping columns of the given slots."""
        if self._in_words:
            return self._unpacked(self._numbers[slots])
        if not self._integral:
            return self._rows.gather(slots)
        # 2 ns a slot; Polars' gather takes 80 µs a call and 10 ns
        column = _from_ints(self._numbers[slots], self._dtype).alias(self._names[0])
        if self._null != EMPTY:
            column = column.zip_with(pl.Series(slots != self._null), column.clear(slots.size))
        return [column]

    def head(self, most: int) -> pl.DataFrame:
        """Some groups that have a slot: their grouping columns."""
        slots = self.used[:most]
        return pl.DataFrame([c.alias(n) for c, n in zip(self.gather(slots), self._names, strict=True)])

    def release(self, live: np.ndarray) -> None:
        """Free all slots that are not live (`live` is a mask over `capacity` slots)."""
        dead = self._live[: self.capacity] & ~live
        slots = np.flatnonzero(dead)
        if not slots.size:
            return
        if slots.size == self.live and self.capacity > _COMPACT_ABOVE:
            self._clear()
            return
        self._live[slots] = False
        if self._null != EMPTY and dead[self._null]:
            self._null = EMPTY
        self._table.keep(self._live)
        self._give_back(slots)

    def release_some(self, first: int, live: np.ndarray) -> int:
        """Free those slots from `first` on that are not live (`live` is a mask over as many). Time goes by them alone.

        Returns how many; `trim` is to be called when there are no more.
        """
        slots = first + np.flatnonzero(self._live[first : first + live.size] & ~live)
        if not slots.size:
            return 0
        count = slots.size
        if self._null != EMPTY and np.isin(self._null, slots):
            self._live[self._null] = False
            self._give_back(np.array([self._null]))
            slots = slots[slots != self._null]
            self._null = EMPTY
        self._table.remove(self._numbers[slots] if self._by_numbers else self._hashes(slots))
        self._live[slots] = False
        self._give_back(slots)
        return count

    def trim(self) -> None:
        """Give back memory that has become free."""
        if isinstance(self._table, DirectTable):
            self._table.trim()

    def _give_back(self, slots: Int64s) -> None:
        self._free.append(slots)
        self._freed += slots.size
        if not self._by_numbers:
            self._rows.forget(slots)

    def renumber(self) -> Int64s:
        """Give live groups the slots 0, 1, ...; returns the former slot of each."""
        old = np.flatnonzero(self._live[: self.capacity])
        new = np.full(self.capacity, EMPTY, np.int64)
        new[old] = np.arange(old.size)
        keys, slots = self._table.items()
        table: DirectTable | HashTable = HashTable(spare=self._spare)
        if isinstance(self._table, DirectTable):
            table = DirectTable()
            if keys.size:
                table.covers(int(keys.min()), int(keys.max()))
        table.insert(keys, new[slots])
        self._table = table
        if self._null != EMPTY:
            self._null = int(new[self._null])
        if self._by_numbers:
            self._numbers = self._numbers[old]
        else:
            self._rows.take(old)
        self._live = np.ones(old.size, np.bool_)
        self._free, self._freed = [], 0
        self.capacity = old.size
        return old

    def _encode_ints(self, column: pl.Series) -> Int64s:
        valid = None
        if column.null_count():
            valid = column.is_not_null().to_numpy()
            values = ints(column.drop_nulls())
        else:
            values = ints(column)
        found = self.find(values) if values.size else np.empty(0, np.int64)
        if valid is None:
            return found
        if self._null == EMPTY:
            self._null = int(self._number(np.zeros(1, np.int64))[0])
        slots = np.full(len(column), self._null, np.int64)
        slots[valid] = found
        return slots

    def find(self, values: Int64s) -> Int64s:
        """`encode` for one integral column without NULLs, given as numbers."""
        found = None
        if isinstance(self._table, DirectTable):
            if self._came:
                self._came = self._met(self._table, values)
                if self._came:
                    return self._table.lookup(values)
            found = self._table.lookup_within(values)
            if found is not None and self._table.full:
                return found
            if found is None and not self._table.covers(int(values.min()), int(values.max())):
                table = HashTable(spare=self._spare)
                table.insert(*self._table.items())
                self._table = table
        if found is None:
            found = self._table.lookup(values)
        if int(found.min()) == EMPTY:
            together = self._table.together(values) if isinstance(self._table, DirectTable) else None
            if together is not None:
                # as the numbers of new things mostly are: 8 ns a row, where the way below takes 40
                self._table.insert(together, self._number(together))
                self._came = True
                return self._table.lookup(values)
            unknown = found == EMPTY
            missing = values[unknown]
            # in the order they come: hot keys come early, and their slots then share cache lines, which makes updates
            # under a Zipf law 1.3 to 1.5 times faster
            new = missing[self._table.first_seen(missing)]
            slots = self._number(new)
            self._table.insert(new, slots)
            found[unknown] = slots if new.size == missing.size else self._table.lookup(missing)
        return found

    def _met(self, table: DirectTable, values: Int64s) -> bool:
        """Whether some of these were new; then all are known. Asked before a look-up, where new ones came just before."""
        low, high = int(values.min()), int(values.max())
        if high - low >= values.size or not table.covers(low, high):
            return False
        together = table.unknown(values, low, high)
        if together.size:
            table.insert(together, self._number(together))
        return bool(together.size)

    # -- several integers in a word ----------------------------------------------------------------------------------

    def _packed(self, columns: Sequence[pl.Series]) -> Int64s | None:
        """The word of each row; None from the first time on that keys have no room in one, or a NULL among them."""
        if not len(columns[0]):
            return np.empty(0, np.int64)
        values = None if any(c.null_count() for c in columns) else [ints(c) for c in columns]
        packed = None if values is None or self._words is None else self._words.packed(values)
        if packed is None and values is not None:
            packed = self._renewed(values)
        if packed is None:
            self._leave_words()
            return None
        return packed[0]

    def _renewed(self, values: Sequence[Int64s]) -> tuple[Int64s, ...] | None:
        """Words in which these have room as well as all keys that have a slot."""
        live, held = self.used, [np.empty(0, np.int64)] * len(values)
        if live.size and self._words is not None:
            held = [self._words.column(n, [self._numbers[live]]) for n in range(len(values))]
        both = [np.append(one, other) for one, other in zip(held, values, strict=True)]
        words = _one_word([(int(c.min()), int(c.max())) for c in both])
        packed = None if words is None else words.packed(values)
        if words is None or packed is None:
            return None
        self._words = words
        if live.size:
            again = words.packed(held)
            assert again is not None
            self._numbers[live] = again[0]
            self._table = HashTable(spare=self._spare)
            self._table.insert(again[0], live)
        return packed

    def _leave_words(self) -> None:
        """Keys as rows from now on."""
        live = self.used
        if live.size:
            self._rows.add(frame_of([c.alias(n) for n, c in zip(self._names, self.gather(live), strict=True)]), live)
        self._in_words, self._words, self._numbers = False, None, np.empty(0, np.int64)
        self._rehash()

    def _unpacked(self, words: Int64s) -> list[pl.Series]:
        if self._words is None:
            return [pl.Series(n, [], dtype=t) for n, t in zip(self._names, self._types, strict=True)]
        columns = (self._words.column(n, [words]) for n in range(len(self._names)))
        return [_from_ints(c, t).alias(n) for c, n, t in zip(columns, self._names, self._types, strict=True)]

    def _find_rows(self, rows: pl.DataFrame) -> Int64s:
        # by hash, then compared: 3.7 + 15 + 25 ns a row; encoding strings as a dictionary first took 80 to 450
        hashes = _hash(rows, self._seed)
        found = self._table.lookup(hashes)
        unknown = np.flatnonzero(found == EMPTY)
        compared, slots = rows, found
        if unknown.size:
            missing = hashes[unknown]
            first = self._table.first_seen(missing)
            new = self._allocate(first.size)
            self._rows.add(rows_at(rows, unknown[first]), new)
            self._table.insert(missing[first], new)
            found[unknown] = new if new.size == missing.size else self._table.lookup(missing)
            if 2 * new.size > found.size:  # what has been put there is what it is
                others = np.ones(found.size, np.bool_)
                others[unknown[first]] = False
                compared, slots = rows_where(rows, others), found[others]
        if slots.size and not _same(compared, self.gather(slots)):
            # two keys, one 64-bit hash: take another hash function. Expected once in 10^5 years at 10^6 groups
            self._rehash()
            return self._find_rows(rows)
        return found

    def _hashes(self, slots: Int64s) -> Int64s:
        return _hash(pl.DataFrame(self.gather(slots)), self._seed)

    def _rehash(self) -> None:
        self._seed += 1
        live = np.flatnonzero(self._live[: self.capacity])
        table = HashTable(spare=self._spare)
        if live.size:
            table.insert(self._hashes(live), live)
        self._table = table

    def _number(self, values: Int64s) -> Int64s:
        """Slots for new values of the one integral column."""
        slots = self._allocate(values.size)
        self._numbers = longer(self._numbers, self.capacity)
        self._numbers[slots] = values
        return slots

    def _allocate(self, count: int) -> Int64s:
        """Slots for so many new groups, used ones first."""
        pieces, missing = [], count
        while missing and self._free:
            piece = self._free.pop()
            if piece.size > missing:
                self._free.append(piece[:-missing])
                piece = piece[-missing:]
            pieces.append(piece)
            missing -= piece.size
        self._freed -= count - missing
        pieces.append(np.arange(self.capacity, self.capacity + missing))
        self.capacity += missing
        self._live = grown(self._live, self.capacity)
        slots = np.concatenate(pieces)
        self._live[slots] = True
        return slots

    def check(self) -> None:
        """Raise AssertionError unless slots, values and table agree."""
        live = np.flatnonzero(self._live[: self.capacity])
        assert live.size == self.live
        assert sum(p.size for p in self._free) == self._freed
        assert not any(self._live[p].any() for p in self._free)
        if not self._by_numbers:
            self._rows.check(self._live[: self.capacity])
        if live.size:
            assert np.array_equal(self.encode(self.gather(live)), live)


def _is_integral(dtype: pl.DataType) -> bool:
    return dtype.is_integer() or dtype.is_temporal() or isinstance(dtype, pl.Boolean)


def _one_word(ranges: Sequence[tuple[int, int]]) -> KeyWords | None:
    """One word for columns of these least and greatest values, with what room there can be beside; None where there is none."""
    for spare in _ROOM:
        found = KeyWords.of([(low - (high - low + 1) * spare, high + (high - low + 1) * spare) for low, high in ranges])
        if found is not None and len(found.words) == 1:
            return found
    return None


def _from_ints(values: Int64s, dtype: pl.DataType) -> pl.Series:
    series = pl.Series(values)
    return series.cast(pl.Int32).cast(dtype) if isinstance(dtype, pl.Date) else series.cast(dtype)


def _hash(frame: pl.DataFrame, seed: int) -> Int64s:
    return frame.hash_rows(seed=seed).to_numpy().view(np.int64)


def _same(rows: pl.DataFrame, columns: Sequence[pl.Series]) -> bool:
    return all(one.equals(other) for one, other in zip(rows.get_columns(), columns, strict=True))


def _normal(column: pl.Series) -> pl.Series:
    """Floats with one zero and one NaN, so that equal values have equal bits."""
    if not column.dtype.is_float():
        return column
    return (column + 0.0).fill_nan(float("nan"))
