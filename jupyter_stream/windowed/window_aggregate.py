"""Window aggregation over extents of time, order-agnostic: WID, Paned-WID and AdaptWID (window-queries thesis chapter 6).

Punctuation, not order, says which extents are final. Time logic is here; the values are in what the strategy keeps:

- Paned-WID (§6.2), with which the planner begins: `state.groups`, partials by pane and group;
- WID (§6.1.3): `state.extents`, partials by extent and group;
- AdaptWID (§6.3): `state.adaptive`, rows of sparse groups and partials of dense ones;
- rows kept (lazy aggregation, §6.3): the same, all groups lazy; for comparison.

`Session.execute(text, strategy='adapt-wid')` asks for one of `plan.strategy.STRATEGIES`: 'wid', 'paned-wid', 'adapt-wid' or
'rows'. EXPLAIN names it with the reason. What it came to is in the control table, as `q.stats['operators']` shows it: `bytes` and
`peak_bytes` for any, and of AdaptWID, as of the last punctuation, `lazy_groups`, `eager_groups` and `groups_in_transition`.

It is an operator of its own beside `windowed.extent_aggregate`, which does the same over frames of partial results, because what
makes panes of arrays fast is no step of another: chunks that fit the cache, extents closed many at once, strategies that change
under way, rests. Nanoseconds of processor time a row, by 1,000 keys (100 for frames), measured in one process on two busy cores:

| | panes | frames |
|---|---|---|
| count, sum, avg over a second, tumbling | 38 | 596 |
| count, sum, max over a minute, every second | 46 | 2,671 |
| count(DISTINCT) over 10 s, every second | 1,290 | 3,360 |
| median and mode over 10 s, every 2 s | 3,300 | 4,540 |

A large extent is answered some groups at a time, with a `Rest` between: rows to come belong to later extents and are taken
meanwhile. The output punctuation follows the last of its answers (slow-flush under out-of-order processing, thesis §8.3.3).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np
import polars as pl
from sortedcontainers import SortedDict

from jupyter_stream.aggregates.user.rows import HeldForm
from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import (
    BROKEN,
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
from jupyter_stream.core.stint import Stint
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.flow.evaluate import Evaluator
from jupyter_stream.flow.protocol import Recall, either
from jupyter_stream.partials.adaptive import AdaptiveGroups, would_take
from jupyter_stream.partials.closed import Closed, Overflowed
from jupyter_stream.partials.extents import ExtentGroups
from jupyter_stream.partials.group_aggregate import GroupBy
from jupyter_stream.partials.groups import WindowGroups
from jupyter_stream.plan import folds, strategy
from jupyter_stream.plan.strategy import StrategyChoice
from jupyter_stream.windowed.extent_answers import ExtentAnswers, GroupAnswers
from jupyter_stream.windowed.late_for_extents import judge
from jupyter_stream.windows import TimeWindow

_MANY = 65_536
"""Groups from which on answers wait until a batch more has been taken."""
_LEAST = 16_384
"""Answers given, or slots given back, between two rests at any rate."""


_PANED = StrategyChoice("paned-wid", "a partial result for each group and pane")


@dataclass(frozen=True)
class WindowAggregateConfig:
    """What a windowed aggregate computes.

    Attributes:
        window: sliding, tumbling or landmark.
        computed: the keys, and what is computed.
        provisional: whether it answers ticks (the outermost aggregate of an EMIT EVERY query does).
        choice: the strategy, and why.
        gaps: whether an ungrouped aggregate answers extents without rows between others that hold some.
        wanted: the columns of its answers that somebody reads; None for all.
    """

    window: TimeWindow
    computed: GroupBy
    provisional: bool = False
    choice: StrategyChoice = _PANED
    gaps: bool = True
    wanted: frozenset[str] | None = None


class WindowAggregate:
    """Answers per extent and group, given when the extent is final; provisional ones on ticks."""

    def __init__(self, config: WindowAggregateConfig) -> None:
        self.control = ControlTable(_title(config, config.choice))
        self._window = config.window
        self._gaps = config.gaps and not config.computed.keys
        self._config = config
        self._evaluator = Evaluator(config.computed.expressions)
        self._rows = ExtentAnswers(config.window, config.computed, config.wanted)
        self._groups = _synopsis(config)
        self.synopses = self._groups.tables
        self._reached = MIN_TIME
        self._closed: int | None = None  # the last extent that is final
        self._last_full: int | None = None  # the last extent given that held rows
        self._said = MIN_TIME
        self._promised: int | None = None  # the last extent a punctuation has made final
        self._promises: deque[tuple[int | None, bool]] = deque()  # extents to close up to, and whether that is the end
        self._flush: Iterator[Message] = iter(())
        self._releasing: Iterator[int] | None = None
        self._settles = any(isinstance(a.form, HeldForm) for a in config.computed.aggregates)

    @property
    def wanted(self) -> frozenset[str] | None:
        """The columns of its answers that somebody reads; None for all."""
        return self._rows.wanted

    def widen(self, wanted: frozenset[str] | None) -> None:
        """Somebody reads these, too."""
        self._rows.wanted = either(self._rows.wanted, wanted)

    def head(self, most: int) -> pl.DataFrame:
        """Some groups of open panes, or of extents, with how many rows each has had."""
        return self._groups.head(most)

    def recalls(self) -> Recall | None:
        """The rows of extents that are open."""
        window, k = self._window, self._closed
        if window.range is None or window.on is not None or self._config.provisional or k is None:
            return None
        if self._promises:  # answers under way
            return None
        # rows at the very beginning of an extent are in it
        return Recall(window.end(k + 1) - window.range, (k, self._last_full))

    @property
    def waits_for(self) -> int:
        """The end of its first extent that holds rows and isn't final."""
        if self._window.range is None and self._closed is not None and self._last_full is not None:
            return self._window.end(self._closed + 1)  # a landmark's hold everything from the first on
        return _first_end(self._window, self._groups.occupied, self._closed)

    # -- rows --------------------------------------------------------------------------------------------------------

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Fold rows into their panes; late ones into what is still open."""
        frame = batch.frame
        if BROKEN in frame.columns:
            yield from self._finish()  # late rows may belong to panes whose extents are being answered
            yield from self._take_late(frame)
        else:
            yield from self._fold(frame, batch.times)

    def _fold(self, frame: pl.DataFrame, times: tuple[int, int] | None = None) -> Iterator[Message]:
        if not frame.height:
            return
        frame, columns, failed = self._evaluator.evaluate(frame)
        if failed is not None:
            yield failed
        if frame.height:
            yield from self._add(ints(frame.get_column(TS)), columns, times)

    def _add(self, ts: Int64s, columns: Sequence[pl.Series], times: tuple[int, int] | None) -> Iterator[Message]:
        """Fold rows in, in pieces where all at once might need partials of far too many panes and groups."""
        keys, start, looked, most = len(self._config.computed.keys), 0, 0, ts.size
        while start < ts.size:
            groups, rest = self._groups, ts[start:]
            size = rest.size
            if self._config.choice.may_change and isinstance(groups, WindowGroups) and groups.movable:
                span = times if times is not None and not start else (int(rest.min()), int(rest.max()))
                panes = self._window.pane_of(span[1]) - self._window.pane_of(span[0]) + 1
                size = groups.panes.affordable(size, panes, most, strategy.SPARED)
                if size < rest.size and most == ts.size:  # now it is worth counting
                    most = pl.DataFrame(columns[:keys]).n_unique() if keys else 1
                    size = groups.panes.affordable(rest.size, panes, most, strategy.SPARED)
            piece = columns if size == ts.size else [c.slice(start, size) for c in columns]
            groups.add(rest[:size], piece[:keys], piece[keys:])
            start += size
            if size == rest.size or not isinstance(groups, WindowGroups) or groups.panes.bytes <= 2 * looked:
                continue
            looked = groups.panes.bytes  # only what has grown may have become sparse
            if groups.panes.sparse:
                yield from self._finish()
                self._go_over(strategy.sparse(groups.live, len(groups.occupied)))

    def _take_late(self, frame: pl.DataFrame) -> Iterator[Message]:
        judged = judge(self._window, frame, self._closed)
        if judged.missed is not None:
            self.control.late_rows += judged.missed.late_ids.size
            yield judged.missed
        start = 0
        for cut in judged.cuts(self._closed):
            yield from self._fold_late(frame[start:cut].filter(pl.Series(judged.usable[start:cut])))
            if cut < frame.height:
                yield from _without_rest(self._close(int(judged.closing[cut])))
            start = cut

    def _fold_late(self, frame: pl.DataFrame) -> Iterator[Message]:
        """Fold rows in; a late one after all that the punctuation it broke has settled, as if it had come by itself."""
        if not self._settles or not frame.height:
            yield from self._fold(frame)
            return
        broken = np.maximum.accumulate(ints(frame.get_column(BROKEN).fill_null(MIN_TIME)))
        cuts = np.flatnonzero(broken[1:] > broken[:-1]) + 1
        for start, stop in zip([0, *cuts.tolist()], [*cuts.tolist(), frame.height], strict=True):
            if broken[start] > MIN_TIME:
                self._settle(int(broken[start]))
            yield from self._fold(frame[start:stop])

    def _settle(self, until: int) -> None:
        if isinstance(self._groups, WindowGroups):
            self._groups.settle(until)

    # -- time --------------------------------------------------------------------------------------------------------

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Give the extents it makes final, and say so."""
        if punctuation.value <= self._reached:
            return
        before, self._reached = self._reached, punctuation.value
        if self._settles:
            self._settle(punctuation.value)
        if punctuation.value == MAX_TIME:
            yield from self._finish()
            self._promises.append((_last_extent(self._window, self._groups.occupied, before), True))
        else:
            k = self._window.closed(punctuation.value)
            if self._promised is not None and k <= self._promised:
                if not self._promises:
                    self._report()
                return
            self._promised = k
            self._promises.append((k, False))
        if len(self._promises) > 1:
            # an earlier one is being kept. It is given at once then: input must not run away from output, whose panes it holds
            while len(self._promises) > 1:
                yield from self._until_rest()
            return
        self._flush = self._keep_promises()
        yield from self._flush

    def _keep_promises(self) -> Iterator[Message]:
        """Give the extents punctuations have made final, and say so, resting now and then."""
        if self._groups.live > _MANY:
            yield Rest()  # the batch just taken has taken its time
        while self._promises:
            k, ended = self._promises[0]
            if k is not None:
                yield from self._close(k)
            self._promises.popleft()
            self._report()
            said = MAX_TIME
            if not ended:
                assert k is not None
                # rows to come belong to extents ending later; an extent's row progresses on its end minus 1 µs
                if self._gaps and self._last_full is not None:
                    k = self._last_full  # the empty ones after it are given once a later one that holds rows is
                said = self._window.end(k + 1) - 1
            if said > self._said:
                self._said = self.control.low_watermark = said
                yield Punctuation(said)
            if ended:
                return
        yield from self._release()

    def _release(self) -> Iterator[Message]:
        """Let groups go that no extent holds any more, resting now and then. Answers that become due meanwhile come first."""
        live = self._groups.live
        if self._releasing is None:
            self._releasing = self._groups.release()
        stint = Stint(_LEAST)
        for work in self._releasing:
            if not stint.over(work):
                continue
            yield Rest()
            if self._promises:
                return  # whoever keeps them goes on from here
            stint.begin()
        self._releasing = None
        if self._groups.live != live:
            self._report()

    def _until_rest(self) -> Iterator[Message]:
        for message in self._flush:
            if isinstance(message, Rest):
                return
            yield message

    def _finish(self) -> Iterator[Message]:
        """Give the rest of the answers under way."""
        while self._promises:
            yield from self._until_rest()

    def _close(self, k: int) -> Iterator[Message]:
        """Give extents up to k."""
        after = self._closed
        if after is not None and k <= after:
            return
        self._closed = k  # from here no row is taken for them
        extents = self._extents_until(k, after)
        by_rows = self._config.computed.by_rows
        stint = Stint(1 if by_rows else _LEAST)
        while some := list(islice(extents, 1 if by_rows else self._groups.extents_at_once)):
            for closed in self._groups.close(some):
                yield from self._give_closed(closed)
                if stint.over(closed.slots.size + closed.cells // 8):
                    yield Rest()
                    stint.begin()
        if self._config.choice.may_change:
            self._reconsider(k)
        self._groups.expire(k + 1)

    def _give_closed(self, closed: Closed) -> Iterator[Message]:
        if closed.lost_slots.size:
            yield self._rows.overflowed(closed.lost_extents, closed.lost_slots, self._groups.slots)
        full = np.union1d(closed.extents, closed.lost_extents) if closed.lost_extents.size else closed.extents
        yield from self._give(GroupAnswers(closed.extents, closed.slots, closed.answers), full)

    def _extents_until(self, k: int, after: int | None) -> Iterator[int]:
        """Extents after that one, up to k, that hold rows; skips gaps however long."""
        return chain.from_iterable(self._stretches_until(k, after))

    def _stretches_until(self, k: int, after: int | None) -> Iterator[range]:
        """The same as stretches of extents, of which there are no more than panes that hold rows."""
        window, occupied = self._window, self._groups.occupied
        at = after
        full = self._last_full is not None
        while True:
            if window.range is None and at is not None and full:
                yield range(at + 1, k + 1)  # a landmark's extents hold everything from the first on
                return
            low = None if at is None else window.first_pane(at + 1)
            oldest = next(iter(occupied.irange(low)), None)
            if oldest is None:
                return
            first = window.first_extent(oldest)
            last = window.last_extent(oldest)
            if last is not None and last < first:  # between extents: SLIDE is longer than RANGE
                self._groups.free([oldest])
                continue
            at = first if at is None else max(first, at + 1)
            if at > k:
                return
            full = True
            if last is not None and last < k:  # the newest pane of that extent is in as many after it
                end = window.panes_per_slide * last
                newest = next(occupied.irange(oldest, end, inclusive=(True, False), reverse=True))
                last = window.last_extent(newest)
            last = at if last is None else min(last, k)
            yield range(at, last + 1)
            at = last

    def _read(
        self, k: int, read: Callable[[int, Int64s], tuple[Int64s, list[pl.Series]]]
    ) -> tuple[GroupAnswers | None, Failed | None]:
        """Answers of an extent; groups whose sums are beyond 64 bits have none, and are told of."""
        beyond = np.empty(0, np.int64)
        while True:
            try:
                slots, answers = read(k, beyond)
                break
            except Overflowed as overflow:
                beyond = np.concatenate([beyond, overflow.slots])
        failed = None
        if beyond.size:
            failed = self._rows.overflowed(np.full(beyond.size, k), beyond, self._groups.slots)
        return (GroupAnswers(np.full(slots.size, k, np.int64), slots, answers) if slots.size else None), failed

    # -- answers -----------------------------------------------------------------------------------------------------

    def _give(self, found: GroupAnswers, full: Int64s) -> Iterator[Message]:
        """Give answers, those of empty extents in their places; `full` are the extents that hold rows, ascending."""
        if not full.size:
            return
        if self._gaps:
            for empties in self._rows.between(full, self._last_full):
                before = int(np.searchsorted(found.extents, empties.extents[-1]))
                both = GroupAnswers.concat([found.part(0, before), empties]).in_order() if before else empties
                found = found.part(before, found.extents.size)
                yield Batch(self._frame(both))
        self._last_full = int(full[-1])
        if found.slots.size:
            yield Batch(self._frame(found))

    def _frame(self, found: GroupAnswers) -> pl.DataFrame:
        return self._rows.frame(found, self._groups.slots)

    def on_tick(self, tick: Tick) -> Iterator[Message]:
        """Provisional answers of every open extent, as one snapshot."""
        yield from self._finish()
        if not self._config.provisional:
            yield tick
            return
        found: list[GroupAnswers] = []
        full: list[int] = []
        newest = self._groups.occupied.peekitem(-1)[0] if self._groups.occupied else None
        last = None if newest is None else self._window.last_extent(newest)
        if self._window.range is None:
            last = _last_extent(self._window, self._groups.occupied, MIN_TIME)
            if self._closed is not None and (last is not None or self._last_full is not None):
                following = self._closed + 1  # open, and holds all there is, also before rows of its own come
                last = following if last is None else max(last, following)
        if last is not None:
            for k in list(self._extents_until(last, self._closed)):
                answers, failed = self._read(k, self._groups.peek)
                if failed is not None:
                    yield failed
                if answers is not None:
                    found.append(answers)
                if answers is not None or failed is not None:
                    full.append(k)
        if full and self._gaps:
            # empty extents that are final already are given once a later one that holds rows is final
            given = [k for k in (self._last_full, self._closed) if k is not None]
            after = max(given) if self._last_full is not None else None
            found += self._rows.between(np.array(full), after)
        shown = GroupAnswers.concat(found) if found else self._rows.of_nothing(np.empty(0, np.int64))
        frame = self._frame(shown.in_order() if self._gaps else shown)  # without empty ones they are in order
        yield Batch(frame, provisional=tick.at)
        yield tick

    @property
    def open_panes(self) -> list[tuple[int, int]]:
        """Where the panes held start and end, microseconds, in order of time; for those who draw them."""
        start = self._window.pane_start
        return [(start(pane), start(pane + 1)) for pane in self._groups.occupied]

    def _reconsider(self, k: int) -> None:
        """Whether the groups of extent k and those ahead had better be kept otherwise from here on."""
        groups = self._groups
        if not isinstance(groups, WindowGroups) or not groups.dense or groups.panes.bytes <= strategy.SPARED:
            return
        inputs = [e.dtype for e in self._config.computed.inputs]
        choice = strategy.reconsider(groups.panes.bytes, *would_take(groups, self._window, k, inputs))
        if choice is not None:
            self._go_over(choice)

    def _go_over(self, choice: strategy.StrategyChoice) -> None:
        """Keep sparse groups as rows from here on."""
        groups = self._groups
        assert isinstance(groups, WindowGroups)
        keys, inputs = self._config.computed.types, [e.dtype for e in self._config.computed.inputs]
        self._releasing = None
        self._groups = AdaptiveGroups.taking_over(groups, self._window, keys, self._config.computed.aggregates, inputs)
        self.synopses = self._groups.tables
        self.control.name = _title(self._config, choice)

    def _report(self) -> None:
        self.control.holds(self._groups.report())
        self.control.extra["live_groups"] = self._groups.live
        self.control.extra["open_panes"] = len(self._groups.occupied)
        self.control.extra.update(self._groups.counts())
        following = next(self._extents_until(np.iinfo(np.int64).max, self._closed), None)
        if following is not None:
            self.control.extra["next_final"] = self._window.end(following)
        else:
            self.control.extra.pop("next_final", None)

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        self._groups.check()


def _synopsis(config: WindowAggregateConfig) -> WindowGroups | ExtentGroups | AdaptiveGroups:
    keys = config.computed.types
    match config.choice.strategy:
        case "wid":
            return ExtentGroups(config.window, keys, config.computed.aggregates)
        case "adapt-wid" | "rows" as chosen:
            inputs = [e.dtype for e in config.computed.inputs]
            return AdaptiveGroups(config.window, keys, config.computed.aggregates, inputs, chosen == "adapt-wid")
    return WindowGroups(config.window, keys, config.computed.aggregates, marks=True)


def _title(config: WindowAggregateConfig, choice: StrategyChoice) -> str:
    ways = folds.describe(
        config.window, choice.strategy, [(a.function.name, a.form) for a in config.computed.aggregates]
    )
    return f"window aggregate {config.window}: {choice}" + (f"; {ways}" if ways else "")


def _last_extent(window: TimeWindow, occupied: SortedDict, reached: int) -> int | None:
    """The last extent at the end of the input, which had reached that punctuation and left rows in these panes."""
    newest = occupied.peekitem(-1)[0] if occupied else None
    if window.range is not None:
        return None if newest is None else window.last_extent(newest)
    # a landmark's: the first beyond the last row, whether or not that row is among ours
    ends = [] if newest is None else [window.first_extent(newest)]
    if reached != MIN_TIME:
        ends.append(window.closed(reached - 1) + 1)
    return max(ends, default=None)


def _first_end(window: TimeWindow, occupied: SortedDict, closed: int | None) -> int:
    """The end of the first extent after one that holds rows of these panes; `MAX_TIME` without any."""
    oldest = next(iter(occupied.irange(None if closed is None else window.first_pane(closed + 1))), None)
    if oldest is None:
        return MAX_TIME
    first = window.first_extent(oldest)
    return window.end(first if closed is None else max(first, closed + 1))


def _without_rest(messages: Iterator[Message]) -> Iterator[Message]:
    return (m for m in messages if not isinstance(m, Rest))


__all__ = ["WindowAggregate", "WindowAggregateConfig"]
