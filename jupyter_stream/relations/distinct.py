"""DISTINCT over rows whose ends are known: δ* (update-patterns paper §5.3.1). Keeps the output and the youngest duplicate only.

For each value: until when it was given (the output's end, by which it stands in an expiry partition), and until when it is known
to live (the end of the youngest row with it). When the first comes the second takes over; the input is not kept. Rows wait until
a punctuation has passed them, so that their order means nothing. Not for negative rows: those are counted (`BagsOperator`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from jupyter_stream.arrays.growing import grown
from jupyter_stream.arrays.order import order_of
from jupyter_stream.arrays.rows import Bag, columns_of, frame_of, shown, with_column
from jupyter_stream.arrays.runs import run_starts
from jupyter_stream.arrays.walking import nth
from jupyter_stream.core.axis import between, plus
from jupyter_stream.core.messages import SIGN, TS, UNTIL, Batch, Int64s, Message, ints
from jupyter_stream.core.schema import Schema
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.flow.at_instants import AtInstants
from jupyter_stream.flow.protocol import Recall
from jupyter_stream.keys.slots import KeySlots
from jupyter_stream.plan.upkeep import PARTITIONS
from jupyter_stream.relations.expiry import Calendar

_CHECK_ABOVE = 1024
_SLOT = "slot"


@dataclass(frozen=True)
class DistinctConfig:
    """What is made distinct.

    Attributes:
        schema: the columns, all of them compared; NULLs are equal.
        longest: how long rows live at most, microseconds.
        ends: whether they carry their own ends in `$until`; otherwise all live for `longest`.
        lives: whether rows are given with their ends, rather than as changes.
        partitions: expiry partitions.
        name: for EXPLAIN.
    """

    schema: Schema
    longest: int
    ends: bool = False
    lives: bool = False
    partitions: int = PARTITIONS
    name: str = "distinct"


class DistinctOperator(AtInstants):
    """Each value once while a row with it lives: changes (`$sign`), or stretches of its life (`$until`), one after the other."""

    def __init__(self, config: DistinctConfig) -> None:
        super().__init__(config.name)
        self._config = config
        self._names = list(config.schema.names)
        self._slots = KeySlots([(f.name, f.dtype) for f in config.schema], spare=2)
        self._youngest = np.empty(0, np.int64)  # slot -> end of the youngest row, MIN_TIME where there is none
        self._output = Calendar(config.longest, config.partitions)
        self.control.settings["partitions"] = config.partitions
        self._checked = 0

    def head(self, most: int) -> pl.DataFrame:
        """Some values that are alive; then rows whose time has not come."""
        slots = np.flatnonzero(self._youngest[: self._slots.capacity] != MIN_TIME)[:most]
        alive = self._rows(slots, UNTIL, self._youngest[slots])
        return shown((*([] if alive is None else [alive]), *self._waiting[0]), most)

    @property
    def waits_for(self) -> int:
        """Also when the first value ends, at the earliest."""
        return min(super().waits_for, plus(self._output.first_end, 1))

    def take(self, port: int, frame: pl.DataFrame) -> Iterable[Message]:
        """Only the columns that are compared, and when they end."""
        self.keep(port, columns_of(frame, [*self._names, TS, *([UNTIL] if self._config.ends else [])]))
        return ()

    def step(self, due: Sequence[pl.DataFrame | None], until: int) -> Iterable[Message]:
        """Give the values that come and go."""
        self._output.divide(int(self.control.settings["partitions"]))
        made = self._release(due[0], until)
        return () if made is None else (Batch(made),)

    def _release(self, due: pl.DataFrame | None, until: int) -> pl.DataFrame | None:
        slots, times, ends = self._sorted(due)
        # until when the value was known to live before each row came, and after
        first = run_starts(slots)
        before, after = self._covered(slots, ends, first)
        starts = np.flatnonzero(times > before)  # where one stretch ends at the very time of a row, it goes on
        last = np.append(first[1:], slots.size) - 1 if first.size else first
        own = slots[first]
        was = self._youngest[own]
        self._youngest[own] = after[last]
        opened = own[was == MIN_TIME]
        if self._config.lives:
            self._enter(opened)
            return self._stretches(until, slots, times, before, after, starts, first)
        gaps = starts[before[starts] != MIN_TIME]
        gone, at = self._leave(until, opened)
        given = np.concatenate([slots[gaps], gone, slots[starts]])
        when = np.concatenate([before[gaps], at, times[starts]])
        sign = np.repeat(np.array([-1, 1], np.int8), [gaps.size + gone.size, starts.size])
        order = order_of(when)  # leaving rows stay before entering ones
        frame = self._rows(given[order], TS, when[order])
        self._forget()
        return None if frame is None else with_column(frame, SIGN, sign[order])

    def _sorted(self, due: pl.DataFrame | None) -> tuple[Int64s, Int64s, Int64s]:
        """Slots, times and ends of rows, by slot and time; without those that only make a value live on."""
        if due is None:
            nothing = np.empty(0, np.int64)
            return nothing, nothing, nothing
        slots = self._slots.encode(due.get_columns()[: len(self._names)])
        self._youngest = grown(self._youngest, self._slots.capacity, MIN_TIME)
        times = ints(due.get_column(TS))
        longest = self._config.longest
        ends = ints(due.get_column(UNTIL)) if self._config.ends else plus(times, longest)
        lasts = self._youngest[slots] >= int(times.max())
        if lasts.any():  # values known to live until all rows have come: no gap, and no order to look for one in
            np.maximum.at(self._youngest, slots[lasts], ends[lasts])
            slots, times, ends = slots[~lasts], times[~lasts], ends[~lasts]
        order = order_of(slots, times)
        return slots[order], times[order], ends[order]

    def _covered(self, slots: Int64s, ends: Int64s, first: Int64s) -> tuple[Int64s, Int64s]:
        if not slots.size:
            return ends, ends
        if self._config.ends:
            known = pl.DataFrame([pl.Series(_SLOT, slots), pl.Series(UNTIL, ends)])
            ends = ints(known.select(pl.col(UNTIL).cum_max().over(_SLOT)).to_series())
        known_before = self._youngest[slots]
        after = np.maximum(ends, known_before)
        before = np.append(MIN_TIME, after[:-1])
        before[first] = known_before[first]
        return before, after

    def _enter(self, slots: Int64s) -> None:
        self._output.insert(slots, self._youngest[slots])

    def _leave(self, until: int, opened: Int64s) -> tuple[Int64s, Int64s]:
        """Values that are in the answer no more, and since when; where there is a younger row it takes over.

        Those that have come just now (`opened`) are entered together with these.
        """
        due, _ = self._output.expire(until)
        slots = np.concatenate([due, opened])
        over = self._youngest[slots] < until
        self._enter(slots[~over])
        gone = slots[over]
        at = self._youngest[gone]
        self._youngest[gone] = MIN_TIME
        return gone, at

    def _stretches(
        self,
        until: int,
        slots: Int64s,
        times: Int64s,
        before: Int64s,
        after: Int64s,
        starts: Int64s,
        first: Int64s,
    ) -> pl.DataFrame | None:
        """New stretches of life, and those that follow on one that has been given; none longer than a row lives."""
        opens = np.union1d(starts, first)  # the rows a stretch begins with, or a value
        stop = np.append(opens[1:], slots.size) - 1 if opens.size else opens
        made = [(slots[starts], times[starts], after[stop[np.isin(opens, starts)]])]
        gap = starts[before[starts] != MIN_TIME]
        closed = gap[np.isin(gap, first)] if gap.size else gap  # a stretch of former times that ended before a new one
        inside = starts[~np.isin(starts, first)]
        # the first gap of a value whose stretch went on for some rows
        head = np.searchsorted(first, inside, "right") - 1
        new = times[first[head]] > before[first[head]]
        _, at = np.unique(head[~new], return_index=True)
        later = inside[~new][at]
        ended = dict(zip(slots[closed].tolist(), before[closed].tolist(), strict=True))
        ended |= dict(zip(slots[later].tolist(), before[later].tolist(), strict=True))
        mine, was = self._output.expire(until)
        if mine.size:
            known = self._youngest[mine].copy()
            if ended:
                keys = np.array(list(ended), np.int64)
                values = np.array(list(ended.values()), np.int64)
                order = np.argsort(keys)
                place = np.minimum(np.searchsorted(keys[order], mine), keys.size - 1)
                hit = keys[order][place] == mine
                known[hit] = values[order][place][hit]
            more = known > was
            made.append((mine[more], was[more], known[more]))
            over = self._youngest[mine] < until
            if not over.all():
                self._enter(mine[~over])
            self._youngest[mine[over]] = MIN_TIME
        which, begin, end = (np.concatenate(parts) for parts in zip(*made, strict=True))
        which, begin, end = _cut(which, begin, end, self._config.longest)
        frame = self._rows(which, TS, begin)
        self._forget()
        return None if frame is None else with_column(frame, UNTIL, end)

    def _rows(self, slots: Int64s, name: str, when: Int64s) -> pl.DataFrame | None:
        if not slots.size:
            return None
        columns = [c.alias(n) for c, n in zip(self._slots.gather(slots), self._names, strict=True)]
        return frame_of([*columns, pl.Series(name, when)])

    def _forget(self) -> None:
        """Give up values nobody holds: looked for when enough have come since."""
        if self._reached != MAX_TIME and self._slots.live < 2 * self._checked + _CHECK_ABOVE:
            return
        self._slots.release(self._youngest[: self._slots.capacity] != MIN_TIME)
        if not self._slots.capacity:
            self._youngest = self._youngest[:0].copy()
        self._checked = self._slots.live

    def recalls(self) -> Recall | None:
        """The rows that wait or live, of each value the youngest; and how far its stretches have been given."""
        if self._reached in (MIN_TIME, MAX_TIME):
            return None
        since = min(self.since, plus(self._reached, -self._config.longest))
        if not self._config.lives:
            return Recall(since)
        slots, ends = self._output.held
        given = self._rows(slots, UNTIL, ends)
        return Recall(since, None if given is None else Bag(given))

    def report(self) -> None:
        """And how many values are alive, and rows wait."""
        self.holds(self._slots.bytes + self._youngest.nbytes + self._output.bytes)
        self.control.extra["live_values"] = self._output.entries
        self.control.most("most_values", self._output.entries)
        self.control.extra["waiting_rows"] = self.waiting_rows

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        self._output.check()
        assert int((self._youngest != MIN_TIME).sum()) == self._output.entries


def _cut(slots: Int64s, begin: Int64s, end: Int64s, longest: int) -> tuple[Int64s, Int64s, Int64s]:
    """Stretches of at most a length, one after the other."""
    many = -(-between(end, begin) // longest)
    if not (many > 1).any():
        return slots, begin, end
    slots, first, last = np.repeat(slots, many), np.repeat(begin, many), np.repeat(end, many)
    begin = first + nth(many) * longest
    return slots, begin, np.minimum(plus(begin, longest), last)


__all__ = ["DistinctConfig", "DistinctOperator"]
