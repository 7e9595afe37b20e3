"""Values that were something until a time: very many, added in bulk, looked up in bulk, forgotten as time goes on.

For a whole number 16 bytes are kept, the number and the time; for another value 24: two hashes of 64 bits and the time. Two
values are taken for one if they share 128 bits of hash, which is expected for none of 10^15 values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from jupyter_stream.core.messages import Int64s, ints
from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.keys.slots import _is_integral, _normal

_SEEDS = (0x5EED, 0xFEED)


@dataclass(frozen=True)
class _SortedValues:
    """Values sorted by their number or first hash; the second hash; until when."""

    ids: Int64s
    checks: Int64s | None
    until: Int64s

    @property
    def bytes(self) -> int:
        return self.ids.nbytes + self.until.nbytes + (0 if self.checks is None else self.checks.nbytes)


class Remembered:
    """Values of one type without NULLs, each with a time, the latest it was added with.

    Args:
        dtype: of the values.
    """

    def __init__(self, dtype: pl.DataType) -> None:
        self._integral = _is_integral(dtype)
        self._runs: list[_SortedValues] = []  # each at most half as long as the one before it

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return sum(run.bytes for run in self._runs)

    def __len__(self) -> int:
        return sum(run.ids.size for run in self._runs)

    def add(self, values: pl.Series, until: Int64s, now: int) -> None:
        """Remember values until times, and forget those whose time is not after `now`, sooner or later."""
        ids, checks = self._numbers(values)
        order = np.argsort(ids)
        run = _SortedValues(ids[order], None if checks is None else checks[order], until[order])
        self._runs = [r for r in self._runs if int(r.until.max()) > now]
        while self._runs and self._runs[-1].ids.size < 2 * run.ids.size:
            run = _merged(self._runs.pop(), run, now)
        if run.ids.size:
            self._runs.append(run)

    def clear(self) -> None:
        """Forget all."""
        self._runs.clear()

    def find(self, values: pl.Series) -> Int64s:
        """Until when each value is remembered; MIN_TIME for those that aren't."""
        found = np.full(len(values), MIN_TIME)
        if not self._runs:
            return found
        ids, checks = self._numbers(values)
        for run in self._runs:
            # a value may have been added several times: the last of a run's equal ids has the latest time
            at = np.maximum(np.searchsorted(run.ids, ids, "right") - 1, 0)
            same = run.ids[at] == ids
            if run.checks is not None and checks is not None:
                same &= run.checks[at] == checks
            found = np.where(same, np.maximum(found, run.until[at]), found)
        return found

    def _numbers(self, values: pl.Series) -> tuple[Int64s, Int64s | None]:
        if self._integral:
            return ints(values.cast(pl.Int64) if values.dtype == pl.Boolean else values), None
        one, two = (_normal(values).hash(seed).to_numpy().view(np.int64) for seed in _SEEDS)
        return one, two


def _merged(old: _SortedValues, new: _SortedValues, now: int) -> _SortedValues:
    ids = np.concatenate([old.ids, new.ids])
    until = np.concatenate([old.until, new.until])
    checks = None if old.checks is None or new.checks is None else np.concatenate([old.checks, new.checks])
    keep = until > now
    if not keep.all():
        ids, until, checks = ids[keep], until[keep], None if checks is None else checks[keep]
    order = np.lexsort((until, ids))
    return _SortedValues(ids[order], None if checks is None else checks[order], until[order])
