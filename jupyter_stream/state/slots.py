"""Grouping keys as dense integers: each live group has a slot; slots of groups nobody needs any more are used again.

Any mix of column types, NULLs among them. Equality is exact: where keys are found by hash, the values are compared.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from jupyter_stream.core.messages import Int64s, ints
from jupyter_stream.state.hash_table import EMPTY, DirectTable, HashTable

_COMPACT_ABOVE = 1024


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
        self._seed = 0
        self._values = pl.DataFrame(schema=dict(schema))
        self._clear()

    def _clear(self) -> None:
        self._table = DirectTable() if self._integral else HashTable(spare=self._spare)
        self._null = EMPTY
        self._values = self._values.clear()
        self._at = np.empty(0, np.int64)  # slot -> row of _values
        self._live = np.empty(0, np.bool_)
        self._free = np.empty(0, np.int64)
        self._numbers: Int64s | None = None  # the one integral column of _values as an array, as far as `_numbered`
        self._numbered = 0
        self.capacity = 0

    @property
    def live(self) -> int:
        """Groups that have a slot."""
        return self.capacity - self._free.size

    @property
    def used(self) -> Int64s:
        """The slots of groups that have one."""
        return np.flatnonzero(self._live[: self.capacity])

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return (
            self._table.bytes
            + int(self._values.estimated_size())
            + self._at.nbytes
            + self._live.nbytes
            + self._free.nbytes
            + (0 if self._numbers is None else self._numbers.nbytes)
        )

    def encode(self, columns: Sequence[pl.Series]) -> Int64s:
        """The slot of each row; new groups get one. `columns` are the grouping columns, in order."""
        if self._integral:
            return self._encode_ints(columns[0])
        return self._find_rows(pl.DataFrame([_normal(c).alias(n) for n, c in zip(self._names, columns, strict=True)]))

    def takes_numbers(self, columns: Sequence[pl.Series]) -> bool:
        """Whether `find` serves these grouping columns."""
        return self._integral and not columns[0].null_count()

    def gather(self, slots: Int64s) -> list[pl.Series]:
        """The grouping columns of the given slots."""
        if self._integral and self._null == EMPTY:
            # 2 ns a slot; Polars' gather takes 80 µs a call and 10 ns
            name = self._names[0]
            return [_from_ints(self._integers()[self._at[slots]], self._values.schema[name]).alias(name)]
        if self._values.n_chunks() > 8:
            self._values = self._values.rechunk()
        rows = pl.Series(self._at[slots])
        return [self._values.get_column(name).gather(rows) for name in self._names]

    def _integers(self) -> Int64s:
        """The one integral column of `_values` as numbers, 0 where it is NULL."""
        height = self._values.height
        if self._numbers is None or self._numbered < height:
            new = self._values.get_column(self._names[0])[0 if self._numbers is None else self._numbered :]
            found = np.zeros(new.len(), np.int64)
            found[new.is_not_null().to_numpy()] = ints(new.drop_nulls())
            if self._numbers is None or self._numbers.size < height:
                grown = np.empty(max(1024, height + height // 2), np.int64)
                grown[: height - found.size] = 0 if self._numbers is None else self._numbers[: height - found.size]
                self._numbers = grown
            self._numbers[height - found.size : height] = found
            self._numbered = height
        return self._numbers

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

    def release_some(self, first: int, live: np.ndarray) -> None:
        """Free those slots from `first` on that are not live (`live` is a mask over as many). Time goes by them alone."""
        if isinstance(self._table, DirectTable):
            whole = self._live[: self.capacity].copy()
            whole[first : first + live.size] &= live[: self.capacity - first]
            self.release(whole)
            return
        slots = first + np.flatnonzero(self._live[first : first + live.size] & ~live)
        if not slots.size:
            return
        if self._null != EMPTY and np.isin(self._null, slots):
            self._live[self._null] = False
            self._give_back(np.array([self._null]))
            slots = slots[slots != self._null]
            self._null = EMPTY
        if self._integral:
            numbers = self._integers()
            self._table.remove(numbers[self._at[slots]])
        else:
            self._table.remove(_hash(self._rows(slots), self._seed))
        self._live[slots] = False
        self._give_back(slots)

    def _give_back(self, slots: Int64s) -> None:
        self._free = np.concatenate([self._free, slots])
        if self._values.height > 2 * self.live + _COMPACT_ABOVE:
            kept = np.flatnonzero(self._live[: self.capacity])
            self._values = self._values[pl.Series(self._at[kept])].rechunk()
            self._numbers = None
            self._at[kept] = np.arange(kept.size)

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
        self._at = self._at[old]
        self._live = np.ones(old.size, np.bool_)
        self._free = np.empty(0, np.int64)
        self.capacity = old.size
        return old

    def _encode_ints(self, column: pl.Series) -> Int64s:
        valid = None
        if column.null_count():
            valid = column.is_not_null().to_numpy()
            values = ints(column.drop_nulls())
        else:
            values = ints(column)
        found = self.find(values, column.dtype) if values.size else np.empty(0, np.int64)
        if valid is None:
            return found
        if self._null == EMPTY:
            self._null = int(self._allocate(pl.DataFrame({self._names[0]: pl.Series([None], dtype=column.dtype)}))[0])
        slots = np.full(len(column), self._null, np.int64)
        slots[valid] = found
        return slots

    def find(self, values: Int64s, dtype: pl.DataType) -> Int64s:
        """`encode` for one integral column without NULLs, given as numbers."""
        if isinstance(self._table, DirectTable):
            found = self._table.lookup_all(values)
            if found is not None:
                return found
        if isinstance(self._table, DirectTable) and not self._table.covers(int(values.min()), int(values.max())):
            table = HashTable(spare=self._spare)
            table.insert(*self._table.items())
            self._table = table
        found = self._table.lookup(values)
        if int(found.min()) == EMPTY:
            unknown = found == EMPTY
            missing = values[unknown]
            # in the order they come: hot keys come early, and their slots then share cache lines, which makes updates
            # under a Zipf law 1.3 to 1.5 times faster
            new = missing[self._table.first_seen(missing)]
            slots = self._allocate(pl.DataFrame({self._names[0]: _from_ints(new, dtype)}))
            self._table.insert(new, slots)
            found[unknown] = slots if new.size == missing.size else self._table.lookup(missing)
        return found

    def _find_rows(self, rows: pl.DataFrame) -> Int64s:
        # by hash, then compared: 3.7 + 15 + 25 ns a row; encoding strings as a dictionary first took 80 to 450
        hashes = _hash(rows, self._seed)
        found = self._table.lookup(hashes)
        unknown = np.flatnonzero(found == EMPTY)
        if unknown.size:
            missing = hashes[unknown]
            first = self._table.first_seen(missing)
            self._table.insert(missing[first], self._allocate(rows[pl.Series(unknown[first])]))
            found[unknown] = self._table.lookup(missing)
        if not _same(rows, self._rows(found)):
            # two keys, one 64-bit hash: take another hash function. Expected once in 10^5 years at 10^6 groups
            self._rehash()
            return self._find_rows(rows)
        return found

    def _rows(self, slots: Int64s) -> pl.DataFrame:
        return pl.DataFrame(self.gather(slots))

    def _rehash(self) -> None:
        self._seed += 1
        live = np.flatnonzero(self._live[: self.capacity])
        table = HashTable(spare=self._spare)
        if live.size:
            table.insert(_hash(self._rows(live), self._seed), live)
        self._table = table

    def _allocate(self, rows: pl.DataFrame) -> Int64s:
        count = rows.height
        reused = self._free[self._free.size - min(count, self._free.size) :]
        self._free = self._free[: self._free.size - reused.size]
        fresh = np.arange(self.capacity, self.capacity + count - reused.size)
        self.capacity += fresh.size
        if self.capacity > self._at.size:
            grown = max(1024, 2 * self.capacity)
            self._at = np.concatenate([self._at, np.zeros(grown - self._at.size, np.int64)])
            self._live = np.concatenate([self._live, np.zeros(grown - self._live.size, np.bool_)])
        slots = np.concatenate([reused, fresh])
        self._at[slots] = np.arange(self._values.height, self._values.height + count)
        self._live[slots] = True
        self._values = self._values.vstack(rows)
        return slots

    def check(self) -> None:
        """Raise AssertionError unless slots, values and table agree."""
        live = np.flatnonzero(self._live[: self.capacity])
        assert live.size == self.live
        assert np.intersect1d(live, self._free).size == 0
        if live.size:
            assert np.array_equal(self.encode(self.gather(live)), live)


def _is_integral(dtype: pl.DataType) -> bool:
    return dtype.is_integer() or dtype.is_temporal() or isinstance(dtype, pl.Boolean)


def _from_ints(values: Int64s, dtype: pl.DataType) -> pl.Series:
    series = pl.Series(values)
    return series.cast(pl.Int32).cast(dtype) if isinstance(dtype, pl.Date) else series.cast(dtype)


def _hash(frame: pl.DataFrame, seed: int) -> Int64s:
    return frame.hash_rows(seed=seed).to_numpy().view(np.int64)


def _same(left: pl.DataFrame, right: pl.DataFrame) -> bool:
    for a, b in zip(left.columns, right.columns, strict=True):
        one, other = left.get_column(a), right.get_column(b)
        if one.null_count() or other.null_count() or one.dtype.is_nested():
            if not one.eq_missing(other).all():
                return False
        elif not (one == other).all():  # eq_missing goes through Polars' planner
            return False
    return True


def _normal(column: pl.Series) -> pl.Series:
    """Floats with one zero and one NaN, so that equal values have equal bits."""
    if not column.dtype.is_float():
        return column
    return (column + 0.0).fill_nan(float("nan"))
