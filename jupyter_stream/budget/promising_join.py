"""Joins with a budget (promising-tuples paper §4.1.2): the symmetric hash join, its probes in the order of what they promise.

A probe looks one row up in one time zone of the other stream. Each slot's rows bring theirs, the most promising of all that wait
are made, and what is left waits for idle time: every pair comes from one probe, so none comes twice, all in the end.
Time is the ordinary join's: which rows meet, what is late, when rows are let go.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from jupyter_stream.arrays.rows import together
from jupyter_stream.budget.lookups import Entries, Lookups
from jupyter_stream.budget.lookups import together as entries_together
from jupyter_stream.budget.probed_rows import ProbedRows, Segment, looked_up
from jupyter_stream.budget.promises import MEMORY, REST_PROBES, Allowance, Promise, Promises
from jupyter_stream.budget.time_slots import SummaryKeeper
from jupyter_stream.core.coverage import Coverage
from jupyter_stream.core.messages import TS, Batch, Bools, Int64s, Message, Punctuation, Rest, ints
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.joins.joined_rows import NewRows
from jupyter_stream.joins.window_join import WindowJoin, head_of
from jupyter_stream.joins.window_join_config import WindowJoinConfig
from jupyter_stream.plan.preference import Preference
from jupyter_stream.summaries.priorities import TakenEntries
from jupyter_stream.summaries.protocol import Float64s

_NOBODY_ASKS: Final[Bools] = np.empty(0, np.bool_)
"""Which rows have found a partner."""


@dataclass(frozen=True)
class PromisingJoinConfig:
    """A join with a budget.

    Attributes:
        join: which rows meet.
        width: of a slot, microseconds.
        preference: what comes first; None for a uniform sample.
        promises: by the side looked into, what its summaries say of the values of rows of the other side; None without.
        own: by side, what its summaries say of the values of its own rows; None without.
        at_once: slots whose rows may look for partners together, where there is no time to do it slot by slot.
    """

    join: WindowJoinConfig
    width: int
    preference: Preference | None
    promises: tuple[Promise | None, Promise | None]
    own: tuple[Promise | None, Promise | None]
    at_once: int


@dataclass(eq=False)
class _Round:
    """Lookups of one slot's rows, some of which wait.

    Attributes:
        left: probes that wait.
        own: number of the first of the rows that look.
        other: number of the first row that they look through.
    """

    left: int
    own: int
    other: int


@dataclass(frozen=True, slots=True)
class _ProbeRows:
    """Rows of a slot, before they look for partners."""

    low: int
    frame: pl.DataFrame
    bytes: int


class PromisingJoin(WindowJoin):
    """Pairs of rows that meet, those first that the preference asks for."""

    def __init__(self, config: PromisingJoinConfig, keepers: Callable[[], tuple[SummaryKeeper, SummaryKeeper]]) -> None:
        super().__init__(config.join)
        kind = "a uniform sample" if config.preference is None else str(config.preference)
        self.control.name = f"promising join, {kind}"
        self.control.settings |= {
            "probes_per_row": 0.0,
            "rest_probes": REST_PROBES,
            "memory_limit": MEMORY,
            "slots_at_once": config.at_once,
        }
        self._promising = config
        self._keepers = keepers
        self._coming: tuple[deque[_ProbeRows], deque[_ProbeRows]] = (deque(), deque())
        # of slots that both streams have passed, whose rows have not yet looked for partners
        self._due: tuple[deque[_ProbeRows], deque[_ProbeRows]] = (deque(), deque())
        self._due_rows: dict[int, int] = {}  # rows of these by slot
        self._put_off = 0  # all of them
        self._put_off_bytes = 0
        self._rows = (ProbedRows(), ProbedRows())
        bounds = config.join.low, config.join.high, self._joined.bounds
        self._lookups = Lookups(config.preference, *bounds, config.promises, config.own, self._rows, keepers)
        self._rounds: tuple[dict[int, _Round], dict[int, _Round]] = ({}, {})
        self._named = 0
        self._purse = 0.0
        self._met_so_far = 0  # pairs, before the further condition is asked
        self.got_ready = 0
        """Rows that have begun to look for partners, and"""
        self.rounds = 0
        """in how many rounds."""
        self.allowance: Allowance | None = None
        self.promises = Promises(config.preference)

    # -- what the engine sees --------------------------------------------------------------------------------------------

    @property
    def left(self) -> int:
        """Probes that wait; of rows that have not begun to look, one each."""
        return self.promises.left + self._put_off

    @property
    def probes(self) -> int:
        """Probes made."""
        return self.promises.probes

    @property
    def coverage(self) -> Coverage:
        """The share of the exact answer given so far."""
        rows = self._put_off
        return self.promises.coverage(unseen=rows / (rows + self.got_ready) if rows else 0.0)

    @property
    def due(self) -> list[int]:
        """Rows of the slots that both streams have passed and that have not yet begun to look for partners, oldest first."""
        return [rows for _, rows in sorted(self._due_rows.items())]

    def take_up(self, probes: int) -> Iterator[Message]:
        """Make some of the probes that wait; where rows have not yet begun to look, theirs."""
        if not self._due_rows or self.allowance is None:
            yield from self._take(probes)
        elif many := self.allowance.ready(self.due[: int(self.control.settings["slots_at_once"])]):
            yield from self._round(many)
            self._report()

    def _take(self, probes: int) -> Iterator[Message]:
        if self._due_rows:
            yield from self._round(int(self.control.settings["slots_at_once"]))
        taken = self.promises.take(probes)
        if taken is not None:
            yield from self._probe(taken)
        if self.allowance is not None:
            self.allowance.made()
        self._report()

    # -- rows and time -----------------------------------------------------------------------------------------------------

    @property
    def waits_for(self) -> int:
        """Rows that were not looked at when they came may be at any time."""
        return MIN_TIME

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Keep the rows of a slot until both streams have passed it."""
        frame = yield from self._on_time(port, batch)
        if frame.height:
            low = batch.span[0] if frame.height == batch.rows else int(ints(frame.get_column(TS)).min())
            self._coming[port].append(_ProbeRows(low, frame, int(frame.estimated_size())))

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Make probes, when both streams have passed a slot; in the end all that are left."""
        if punctuation.value <= self._reached[port]:
            return
        self._reached[port] = punctuation.value
        both = min(self._reached)
        self._pass(both)
        yield from self._look_for(both)
        if both == MAX_TIME:
            while self.left:
                yield from self._take(int(self.control.settings["rest_probes"]))
                yield Rest()
            self._let_go(both)
            self._report()
        if not self.left and both > self._said:
            self._said = self.control.low_watermark = both
            yield Punctuation(both)

    def _pass(self, both: int) -> None:
        """Both streams have come so far: rows of the slots before are due."""
        width = self._promising.width
        for coming, due in zip(self._coming, self._due, strict=True):
            while coming and (coming[0].low // width + 1) * width <= both:
                due.append(coming.popleft())
                slot, rows = due[-1].low // width, due[-1].frame.height
                self._due_rows[slot] = self._due_rows.get(slot, 0) + rows
                self._put_off += rows
                self._put_off_bytes += due[-1].bytes

    def _look_for(self, both: int) -> Iterator[Message]:
        """Have the rows that are due look for partners, unless there is no time even to begin.

        With a budget in probes that is done slot by slot; with one in time as many slots at once as there is time for, since each
        time costs much whatever the rows.
        """
        at_once = int(self.control.settings["slots_at_once"])
        while self._due_rows:
            many = 1
            if self.allowance is not None:
                limit = int(self.control.settings["memory_limit"])
                full = self._put_off_bytes + self._waiting_bytes(self._begun(both)) > limit
                many = max(self.allowance.ready(self.due[:at_once]), at_once if full else 0)
                if not many:
                    break
            yield from self._round(many)
            self._let_go(self._begun(both))
            self._report()

    def _begun(self, both: int) -> int:
        """Rows that have not yet begun to look for partners are no older."""
        width = self._promising.width
        return min((due[0].low // width * width for due in self._due if due), default=both)

    # -- a round -------------------------------------------------------------------------------------------------------------

    def _round(self, many: int) -> Iterator[Message]:
        """The rows of the first so many slots look for partners: of their probes and of those that waited the most promising."""
        width = self._promising.width
        slots = sorted(self._due_rows)[:many]
        slot = slots[-1]
        end = (slot + 1) * width
        for done in slots:
            del self._due_rows[done]
        for keeper in self._keepers():
            keeper.advance(end)
        entries: list[Entries] = []
        rows = 0
        for port, due in enumerate(
            self._due
        ):  # left rows meet older right ones; right rows then left ones of these slots too
            frames = []
            while due and due[0].low < end:
                came = due.popleft()
                frames.append(came.frame)
                self._put_off -= came.frame.height
                self._put_off_bytes -= came.bytes
            if not frames:
                continue
            frame = together(frames)
            rows += frame.height
            new = yield from self._made_ready(port, frame, None)
            found = None if new is None else self._lookups.of(port, new.run, width, self._named)
            if found is not None:
                number = self._named * 2 + port
                found.columns["round"] = np.full(found.probes.size, number)
                self._rounds[port][number] = _Round(int(found.probes.sum()), found.own, found.other)
                self._named += 1
                entries.append(found)
        self.got_ready += rows
        self.rounds += 1
        if entries:
            every = entries_together(entries)
            scores = every.scores(self._promising.preference, slot)
            self.promises.push(scores, every.expected, every.columns, every.probes)
        if self.allowance is not None:
            self._purse, taken = self.promises.take_in_time(self.allowance)
        else:
            self._purse += float(self.control.settings["probes_per_row"]) * rows
            taken = self.promises.take(self._purse)
        if taken is not None:
            self._purse -= float(taken.cost.sum())
            yield from self._probe(taken)
        if self.allowance is not None:
            self.allowance.made()
        if not self.promises.left:
            self._purse = 0.0
        limit = int(self.control.settings["memory_limit"])
        while self.promises.left and self._waiting_bytes(end) > limit:
            for number, many in zip(*(a.tolist() for a in self.promises.let_go_of_oldest("round")), strict=True):
                self._done(number, many)
            self._let_go(end)

    def _probe(self, taken: TakenEntries) -> Iterator[Message]:
        """Look rows up in the zones they were to be looked up in: the pairs, as one batch."""
        frames: list[pl.DataFrame] = []
        rounds = taken.columns["round"]
        for port in (0, 1):
            some = taken.only(rounds % 2 == port)
            if not len(some):
                continue
            for own in self._rows[port].segments:
                here = some.only((some.columns["first"] >= own.first) & (some.columns["first"] < own.end))
                if len(here):
                    yield from self._look_up(port, own, here, frames)
        for number, many in _summed(rounds, taken.cost):
            self._done(number, many)
        self.promises.brought(sum(f.height for f in frames), self._met_so_far)
        if frames:
            yield Batch(together(frames))

    def _look_up(self, port: int, own: Segment, taken: TakenEntries, frames: list[pl.DataFrame]) -> Iterator[Message]:
        """Look rows of a segment up; pairs go to `frames`."""
        first, many, low, high = (taken.columns[name] for name in ("first", "many", "low", "high"))
        new = NewRows(port, own.run, _NOBODY_ASKS)
        for held in self._rows[1 - port].segments:
            for _, mine, theirs in looked_up(own, first, many, held, low, high):
                met = self._joined.pairs(new, held.run, mine, theirs, frozenset())
                self._met_so_far += (met.candidates or (met.mine,))[0].size
                for message in self._pairs(new, held.run, met):
                    if isinstance(message, Batch):
                        frames.append(message.frame)
                    else:
                        yield message

    def _done(self, number: int, probes: int) -> None:
        """Probes of a round don't wait any more."""
        rounds = self._rounds[number % 2]
        rounds[number].left -= probes
        if not rounds[number].left:
            del rounds[number]

    # -- rows kept -----------------------------------------------------------------------------------------------------------

    def _needed(self, side: int, both: int) -> int:
        """Number of the first row of a side that rows to come may look for."""
        wait = self._reach[side].high
        # not by the other stream's own punctuation: its rows wait for slots that this one has not passed
        before = both if both in (MIN_TIME, MAX_TIME) else MIN_TIME if wait is None else both - wait
        return self._rows[side].since(before)

    def _let_go(self, both: int) -> None:
        """Let go of rows that none look for, neither those to come nor those that wait."""
        for side in (0, 1):
            needed = self._needed(side, both)
            # rounds are in order: none looks for older rows than those before
            for port, rounds in enumerate(self._rounds):
                oldest = next(iter(rounds.values()), None)
                if oldest is not None:
                    needed = min(needed, oldest.own if port == side else oldest.other)
            self._rows[side].forget(needed)

    def _waiting_bytes(self, both: int) -> int:
        """Bytes of what waits: the lookups, and the rows that are kept for them alone."""
        found = float(self.promises.bytes)
        for side, rows in enumerate(self._rows):
            if rows.rows:
                found += rows.bytes * (self._needed(side, both) - rows.first) / rows.rows
        return int(found)

    def _report(self) -> None:
        for table, rows in zip(self.synopses, self._rows, strict=True):
            table.holds(rows.bytes)
            table.extra["rows"] = rows.rows
        self.control.holds(sum(t.bytes for t in self.synopses) + self.promises.bytes + self._put_off_bytes)
        self.control.extra["probes"] = self.promises.probes
        self.control.extra["probes_left"] = self.promises.left

    def head(self, most: int) -> pl.DataFrame:
        """The first rows kept of each side, half each, with the side they are of."""
        return head_of([[segment.run for segment in rows.segments] for rows in self._rows], most)

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        assert self.promises.left == sum(r.left for rounds in self._rounds for r in rounds.values())
        assert self._put_off == sum(came.frame.height for due in self._due for came in due) == sum(self.due)
        for rows in self._rows:
            rows.check()


def _summed(numbers: Int64s, probes: Float64s) -> Iterator[tuple[int, int]]:
    """How many probes were made of each round."""
    distinct, which = np.unique(numbers, return_inverse=True)
    yield from zip(distinct.tolist(), np.bincount(which, probes).astype(np.int64).tolist(), strict=True)


__all__ = ["PromisingJoin", "PromisingJoinConfig"]
