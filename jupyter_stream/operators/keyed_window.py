"""Window aggregation where punctuations may speak for one key (group-wise linear punctuation, window-queries thesis §2.3).

A key's extents are given, and what they alone needed is freed, as soon as that key is promised to be past them, whatever the
others do. Partial results are kept by group and pane in frames, from which those of a key can be taken out; where promises
are for all keys, `window_aggregate` does better.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import (
    BROKEN,
    LATE_ID,
    TS,
    WINDOW_END,
    WINDOW_ID,
    WINDOW_START,
    Batch,
    Failed,
    Int64s,
    KeyPunctuation,
    Message,
    Missed,
    Punctuation,
    Tick,
    ints,
)
from jupyter_stream.core.schema import TIMESTAMP
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.functions.expression import Expr
from jupyter_stream.operators.evaluate import Evaluator
from jupyter_stream.state.cells import SLOT, Cells
from jupyter_stream.state.group_aggregate import GroupAggregate
from jupyter_stream.state.slots import KeySlots
from jupyter_stream.state.spread import EXTENT, PANE, Spread
from jupyter_stream.windows import TimeWindow

_KEY = "$key"
_NEVER = -(2**62)
_SWEEP_ABOVE = 1024


@dataclass(frozen=True)
class KeyedWindowConfig:
    """What the aggregate computes.

    Attributes:
        window: sliding or tumbling.
        keys: (output name, expression, type) of the grouping columns.
        key: which of them punctuations speak of.
        inputs: expressions of arguments and FILTER conditions.
        aggregates: over those inputs, by index.
        integer_time: whether the windowing attribute is an integer rather than a TIMESTAMP.
        provisional: whether it answers ticks.
    """

    window: TimeWindow
    keys: tuple[tuple[str, Expr, pl.DataType], ...]
    key: int
    inputs: tuple[Expr, ...]
    aggregates: tuple[GroupAggregate, ...]
    integer_time: bool = False
    provisional: bool = False


class KeyedWindowAggregate:
    """Answers per extent and group, given when the extent is final for the group's key."""

    def __init__(self, config: KeyedWindowConfig) -> None:
        self.control = ControlTable(
            f"window aggregate {config.window}, final for each {config.keys[config.key][0]} by itself, by pane merge"
        )
        self.synopses = [ControlTable("panes"), ControlTable("keys")]
        self._config = config
        self._window = config.window
        self._evaluator = Evaluator([e for _, e, _ in config.keys] + list(config.inputs))
        self._rest = [i for i in range(len(config.keys)) if i != config.key]
        types = [(name, dtype) for name, _, dtype in config.keys]
        self._keys = KeySlots([types[config.key]])
        self._groups = KeySlots([(_KEY, pl.Int64()), *(types[i] for i in self._rest)]) if self._rest else None
        self._cells = Cells(config.aggregates, (SLOT, PANE))
        self._spread = Spread(config.window, self._key_of)
        self._given = np.empty(0, np.int64)  # of each key, the last extent given
        self._closed = _NEVER  # the last extent that is final for all keys
        self._newest = _NEVER  # the last pane with rows
        self._reached = MIN_TIME
        self._said = MIN_TIME
        self._swept = 0

    def boundary(self, punctuation: int) -> int:
        """Rows at or after this time miss no answer that is final at the punctuation."""
        if punctuation in (MIN_TIME, MAX_TIME):
            return punctuation
        return self._window.end(self._window.closed(punctuation))

    # -- rows --------------------------------------------------------------------------------------------------------

    def head(self, most: int) -> pl.DataFrame:
        """Some panes and groups, with how many rows each holds."""
        cells = self._cells.head(most)
        keys = self._key_columns(ints(cells.get_column(SLOT)))
        return pl.DataFrame([cells.get_column(PANE).alias("pane"), *keys, cells.get_column("rows")])

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Fold rows into their panes; late ones into what is still open for their key."""
        frame, columns, failed = self._evaluator.evaluate(batch.frame)
        if failed is not None:
            yield failed
        if not frame.height:
            return
        keys = self._key_slots(columns[self._config.key])
        groups = keys
        if self._groups is not None:
            groups = self._groups.encode([pl.Series(_KEY, keys), *(columns[i] for i in self._rest)])
        ts = ints(frame.get_column(TS))
        panes = self._window.pane(ts)
        cells = pl.DataFrame({SLOT: groups, PANE: panes})
        times, inputs = frame.get_column(TS), columns[len(self._config.keys) :]
        first, last = self._spread.extents_of(panes)
        usable, level = last >= first, np.full(ts.size, _NEVER)
        if BROKEN in frame.columns:
            late = frame.get_column(BROKEN).is_not_null().to_numpy()
            broken = ints(frame.get_column(BROKEN).fill_null(MIN_TIME))
            final = np.where(broken == MIN_TIME, _NEVER, self._window.closed_each(broken))
            final = np.where(late, np.maximum(final, self._given[keys]), _NEVER)
            missed = np.minimum(final, last) - first + 1
            missed[~late | (last < first) | (final < first)] = 0
            if (missed > 0).any():
                some = missed > 0
                self.control.late_rows += int(some.sum())
                yield Missed(ints(frame.get_column(LATE_ID).filter(pl.Series(some))), missed[some])
            usable &= final < last
            level[missed > 0] = final[missed > 0]
        # what a late row missed is given without it: those that missed nothing first, then by what was final when they came
        for at in np.unique(level[usable]).tolist():
            chosen = usable & (level == at)
            if at != _NEVER:
                target = np.full(self._given.size, _NEVER)
                target[keys[chosen]] = at
                yield from self._close(target)
            which = pl.Series(chosen)
            self._newest = max(self._newest, int(panes[chosen].max()))
            whole = bool(chosen.all())
            self._cells.add(
                cells if whole else cells.filter(which),
                times if whole else times.filter(which),
                inputs if whole else [c.filter(which) for c in inputs],
            )

    def _key_slots(self, column: pl.Series) -> Int64s:
        slots = self._keys.encode([column])
        if self._keys.capacity > self._given.size:
            grown = np.full(max(1024, 2 * self._keys.capacity), self._closed)
            grown[: self._given.size] = self._given
            self._given = grown
        return slots

    def _key_of(self, groups: Int64s) -> Int64s:
        return groups if self._groups is None else ints(self._groups.gather(groups)[0])

    # -- time --------------------------------------------------------------------------------------------------------

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Give the extents it makes final for all keys, and say so."""
        if punctuation.value <= self._reached:
            return
        self._reached = punctuation.value
        ended = punctuation.value == MAX_TIME
        closed = self._last() if ended else self._window.closed(punctuation.value)
        if closed > self._closed:
            self._closed = closed
            yield from self._close(np.full(self._given.size, min(closed, self._last())))
        self._sweep(ended)
        said = MAX_TIME if ended else self._window.end(closed + 1) - 1
        if said > self._said:
            self._said = self.control.low_watermark = said
            yield Punctuation(said)

    def on_key_punctuation(self, port: int, punctuation: KeyPunctuation) -> Iterator[Message]:
        """Give the extents it makes final for its keys, and say so."""
        slots = self._key_slots(punctuation.frame.get_column(punctuation.column))
        last = np.maximum(self._last(), self._closed)
        closed = self._window.closed_each(punctuation.frame.get_column(TS).to_numpy())
        target = np.full(self._given.size, _NEVER)
        target[slots] = np.minimum(closed, last)
        yield from self._close(target)
        self._sweep(False)
        name = self._config.keys[self._config.key][0]
        said = pl.Series(TS, (closed + 1) * self._window.slide + self._window.phase - 1)
        yield KeyPunctuation(pl.DataFrame([punctuation.frame.get_column(punctuation.column).alias(name), said]))

    def _last(self) -> int:
        """The last extent that holds rows."""
        if self._newest == _NEVER:
            return self._closed
        last = self._window.last_extent(self._newest)
        assert last is not None
        return last

    def _close(self, target: Int64s) -> Iterator[Message]:
        """Give the extents of each key up to `target`, and free what only they needed."""
        target = np.maximum(target, self._given)
        if (target > self._given).any():
            yield from self._give(self._given + 1, target)
            self._given = target
            self._drop()

    def _drop(self) -> None:
        def open_still(partials: pl.DataFrame) -> pl.DataFrame:
            _, last = self._spread.extents_of(ints(partials.get_column(PANE)))
            return partials.filter(pl.Series(last > self._given[self._key_of(ints(partials.get_column(SLOT)))]))

        self._cells.change(open_still)

    # -- answers -----------------------------------------------------------------------------------------------------

    def _give(self, first: Int64s, last: Int64s, provisional: int | None = None) -> Iterator[Message]:
        answers, beyond = self._cells.read(self._spread.picks(first, last), (SLOT, EXTENT))
        if beyond.height:
            bad = self._frame(beyond)
            bounds = [
                bad.get_column(WINDOW_START).alias("window_start"),
                bad.get_column(WINDOW_END).alias("window_end"),
            ]
            keys = [
                c
                for c in bad.get_columns()
                if not c.name.startswith("$") and c.name not in ("window_start", "window_end")
            ]
            yield Failed(pl.DataFrame([*keys, *bounds]), pl.Series(["a sum is beyond BIGINT"] * bad.height))
        if answers.height or provisional is not None:
            yield Batch(self._frame(answers.sort(EXTENT, maintain_order=True)), provisional)

    def _key_columns(self, slots: Int64s) -> list[pl.Series]:
        gathered: dict[int, pl.Series] = {self._config.key: self._keys.gather(self._key_of(slots))[0]}
        if self._groups is not None:
            gathered.update(zip(self._rest, self._groups.gather(slots)[1:], strict=True))
        return [gathered[i].alias(name) for i, (name, _, _) in enumerate(self._config.keys)]

    def _frame(self, answers: pl.DataFrame) -> pl.DataFrame:
        extents = ints(answers.get_column(EXTENT))
        keys = self._key_columns(ints(answers.get_column(SLOT)))
        ends = extents * self._window.slide + self._window.phase
        time = pl.Int64() if self._config.integer_time else TIMESTAMP
        assert self._window.range is not None
        return pl.DataFrame(
            [
                *keys,
                *(answers.get_column(a.name) for a in self._config.aggregates if a.name in answers.columns),
                pl.Series(WINDOW_START, ends - self._window.range).cast(time),
                pl.Series(WINDOW_END, ends).cast(time),
                pl.Series(WINDOW_ID, extents),
                pl.Series(TS, ends - 1),
            ]
        )

    def on_tick(self, tick: Tick) -> Iterator[Message]:
        """Provisional answers of every extent that is open for its key, as one snapshot."""
        if self._config.provisional:
            yield from self._give(self._given + 1, np.full(self._given.size, self._last()), provisional=tick.at)
        yield tick

    # -- state -------------------------------------------------------------------------------------------------------

    def _sweep(self, everything: bool) -> None:
        """Reuse slots of groups and keys without rows. Looks only when they have doubled since: amortised."""
        live = self._keys.live + (0 if self._groups is None else self._groups.live)
        if everything or live >= 2 * self._swept + _SWEEP_ABOVE:
            held = ints(self._cells.held().get_column(SLOT))
            keys = np.zeros(self._keys.capacity, np.bool_)
            keys[self._key_of(held)] = True
            if self._groups is not None:
                groups = np.zeros(self._groups.capacity, np.bool_)
                groups[held] = True
                self._groups.release(groups)
            self._keys.release(keys)
            # whoever gets the slot of a key that is gone begins where all are: a late row says itself what was final for it
            self._given[: keys.size][~keys] = self._closed
            if not self._keys.live:
                self._given = self._given[:0].copy()
            self._swept = self._keys.live + (0 if self._groups is None else self._groups.live)
        bytes_of_keys = self._given.nbytes + self._keys.bytes + (0 if self._groups is None else self._groups.bytes)
        self.synopses[0].holds(self._cells.bytes)
        self.synopses[1].holds(bytes_of_keys)
        self.control.holds(self._cells.bytes + bytes_of_keys)
        self.control.extra["live_keys"] = self._keys.live
        self.control.extra["partials"] = self._cells.rows

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        self._keys.check()
        if self._groups is not None:
            self._groups.check()


__all__ = ["KeyedWindowAggregate", "KeyedWindowConfig"]
