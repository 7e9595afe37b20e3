"""Aggregates over extents of any kind, from partial results of any kind: one operator over (extents, store).

Values are here: keys, inputs, answers. What an extent is, and when it is final, its `Extents` say step by step; partial results
are in a `PartialStore`. Windows of time whose promises are for all keys do better with panes: see `windowed.window_aggregate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from jupyter_stream.arrays.exact import BEYOND
from jupyter_stream.arrays.growing import Doubling
from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import (
    BROKEN,
    LATE_ID,
    TS,
    WINDOW_END,
    WINDOW_ID,
    WINDOW_PART,
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
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.flow.evaluate import Evaluator
from jupyter_stream.flow.protocol import Recall
from jupyter_stream.keys.partitioned import PartitionedSlots
from jupyter_stream.partials.cells import Cells
from jupyter_stream.partials.group_aggregate import GroupAggregate, GroupBy
from jupyter_stream.partials.store import SLOT, PartialStore, read_together
from jupyter_stream.windowed.extents import (
    Changed,
    Due,
    Extents,
    ExtentStep,
    KeyedExtents,
    Missing,
    Placed,
    TimedExtents,
)

_PARTIALS = 4_096
"""Partial results that may stay for longer than they are needed, besides as many as there are."""
_OUT_ROWS = 65_536
_BOUNDS = (WINDOW_START, WINDOW_END, WINDOW_ID, WINDOW_PART, TS)


@dataclass(frozen=True)
class PlacedRows:
    """Rows of a batch: their groups by slot, their frame, and the inputs of aggregates."""

    groups: Int64s
    frame: pl.DataFrame
    inputs: list[pl.Series]


class ExtentAggregate:
    """Answers per extent and group, given when the extent is final.

    Args:
        name: what EXPLAIN calls it.
        computed: the keys, and what is computed.
        slots: of the groups, and of the partitions that have extents of their own.
        extents: which there are.
        provisional: whether ticks are answered.
        beside: what is computed over other windows that end together with the first.
        store: makes what partial results are kept in, of what is computed and the column that tells them apart.
    """

    def __init__(
        self,
        name: str,
        computed: GroupBy,
        slots: PartitionedSlots,
        extents: Extents,
        provisional: bool = False,
        beside: Sequence[Sequence[GroupAggregate]] = (),
        store: Callable[[Sequence[GroupAggregate], str], PartialStore] = Cells,
    ) -> None:
        self.control = ControlTable(name)
        self.synopses = [ControlTable(extents.holds), ControlTable("partials"), ControlTable("key slots")]
        self._keys = [n for n, _, _ in computed.keys]
        self._evaluator = Evaluator(computed.expressions)
        self._slots = slots
        self._extents = extents
        self._provisional = provisional
        self._stores = [store(made, extents.at) for made in (computed.aggregates, *beside)]
        self._columns = [a.name for made in (computed.aggregates, *beside) for a in made]
        self._said = MIN_TIME
        self._partials = Doubling(_PARTIALS)
        self._groups = Doubling()

    # -- rows --------------------------------------------------------------------------------------------------------

    def head(self, most: int) -> pl.DataFrame:
        """Some extents, or partial results and groups, with how many rows each holds."""
        found = self._extents.head(most)
        if found is not None:
            partitions = self._slots.partitions
            keys = [] if partitions is None else partitions.gather(found[0])
            return pl.DataFrame([*keys, *found[1]])
        at, slots, *rest = self._stores[0].head(most).get_columns()
        return pl.DataFrame([at, *self._slots.gather(ints(slots)), *rest])

    @property
    def held_at(self) -> list[int]:
        """The numbers of the partial results held, each once and in order; for those who draw them."""
        numbers: list[int] = np.unique(ints(self._stores[0].held().get_column(self._extents.at))).tolist()
        return numbers

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Put rows where their extents are made of them; late ones into what was open when they came."""
        assert isinstance(self._extents, TimedExtents)
        if not batch.rows:
            return
        frame, columns, failed = self._evaluator.evaluate(batch.frame)
        if failed is not None:
            yield failed
        if not frame.height:
            return
        partitions, groups = self._slots.encode(columns, frame.height)
        broken = ints(frame.get_column(BROKEN).fill_null(MIN_TIME)) if BROKEN in frame.columns else None
        rows = PlacedRows(groups, frame, columns[len(self._keys) :])
        yield from self._follow(self._extents.take(partitions, ints(frame.get_column(TS)), broken), rows)

    def _follow(
        self, steps: Iterator[ExtentStep], rows: PlacedRows | None = None, ended: bool = False
    ) -> Iterator[Message]:
        changed = ended
        for step in steps:
            changed = True
            match step:
                case Placed():
                    assert rows is not None
                    self._place(step, rows)
                case Missing():
                    assert rows is not None
                    yield from self._missed(step, rows.frame)
                case Due():
                    yield from self._give(step, self._stores)
                case Changed():
                    self._change(step)
        if changed:
            self._release(everything=ended)
            self._report()

    def _place(self, step: Placed, rows: PlacedRows) -> None:
        groups, at, times, inputs = rows.groups, step.at, rows.frame.get_column(TS), rows.inputs
        if step.which is not None and not step.which.all():
            which = pl.Series(step.which)
            groups, at = groups[step.which], at[step.which]
            times, inputs = times.filter(which), [c.filter(which) for c in inputs]
        if at.size:
            self._stores[step.window].add(groups, at, times, inputs)

    def _missed(self, step: Missing, frame: pl.DataFrame) -> Iterator[Missed]:
        self.control.late_rows += int(step.which.sum())
        if LATE_ID not in frame.columns:
            return
        told = step.which & frame.get_column(LATE_ID).is_not_null().to_numpy()
        if told.any():
            ids = ints(frame.get_column(LATE_ID).filter(pl.Series(told)))
            yield Missed(ids, None if step.extents is None else step.extents[told])

    def _change(self, step: Changed) -> None:
        store = self._stores[step.window]
        if step.at_once or self._partials.due(self._held):
            store.change(step.change)
            if step.window == len(self._stores) - 1:
                self._partials.looked(self._held)

    # -- answers -----------------------------------------------------------------------------------------------------

    def _give(self, due: Due, stores: Sequence[PartialStore], provisional: int | None = None) -> Iterator[Message]:
        frames = []
        for answers, beyond in read_together(stores, due.picks, self._extents.by):
            if beyond.height:
                yield self._overflowed(self._extents.bounded(due.ordered(beyond)))
            if provisional is not None:
                frames.append(self._frame(due.ordered(answers)))
            elif answers.height:
                ordered = due.ordered(answers)
                for piece in self._frame(ordered if self._keys else self._extents.filled(ordered)).iter_slices(
                    _OUT_ROWS
                ):
                    yield Batch(piece)
        if provisional is not None:
            yield Batch(pl.concat(frames), provisional)

    def _frame(self, answers: pl.DataFrame) -> pl.DataFrame:
        """Answers, in order, as they are given."""
        answers = self._extents.bounded(answers)
        bounds = [answers.get_column(n) for n in _BOUNDS if n in answers.columns]
        made = [answers.get_column(n) for n in self._columns]
        return pl.DataFrame([*self._slots.gather(ints(answers.get_column(SLOT))), *made, *bounds])

    def _overflowed(self, bad: pl.DataFrame) -> Failed:
        """Answers that can't be given, as their keys and extents."""
        bounds = [bad.get_column(n).alias(n.removeprefix("$")) for n in (WINDOW_START, WINDOW_END)]
        names = [c.name for c in bounds]
        keys = [c for c in self._slots.gather(ints(bad.get_column(SLOT))) if c.name not in names]
        return Failed.all(pl.DataFrame([*keys, *bounds]), BEYOND)

    # -- time --------------------------------------------------------------------------------------------------------

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Give the extents it makes final, and say so."""
        yield from self._follow(self._extents.punctuate(punctuation.value), ended=punctuation.value == MAX_TIME)
        said = self._extents.said(punctuation.value)
        if said > self._said:
            self._said = self.control.low_watermark = said
            yield Punctuation(said)

    def on_tick(self, tick: Tick) -> Iterator[Message]:
        """Provisional answers of every open extent, as one snapshot."""
        if self._provisional:
            yield from self._give(self._extents.open(), [store.opened() for store in self._stores], tick.at)
        yield tick

    def recalls(self) -> Recall | None:
        """What its extents go by."""
        return None if self._provisional else self._extents.recalls()

    # -- state -------------------------------------------------------------------------------------------------------

    @property
    def _held(self) -> int:
        return sum(store.rows for store in self._stores)

    def _release(self, everything: bool) -> None:
        """Reuse slots of groups and partitions without rows. Looks only when they have doubled since: amortised."""
        if not everything and not self._groups.due(self._slots.live):
            return
        held = np.concatenate([ints(store.held().get_column(SLOT)) for store in self._stores])
        self._slots.release(held, self._extents.remembered())
        if self._slots.partitions is not None:
            self._extents.forgotten(self._slots.partitions.used)
        self._groups.looked(self._slots.live)

    def _report(self) -> None:
        held = (self._extents.bytes, sum(store.bytes for store in self._stores), self._slots.bytes)
        for table, count in zip(self.synopses, held, strict=True):
            table.holds(count)
        self.control.holds(sum(held))
        self.control.extra["partials"] = self._held
        self.control.extra["partitions"] = 1 if self._slots.partitions is None else self._slots.partitions.live
        self.control.extra["live_groups"] = self._slots.live_groups
        self.control.extra.pop("next_final", None)
        self.control.extra.update(self._extents.counts())

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        self._slots.check()
        for store in self._stores:
            store.check()
        self._extents.check(ints(self._stores[0].held().get_column(self._extents.at)))


class KeyedExtentAggregate(ExtentAggregate):
    """The same where punctuations may speak for one key (group-wise linear punctuation, window-queries thesis §2.3).

    A key's extents are given, and what they alone needed is freed, as soon as the key is promised to be past them, whatever
    the others do.

    Args:
        name: what EXPLAIN calls it.
        computed: the keys, and what is computed.
        slots: of the groups, and of the partitions.
        extents: which there are.
        provisional: whether ticks are answered.
        key: which of the partition's columns punctuations speak of.
        store: makes what partial results are kept in.
    """

    def __init__(
        self,
        name: str,
        computed: GroupBy,
        slots: PartitionedSlots,
        extents: KeyedExtents,
        provisional: bool,
        key: int,
        store: Callable[[Sequence[GroupAggregate], str], PartialStore] = Cells,
    ) -> None:
        super().__init__(name, computed, slots, extents, provisional, store=store)
        self._key = key

    def recalls(self) -> Recall | None:
        """What was promised of each key too, which nobody repeats."""
        return None

    def on_key_punctuation(self, port: int, punctuation: KeyPunctuation) -> Iterator[Message]:
        """Give the extents it makes final for its keys, and say so."""
        extents, partitions = self._extents, self._slots.partitions
        assert isinstance(extents, KeyedExtents) and partitions is not None
        used = partitions.used
        key = partitions.gather(used)[self._key]
        told = punctuation.frame.rename({punctuation.column: key.name})
        promised = np.full(partitions.capacity, MIN_TIME)
        if used.size:
            of_each = key.to_frame().join(told, on=key.name, how="left", nulls_equal=True, maintain_order="left")
            promised[used] = ints(of_each.get_column(TS).fill_null(MIN_TIME))
        yield from self._follow(extents.promise(promised))
        said = extents.answered(ints(told.get_column(TS)))
        yield KeyPunctuation(told.with_columns(pl.Series(TS, said)))


__all__ = ["ExtentAggregate", "KeyedExtentAggregate", "PlacedRows"]
