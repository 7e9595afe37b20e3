"""Selections, and the input of aggregates, with a budget (promising-tuples paper §4.2, §4.3): the most promising rows first.

A probe looks at one row. What the predicate says of values that the summary knows is asked of the values, once each, the most
promising first, and rows that can't qualify are never looked at. Rows that wait hold the punctuation back: what comes after sees
them late by no promise.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from jupyter_stream.arrays.rows import rows_at, shown, together
from jupyter_stream.budget.promises import (
    MEMORY,
    REST_PROBES,
    UNKNOWN,
    Allowance,
    Promise,
    Promises,
    sampled,
    scored,
)
from jupyter_stream.budget.time_slots import SummaryKeeper
from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.coverage import Coverage
from jupyter_stream.core.messages import BROKEN, TS, Batch, Int64s, Message, Punctuation, Rest, Tick, ints
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.flow.evaluate import Evaluator
from jupyter_stream.functions.expression import Expr
from jupyter_stream.plan.preference import Preference
from jupyter_stream.summaries.hashing import mixed
from jupyter_stream.summaries.priorities import TakenEntries
from jupyter_stream.summaries.protocol import Float64s, Items

_PLACE: Final = "$place"
KNOWN: Final = 65_536
"""Values remembered as asked about; a value that is asked about again after so many others is paid for again."""


ASKED: Final = 0.5
"""How much of a budget in probes goes to values not asked about while there are rows enough that may qualify."""
AT_ONCE: Final = 16
"""Slots whose rows are got ready together, where there is no time to do it slot by slot."""
OPEN: Final = 16
"""Estimates are given anew when one slot in so many of those open has come since."""


@dataclass(frozen=True)
class PromisingRowsConfig:
    """A selection with a budget.

    Attributes:
        preference: what comes first; None for a uniform sample.
        promise: what the summary says of rows' values; None without a preference.
        of_value: the part of the predicate that is about values of the summary alone; None without.
        predicate: all of it; None without.
        extent: length of the extents of an aggregate that is to give estimates of what it has while rows wait, microseconds; None
            for a selection.
    """

    preference: Preference | None
    promise: Promise | None
    of_value: Expr | None
    predicate: Expr | None
    extent: int | None = None


@dataclass(eq=False)
class _Chunk:
    """Rows of a slot, some of which wait."""

    frame: pl.DataFrame
    low: int
    left: int
    bytes: int


@dataclass(frozen=True, slots=True)
class _SlotRows:
    """Rows of a slot before they are got ready, and when it ends."""

    end: int
    low: int
    frame: pl.DataFrame
    bytes: int


class PromisingRows:
    """Rows for which the predicate is true, those first that the preference asks for."""

    def __init__(self, config: PromisingRowsConfig, keeper: Callable[[], SummaryKeeper]) -> None:
        kind = "a uniform sample" if config.preference is None else str(config.preference)
        self.control = ControlTable(f"promising rows, {kind}")
        self.control.settings |= {"probes_per_row": 0.0, "rest_probes": REST_PROBES, "memory_limit": MEMORY}
        self.synopses: list[ControlTable] = []
        self.promises = Promises(config.preference)
        self.reached = MIN_TIME
        """How far the stream has come, whatever still waits."""
        self._config = config
        self._keeper = keeper
        self._of_value = None if config.of_value is None else Evaluator([config.of_value])
        self._predicate = None if config.predicate is None else Evaluator([config.predicate])
        self._slot: list[pl.DataFrame] = []
        self._due: deque[_SlotRows] = deque()
        self._put_off = 0  # rows of these
        self._put_off_bytes = 0
        self.got_ready = 0
        """Rows that were, and"""
        self.rounds = 0
        """in how many times."""
        self._chunks: dict[int, _Chunk] = {}
        self._named = 0
        self._bytes = 0  # of the rows of chunks
        self._purse = 0.0
        self.allowance: Allowance | None = None
        self._slots_seen: dict[int, tuple[int, int]] = {}  # by their first row's time: rows, and those looked at
        self._untold = 0  # slots since estimates were given
        self._known = np.empty(0, np.uint64)
        self._may_so_far = 0  # values asked about that may qualify, and
        self._asked_so_far = 0  # all that were
        self._said = MIN_TIME

    # -- what the engine sees --------------------------------------------------------------------------------------------

    @property
    def due(self) -> list[int]:
        """Rows of the slots that are over and have not been got ready, oldest first."""
        return [came.frame.height for came in self._due]

    @property
    def left(self) -> int:
        """Rows that wait."""
        return self.promises.left + self._put_off

    @property
    def probes(self) -> int:
        """Rows looked at."""
        return self.promises.probes

    @property
    def coverage(self) -> Coverage:
        """The share of the exact answer given so far."""
        rows = self._put_off
        return self.promises.coverage(unseen=rows / (rows + self.got_ready) if rows else 0.0)

    def take_up(self, probes: int) -> Iterator[Message]:
        """Look at some of the rows that wait; where some have not been got ready, at some of these."""
        if not self._due or self.allowance is None:
            yield from self._take(probes)
        elif many := self.allowance.ready(self.due[:AT_ONCE]):
            yield from self._round(many)
            yield from self._promise()

    def _take(self, probes: int) -> Iterator[Message]:
        if self._due:
            yield from self._round(AT_ONCE)
        taken = self.promises.take(probes)
        if taken is not None:
            yield from self._look_at(taken)
        if self.allowance is not None:
            self.allowance.made()
        yield from self._promise()

    def share(self, low: int, high: int) -> float:
        """The share of the rows with `low <= ts < high` that was looked at, by whole slots."""
        slots = [(many, seen) for at, (many, seen) in self._slots_seen.items() if low <= at < high]
        many = sum(m for m, _ in slots)
        return sum(s for _, s in slots) / many if many else 1.0

    # -- rows and time -----------------------------------------------------------------------------------------------------

    def head(self, most: int) -> pl.DataFrame:
        """The first rows that wait to be looked at."""
        waiting = (*(c.frame for c in self._chunks.values()), *(c.frame for c in self._due), *self._slot)
        return shown(waiting, most)

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Keep the rows of a slot until it is over; late ones are looked at as they come."""
        if BROKEN in batch.frame.columns:
            yield from self._selected(batch.frame)
        else:
            self._slot.append(batch.frame)

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Look at the most promising of the rows that wait; in the end at all that are left."""
        self.reached = punctuation.value
        if self._slot:
            frame = together(self._slot)
            self._slot = []
            low = int(ints(frame.get_column(TS)).min())
            self._due.append(_SlotRows(punctuation.value, low, frame, int(frame.estimated_size())))
            self._put_off += frame.height
            self._put_off_bytes += self._due[-1].bytes
            self._slots_seen[low] = (frame.height, 0)
        yield from self._look_for()
        if punctuation.value == MAX_TIME:
            while self.left:
                yield from self._take(int(self.control.settings["rest_probes"]))
                yield Rest()
        elif self._config.extent is not None and self.left:
            # an estimate is of all open extents: where they are many it waits for some more, so that all the work stays in
            # proportion to the extents, not to their square
            self._untold += 1
            if self._untold * OPEN >= len(self._slots_seen):
                self._untold = 0
                yield Tick(punctuation.value)
        yield from self._promise()

    def on_tick(self, tick: Tick) -> Iterator[Message]:
        """Pass it on."""
        yield tick

    def _promise(self) -> Iterator[Message]:
        """Rows to come are no older than those that wait."""
        oldest = next(iter(self._chunks.values()), None)  # they come slot by slot
        waiting = [*(() if oldest is None else (oldest.low,)), *(came.low for came in self._due)]
        said = min((self.reached, *waiting))
        self._report()
        if said > self._said:
            self._said = self.control.low_watermark = said
            yield Punctuation(said)
        keep = self._config.extent or 0
        while self._slots_seen and (first := next(iter(self._slots_seen))) < said - keep:
            del self._slots_seen[first]

    # -- a slot --------------------------------------------------------------------------------------------------------------

    def _look_for(self) -> Iterator[Message]:
        """Get rows ready and look at some, unless there is no time even to begin."""
        limit = int(self.control.settings["memory_limit"])
        while self._due:
            many = 1
            if self.allowance is not None:
                full = self.promises.bytes + self._bytes + self._put_off_bytes > limit
                many = max(self.allowance.ready(self.due[:AT_ONCE]), AT_ONCE if full else 0)
                if not many:
                    break
            yield from self._round(many)

    def _round(self, many: int) -> Iterator[Message]:
        """Get the rows of the first so many slots ready, and look at the most promising of all that wait."""
        came = [self._due.popleft() for _ in range(min(many, len(self._due)))]
        rows = sum(c.frame.height for c in came)
        self._put_off -= rows
        self._put_off_bytes -= sum(c.bytes for c in came)
        self.got_ready += rows
        self.rounds += 1
        self._keeper().advance(came[-1].end)
        if self.allowance is None:
            self._purse += float(self.control.settings["probes_per_row"]) * rows
        if self._config.extent is None:  # of several slots at once: each time costs much whatever the rows
            self._get_ready(together([c.frame for c in came]))
        else:
            for each in came:
                self._get_ready(each.frame)
        if self.allowance is not None:
            self._purse, taken = self.promises.take_in_time(self.allowance)
        else:
            taken = self.promises.take(self._purse)
        if taken is not None:
            self._purse -= len(taken)
            yield from self._look_at(taken)
        if self.allowance is not None:
            self.allowance.made()
        if not self.left:
            self._purse = min(self._purse, 0.0)
        limit = int(self.control.settings["memory_limit"])
        while self.promises.left and self.promises.bytes + self._bytes > limit:
            for number, gone in zip(*(a.tolist() for a in self.promises.let_go_of_oldest("chunk")), strict=True):
                self._done(number, gone)

    def _get_ready(self, frame: pl.DataFrame) -> None:
        """Say what each row promises. Those that can't qualify are done with."""
        times = ints(frame.get_column(TS))
        low, high = int(times.min()), int(times.max())
        rows = np.arange(frame.height)
        if self._config.promise is None:
            self._push(frame, rows, np.ones(rows.size), np.ones(rows.size), mixed(rows.astype(np.uint64)))
            return
        asked, which = self._config.promise.ask_once(frame)
        items = asked.items[0]
        found, counts = self._config.promise.of_all(self._keeper(), asked, low, high + 1)
        may = None
        if self._of_value is not None:
            may = self._may_qualify(pl.DataFrame([c.alias(n) for n, c in asked.values.items()]), items, found, counts)
            rows = np.flatnonzero(may[which] > 0)
            which = which[rows]
        self._push(frame, rows, found[which], counts[which], items[which], None if may is None else may[which])

    def _push(
        self,
        frame: pl.DataFrame,
        rows: Int64s,
        promise: Float64s,
        counts: Float64s,
        groups: Items,
        may: Float64s | None = None,
    ) -> None:
        low = int(ints(frame.get_column(TS)).min())
        self._slots_seen[low] = (rows.size, 0)
        if not rows.size:
            return
        scores = scored(self._config.preference, promise, counts, groups, low)
        expected = np.ones(rows.size)
        if may is not None:
            scores, expected = scores * may, may
        self._chunks[self._named] = _Chunk(frame, low, rows.size, int(frame.estimated_size()))
        self._bytes += self._chunks[self._named].bytes
        columns = {"chunk": np.full(rows.size, self._named), "row": rows, "$found": self._would_qualify(frame, rows)}
        self.promises.push(scores, expected, columns)
        self._named += 1

    def _would_qualify(self, frame: pl.DataFrame, rows: Int64s) -> Int64s:
        """Whether rows will qualify, of a few that speak for the rest. Without a predicate all will."""
        if self._predicate is None:
            return np.ones(rows.size, np.int64)
        found = np.full(rows.size, UNKNOWN)
        sample = sampled(rows.size, self._named)
        if sample.size:
            looked_at = rows_at(frame, rows[sample]).with_row_index(_PLACE)
            kept, (true,), _ = self._predicate.evaluate(looked_at)
            found[sample] = 0
            found[sample[ints(kept.get_column(_PLACE).filter(true))]] = 1
        return found

    def _may_qualify(self, distinct: pl.DataFrame, items: Items, promise: Float64s, counts: Float64s) -> Float64s:
        """For each value the chance that a row with it can qualify: 1 or 0 of those asked about, of others as of all those.

        Asking about a value for the first time is looking at its first row, and costs a probe; where it may qualify, that is
        paid for when the row is looked at. A budget in time pays for it as for all else that it takes.
        """
        assert self._of_value is not None
        known = np.isin(items, self._known)
        asked = known.copy()
        if self.allowance is None:
            new = np.flatnonzero(~known)
            preference = self._config.preference
            rare = preference is not None and preference.order == "asc"
            worth = counts if preference is not None and preference.order == "weighted" else promise
            new = new[np.argsort(worth[new] if rare else -worth[new], kind="stable")]
            spare = max(self._purse * ASKED, self._purse - self.promises.left)
            asked[new[: max(0, int(spare))]] = True
        else:
            asked[:] = True
        kept, (true,), _ = self._of_value.evaluate(distinct.filter(pl.Series(asked)))
        if kept.height < int(asked.sum()):  # where the predicate fails, the row has to be looked at, and says so
            return np.ones(distinct.height)
        may = np.zeros(distinct.height)
        may[asked] = true.fill_null(False).to_numpy()
        first = asked & ~known
        self._known = np.concatenate([self._known, items[first]])[-KNOWN:]
        self._asked_so_far += int(first.sum())
        self._may_so_far += int(may[first].sum())
        self._purse -= 0.0 if self.allowance is not None else float((may[first] == 0).sum())
        may[~asked] = (self._may_so_far + 1) / (self._asked_so_far + 2)
        return may

    def _look_at(self, taken: TakenEntries) -> Iterator[Message]:
        chunks, rows = taken.columns["chunk"], taken.columns["row"]
        order = np.lexsort((rows, chunks))
        cuts = np.flatnonzero(np.diff(chunks[order])) + 1
        frames = []
        for part in np.split(order, cuts):
            chunk = self._chunks[int(chunks[part[0]])]
            frames.append(rows_at(chunk.frame, rows[part]))
            many, seen = self._slots_seen[chunk.low]
            self._slots_seen[chunk.low] = (many, seen + part.size)
            self._done(int(chunks[part[0]]), part.size)
        messages = list(self._selected(together(frames)))
        found = sum(m.rows for m in messages if isinstance(m, Batch))
        self.promises.brought(found, self.promises.found + found)
        yield from messages

    def _done(self, number: int, rows: int) -> None:
        """Rows of a chunk don't wait any more."""
        chunk = self._chunks[number]
        chunk.left -= rows
        if not chunk.left:
            self._bytes -= chunk.bytes
            del self._chunks[number]

    def _selected(self, frame: pl.DataFrame) -> Iterator[Message]:
        if self._predicate is not None:
            frame, (true,), failed = self._predicate.evaluate(frame)
            if failed is not None:
                yield failed
            frame = frame.filter(true)
        if frame.height:
            yield Batch(frame)

    def _report(self) -> None:
        self.control.holds(self.promises.bytes + self._bytes + self._put_off_bytes)
        self.control.extra["probes"] = self.promises.probes
        self.control.extra["probes_left"] = self.promises.left

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        assert self.promises.left == sum(chunk.left for chunk in self._chunks.values())
        assert self._put_off == sum(self.due)
        assert self._bytes == sum(chunk.bytes for chunk in self._chunks.values())


__all__ = ["PromisingRows", "PromisingRowsConfig"]
