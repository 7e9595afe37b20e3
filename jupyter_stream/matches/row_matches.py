"""MATCH_RECOGNIZE: rows in the order of their times, partition by partition, and the matches of a pattern among them.

A row waits until the punctuation has passed it, so that what comes in disorder is searched in order. A partition's rows are kept
from the row on at which the next match can begin. Where a search needs a row that hasn't come, it waits; with WITHIN until the
punctuation says that no such row can belong to it. So an answer is given as soon as no row to come can change it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from jupyter_stream.arrays.rows import bytes_of, columns_of, earliest, frame_of, rows_where, shown, together
from jupyter_stream.arrays.runs import run_starts
from jupyter_stream.core.axis import plus
from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import (
    BROKEN,
    LATE_ID,
    ROW,
    TS,
    Batch,
    Failed,
    Int64s,
    Message,
    Punctuation,
    Rest,
    Tick,
    ints,
)
from jupyter_stream.core.row_pattern import AfterMatch, bounded
from jupyter_stream.core.time import MAX_TIME, MIN_TIME, show_duration
from jupyter_stream.flow.evaluate import Evaluator
from jupyter_stream.flow.late_rows import in_time
from jupyter_stream.functions import compile_kernel
from jupyter_stream.functions.expression import Expr, columns, show
from jupyter_stream.keys.slots import KeySlots
from jupyter_stream.matches.ahead import Ways, ways, ways_ahead
from jupyter_stream.matches.automaton import Automaton
from jupyter_stream.matches.conditions import FAILS, NO, UNKNOWN, Conditions, Flags, SearchPlace
from jupyter_stream.matches.found_rows import FoundMatch, FoundRows, RowsAtHand
from jupyter_stream.matches.partitions import SearchedPartitions
from jupyter_stream.matches.search import FOUND, RESTS, WAITS, Attempt, Search
from jupyter_stream.matches.under_way import UnderWay
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.plan.logical import MATCH_NUMBER, MatchRows

_SLOT, _NUMBER = "$slot", "$number"
_REMEMBERED = 4096
_CHECK_ABOVE = 1024


@dataclass(frozen=True)
class RowMatchesConfig:
    """What is searched.

    Attributes:
        plan: the pattern and what is told of its matches.
        arguments: expressions over rows that conditions and measures read.
        references: of each reference, the number of its argument.
        aggregates: over arguments by number.
        kept: columns of the rows that are shown, or told of where something fails.
    """

    plan: MatchRows
    arguments: tuple[Expr, ...]
    references: tuple[int, ...]
    aggregates: tuple[GroupAggregate, ...]
    kept: tuple[str, ...]


class RowMatches:
    """The matches of a row pattern."""

    def __init__(self, config: RowMatchesConfig) -> None:
        plan = config.plan
        self.control = ControlTable(_title(plan))
        self.synopses = [ControlTable("rows")]
        self._kept = config.kept
        self._within, self._after, self._by_time = plan.within, plan.after, plan.by_time
        self._order = plan.order
        self._evaluator = Evaluator([*plan.partition, *(k.value for k in plan.order), *config.arguments])
        self._keys = len(plan.partition)
        types = [(f"{i}", e.dtype) for i, e in enumerate(plan.partition)]
        self._slots = KeySlots(types) if types else None
        self._automaton = Automaton(plan.pattern)
        numbers = {expr: i for i, expr in enumerate(config.arguments)}
        self._conditions = Conditions(plan, self._automaton, numbers)
        self._search = Search(self._conditions.stepwise)
        self._found = FoundRows(plan, self._automaton, config.references, config.aggregates, config.kept)
        self._back = max([self._conditions.back, *(-r.shift for r in plan.references)])
        self._ahead = max([self._conditions.ahead, *(r.shift for r in plan.references)])
        self._counts = any(MATCH_NUMBER in columns(e) for _, e in plan.measures)
        self._arguments = [f"$a{i}" for i in range(len(config.arguments))]
        self._flags = [f"$c{i}" for i in range(self._conditions.columns)]
        self._waiting: list[pl.DataFrame] = []
        self._rows: pl.DataFrame | None = None  # in the order of partitions and times
        self._partitions = SearchedPartitions()
        self._under_way = UnderWay()
        self._arrived = 0
        self._reached = self._said = MIN_TIME
        self._checked = 0
        self._flush: Iterator[Message] = iter(())

    def head(self, most: int) -> pl.DataFrame:
        """The first rows that wait, or are searched."""
        return shown([*([] if self._rows is None else [self._rows]), *self._waiting], most)

    @property
    def waits_for(self) -> int:
        """The time after its first waiting row's, or when the time of a match under way is over."""
        return min(plus(earliest(self._waiting), 1), self._partitions.first_deadline)

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Keep rows until their time has come; late ones are told."""
        frame, missed = in_time(batch.frame, self._reached, self.control)
        if missed is not None:
            yield missed
        if BROKEN in frame.columns:
            frame = frame.drop(BROKEN, LATE_ID, strict=False)
        if not frame.height:
            return
        frame, made, failed = self._evaluator.evaluate(frame)
        if failed is not None:
            yield failed
        if not frame.height:
            return
        by, rest = made[: self._keys], made[self._keys :]
        slots = np.zeros(frame.height, np.int64) if self._slots is None else self._slots.encode(by)
        if ROW in frame.columns:
            numbers = ints(frame.get_column(ROW))
        else:
            numbers = np.arange(self._arrived, self._arrived + frame.height)
            self._arrived += frame.height
        names = [*(f"$o{i}" for i in range(len(self._order))), *self._arguments]
        own = columns_of(frame, [*self._kept, TS]).get_columns()
        more = [pl.Series(_SLOT, slots), pl.Series(_NUMBER, numbers)]
        self._waiting.append(frame_of([*own, *more, *(c.alias(n) for c, n in zip(rest, names, strict=True))]))
        self._report()

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Search the rows whose time is over, resting now and then, and say how far matches have been given."""
        if punctuation.value <= self._reached:
            return
        yield from (m for m in self._flush if not isinstance(m, Rest))  # an earlier one is still being searched
        self._reached = self.control.low_watermark = punctuation.value
        self._flush = self._step(punctuation.value)
        yield from self._flush

    def on_tick(self, tick: Tick) -> Iterator[Message]:
        """Pass it on: a match is given once."""
        yield tick

    def recalls(self) -> None:
        """Where a match may begin depends on all matches before it."""
        return

    # -- rows

    def _step(self, until: int) -> Iterator[Message]:
        held = self._taken(until)
        if held is not None:
            yield from self._searched(held, until)
        self._forget(until == MAX_TIME)
        self._report()
        said = min(until, self._partitions.first_open)
        if said > self._said:
            self._said = said
            yield Punctuation(said)

    def _taken(self, until: int) -> pl.DataFrame | None:
        """The rows of partitions with something new: rows whose time is over, or a match whose time is."""
        due = self._due(until)
        slots = np.empty(0, np.int64) if due is None else ints(due.get_column(_SLOT))
        self._partitions.grow(int(slots.max()) + 1 if slots.size else 0)
        if due is not None:
            due = due.hstack([pl.Series(n, np.full(due.height, UNKNOWN, np.uint8)) for n in self._flags])
        over = self._partitions.over(until)
        if self._rows is None or not self._rows.height:
            return due
        touched = np.zeros(self._partitions.size, np.bool_)
        touched[slots] = touched[over] = True
        mine = touched[ints(self._rows.get_column(_SLOT))]
        if not mine.any():
            return due
        some = rows_where(self._rows, mine)
        self._rows = None if mine.all() else rows_where(self._rows, ~mine)
        if due is None:
            return some
        both = together([some, due])
        return both.select(pl.all().gather(pl.Series(np.argsort(ints(both.get_column(_SLOT)), kind="stable"))))

    def _due(self, until: int) -> pl.DataFrame | None:
        """Rows that wait no more, in the order of partitions and times, numbered in their partitions."""
        if not self._waiting:
            return None
        rows = together(self._waiting)
        now = ints(rows.get_column(TS)) < until if until != MAX_TIME else np.ones(rows.height, np.bool_)
        rest = rows_where(rows, ~now) if not now.all() else rows.clear()
        self._waiting = [rest] if rest.height else []
        rows = rows_where(rows, now) if now.any() else rows.clear()
        if not rows.height:
            return None
        own = [f"$o{i}" for i in range(len(self._order))]
        by = [_SLOT, *([TS] if self._by_time else []), *own, _NUMBER]
        falls = [False] * (len(by) - len(own) - 1) + [k.descending for k in self._order] + [False]
        last = [False] * (len(by) - len(own) - 1) + [k.nulls_last for k in self._order] + [False]
        rows = rows.sort(by, descending=falls, nulls_last=last, maintain_order=True).drop(own)
        slots = ints(rows.get_column(_SLOT))
        self._partitions.grow(int(slots.max()) + 1)
        return rows.with_columns(pl.Series(_NUMBER, self._partitions.numbered(slots)))

    # -- the search

    def _searched(self, rows: pl.DataFrame, until: int) -> Iterator[Message]:
        ended = until == MAX_TIME
        slots, numbers = ints(rows.get_column(_SLOT)), ints(rows.get_column(_NUMBER))
        heads = run_starts(slots)
        stops = np.append(heads[1:], slots.size)
        arguments = [rows.get_column(n) for n in self._arguments]
        flags = self._computed(rows, arguments, slots, numbers, ended)
        lists = {n: arguments[n].to_list() for n in self._conditions.read}
        by_code = [None if c is None else flags[c] for c in self._conditions.columnar]
        if self._conditions.may_fail or any((f == FAILS).any() for f in flags):
            found_ways = ways(self._automaton, by_code)
        else:
            found_ways = ways_ahead(self._automaton, by_code, slots, ended)
        begins = _beginnings(found_ways, slots.size)
        times = ints(rows.get_column(TS)).tolist()
        found: list[FoundMatch] = []
        failed: list[tuple[int, str]] = []
        for low, high in zip(heads.tolist(), stops.tolist(), strict=True):
            place = SearchPlace(lists=lists, low=low, high=high, offset=low - int(numbers[low]))
            one = _OnePartition(
                int(slots[low]), place, int(numbers[high - 1]) + 1, until, times, begins, found_ways, found, failed
            )
            yield from self._advance(one)
        held = RowsAtHand(rows, slots, arguments)
        yield from self._given(held, found, failed)
        rows = rows.with_columns(pl.Series(n, f) for n, f in zip(self._flags, flags, strict=True)) if flags else rows
        kept = numbers >= self._partitions.keep[slots]
        if kept.any() and not ended:
            rest = rows_where(rows, kept)
            self._rows = rest if self._rows is None or not self._rows.height else together([self._rows, rest])

    def _computed(
        self, rows: pl.DataFrame, arguments: Sequence[pl.Series], slots: Int64s, numbers: Int64s, ended: bool
    ) -> list[Flags]:
        """The bytes of all rows: those known before, and those of rows behind which there are enough now."""
        before = [ints(rows.get_column(n)).astype(np.uint8) for n in self._flags]
        if not before:
            return []
        ready = self._partitions.count[slots] - (0 if ended else self._conditions.ahead)
        new = (before[0] == UNKNOWN) & (numbers < ready)
        if not new.any():
            return before
        first = np.full(self._partitions.size, np.iinfo(np.int64).max)
        np.minimum.at(first, slots[new], numbers[new])
        near = np.flatnonzero(numbers >= first[slots] - self._conditions.back)
        some = [a.gather(pl.Series(near)) if near.size < slots.size else a for a in arguments]
        chosen = np.flatnonzero(new[near])
        for number, (made, reasons) in enumerate(self._conditions.flags(some, slots[near])):
            before[number][near[chosen]] = made[chosen]
            for row, reason in reasons.items():
                if new[near[row]]:
                    self._under_way.reasons[int(slots[near[row]]), int(numbers[near[row]]), number] = reason
        return before

    def _advance(self, one: _OnePartition) -> Iterator[Message]:
        """Search a partition as far as its rows go."""
        slot, place = one.slot, one.place
        ended = one.until == MAX_TIME
        visible = one.stop if ended else max(one.stop - self._ahead, 0)
        at = int(self._partitions.next[slot])
        attempt = self._under_way.attempts.pop(slot, None)
        failed = self._under_way.failed.pop(slot, None)
        told = _Telling(self, one)
        deadline = MAX_TIME
        while True:
            if attempt is None:
                begin = one.begins.find(1, place.offset + at, place.offset + visible) if at < visible else -1
                at = max(at, visible) if begin < 0 else begin - place.offset
                if begin < 0:
                    break
                attempt = Attempt(at, totals=[[None] for _ in range(self._conditions.totals)])
                failed = self._remembered(failed, at)
            limit, ends, deadline = self._limit(one, attempt.start, visible)
            how = self._search.goes_on(attempt, one.ways, place, limit, ends, failed, told)
            if how == RESTS:
                yield Rest()
                continue
            if how == WAITS:
                at = attempt.start
                self._under_way.attempts[slot] = attempt
                if failed is not None:
                    self._under_way.failed[slot] = failed
                break
            deadline = MAX_TIME
            at = attempt.start + 1
            if how == FOUND:
                failed = None
                number = int(self._partitions.matches[slot]) + 1
                self._partitions.matches[slot] = number
                one.found.append(FoundMatch(place.offset + attempt.start, bytes(attempt.path), number))
                at = self._following(attempt, one)
            attempt = None
        opened = one.times[place.offset + at] if at < one.stop else MAX_TIME
        waits = deadline if slot in self._under_way.attempts else MAX_TIME
        self._partitions.searched(slot, at, max(0, at - self._back), opened, waits)

    def _remembered(self, failed: set[tuple[int, int]] | None, at: int) -> set[tuple[int, int]] | None:
        """What failed before, where it would from here on, too."""
        if not self._search.remembers:
            return None
        if failed is None or self._within is not None:
            return set()
        return {f for f in failed if f[1] >= at} if len(failed) > _REMEMBERED else failed

    def _limit(self, one: _OnePartition, start: int, visible: int) -> tuple[int, bool, int]:
        """The first row that can't be read, whether it can't belong to the match either, and when that will be certain."""
        ended = one.until == MAX_TIME
        if self._within is None:
            return visible, ended, MAX_TIME
        offset = one.place.offset
        over = plus(one.times[offset + start], self._within)
        first = bisect_left(one.times, over, offset + start, offset + one.stop) - offset
        if first <= visible and (first < one.stop or over <= one.until):
            return first, True, over
        return visible, ended, over

    def _following(self, attempt: Attempt, one: _OnePartition) -> int:
        """Where the search goes on behind a match."""
        if self._after.to == "past last row":
            return attempt.start + len(attempt.path)
        if self._after.to == "next row":
            return attempt.start + 1
        codes = self._automaton.codes(self._after.variables)
        rows = [at for at, code in enumerate(attempt.path) if code in codes]
        if rows and (at := rows[0 if self._after.to == "first" else -1]):
            return attempt.start + at
        what = "would be found again" if rows else "has no such row"
        last = one.place.offset + attempt.start + len(attempt.path) - 1
        one.failed.append((last, f"AFTER MATCH SKIP {_to(self._after)}: the match {what}"))
        return attempt.start + 1

    def _given(
        self, held: RowsAtHand, found: Sequence[FoundMatch], failed: Sequence[tuple[int, str]]
    ) -> Iterator[Message]:
        if failed:
            rows = held.frame.select(pl.all().gather(pl.Series([row for row, _ in failed])))
            yield Failed(_own(rows), pl.Series([reason for _, reason in failed]))
        if not found:
            return
        made, wrong = self._found.rows(found, held)
        yield from wrong
        if made.height:
            yield Batch(made.sort(TS, maintain_order=True))

    def note_failure(self, one: _OnePartition, row: int, code: int, reason: str | None) -> None:
        """A condition fails on a row: once for each row."""
        if (one.slot, row) in self._under_way.told:
            return
        self._under_way.told.add((one.slot, row))
        number = self._conditions.columnar[code]
        if reason is None and number is not None:
            reason = self._under_way.reasons.get((one.slot, row, number))
        one.failed.append((one.place.offset + row, reason or "DEFINE fails"))

    # -- memory

    def _forget(self, everything: bool) -> None:
        """Give up partitions without rows, looked for when enough have come since."""
        self._under_way.keep(self._partitions.keep)
        slots = self._slots
        if everything:
            self._rows = None
            self._under_way.clear()
        if slots is None or (not everything and slots.live < 2 * self._checked + _CHECK_ABOVE):
            return
        live = np.zeros(slots.capacity, np.bool_)
        if not everything:
            for frame in [*self._waiting, *([] if self._rows is None else [self._rows])]:
                live[ints(frame.get_column(_SLOT))] = True
            if self._counts:
                live |= self._partitions.counting(slots.capacity)
        self._partitions.release(np.flatnonzero(~live))
        slots.release(live)
        self._checked = slots.live
        if max(slots.capacity, self._partitions.size) > 4 * slots.live + _CHECK_ABOVE:
            self._renumber(slots)

    def _renumber(self, slots: KeySlots) -> None:
        """Live partitions come into the first slots, so that what is held follows them and not the most there have been."""
        size = slots.capacity
        old = slots.renumber()
        new = np.full(size, -1)
        new[old] = np.arange(old.size)
        self._partitions.renumber(old)
        self._waiting = [_moved(frame, new) for frame in self._waiting]
        self._rows = None if self._rows is None else _moved(self._rows, new)
        self._under_way.renumber(new)

    def _report(self) -> None:
        rows = [] if self._rows is None else [self._rows]
        held = bytes_of([*self._waiting, *rows]) + self._partitions.bytes
        held += 0 if self._slots is None else self._slots.bytes
        self.control.holds(held)
        self.control.extra["waiting_rows"] = sum(f.height for f in self._waiting)
        self.control.extra["kept_rows"] = sum(f.height for f in rows)
        self.control.extra["open_matches"] = len(self._under_way.attempts)


def _moved(frame: pl.DataFrame, new: Int64s) -> pl.DataFrame:
    """The rows of partitions that have other slots now."""
    return frame.with_columns(pl.Series(_SLOT, new[ints(frame.get_column(_SLOT))]))


@dataclass(frozen=True)
class _OnePartition:
    """The rows of one partition while they are searched.

    Attributes:
        slot: which.
        place: where they are among the rows at hand.
        stop: the number of the next row to come.
        until: no row before this time comes any more.
        times: of all rows at hand.
        begins: a one for each at which a match may begin.
        ways: the steps of the automaton, with the bytes of all rows.
        found: takes the matches.
        failed: takes rows on which something failed, and why.
    """

    slot: int
    place: SearchPlace
    stop: int
    until: int
    times: list[int]
    begins: bytes
    ways: Ways
    found: list[FoundMatch]
    failed: list[tuple[int, str]]


@dataclass(frozen=True)
class _Telling:
    """Takes the rows of a partition on which a condition failed."""

    operator: RowMatches
    one: _OnePartition

    def __call__(self, row: int, code: int, reason: str | None) -> None:
        self.operator.note_failure(self.one, row, code, reason)


def made_to_fail(plan: MatchRows) -> bool:
    """Whether a row may be told of: a condition or a measure fails on it, or the search can't go on from it."""
    computed = (*plan.definitions, *plan.measures)
    return plan.after.to in ("first", "last") or any(compile_kernel(e).failures for _, e in computed)


def _beginnings(found: Ways, size: int) -> bytes:
    """A one for each row at which a match may begin."""
    begins = np.zeros(size, np.bool_)
    for _, _, goes in found[0]:
        begins |= True if goes is None else np.frombuffer(goes, np.uint8) != NO
    return begins.tobytes()


def _own(rows: pl.DataFrame) -> pl.DataFrame:
    """The columns of rows, without ours."""
    return rows.select([c for c in rows.columns if c == TS or not c.startswith("$")])


def _to(after: AfterMatch) -> str:
    return f"TO {after.to.upper()} {' or '.join(after.variables)}"


def _title(plan: MatchRows) -> str:
    """What is searched, and what is kept for it, for people."""
    by = f" by {', '.join(show(e) for e in plan.partition)}" if plan.partition else ""
    if plan.within is not None:
        bound = f" within {show_duration(plan.within)}"
    else:
        bound = "" if bounded(plan.pattern) else ", kept until it is decided: no WITHIN says how long that may take"
    return f"match {plan.pattern}{by}{bound}, then {plan.after}"


__all__ = ["RowMatches", "RowMatchesConfig", "made_to_fail"]
