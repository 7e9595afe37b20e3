"""Aggregation over windows of rows: `[ROWS n SLIDE m]`, the same inside partitions (window-queries thesis §5.1.3, §5.2).

A row's number is a progressing attribute that comes in order by itself, so no row is late and an extent is final when its
last row has come. Not for windows over time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import (
    TS,
    WINDOW_END,
    WINDOW_ID,
    WINDOW_PART,
    WINDOW_START,
    Batch,
    Failed,
    Int64s,
    Message,
    Punctuation,
    Tick,
    ints,
)
from jupyter_stream.core.order import order_of
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.functions.expression import Expr
from jupyter_stream.operators.evaluate import Evaluator
from jupyter_stream.state.cells import SLOT
from jupyter_stream.state.group_aggregate import GroupAggregate
from jupyter_stream.state.row_panes import RowPanes, read_together
from jupyter_stream.state.slots import KeySlots
from jupyter_stream.state.spread import EXTENT, PANE
from jupyter_stream.windows import RowWindow

_NUMBER = "$number"
PARTITION = "$partition"


@dataclass(frozen=True)
class RowWindowConfig:
    """What an aggregate over a window of rows, or over several that end with the same rows, computes.

    Attributes:
        window: its rows and slide; the longest of several.
        keys: (output name, expression, type) of the grouping columns, those of the partition among them.
        partition: which of the keys rows are numbered within; empty for all rows together.
        inputs: expressions of arguments and FILTER conditions.
        aggregates: over those inputs, by index.
        beside: the other windows, with what is computed over each.
        where: rows for which it isn't true are numbered and not aggregated; None without.
        provisional: whether it answers ticks.
    """

    window: RowWindow
    keys: tuple[tuple[str, Expr, pl.DataType], ...]
    partition: tuple[int, ...]
    inputs: tuple[Expr, ...]
    aggregates: tuple[GroupAggregate, ...]
    beside: tuple[tuple[RowWindow, tuple[GroupAggregate, ...]], ...] = ()
    where: Expr | None = None
    provisional: bool = False


class RowWindowAggregate:
    """Answers per partition, extent and group, given when the extent's last row has come.

    An answer's time is the newest time of any row so far: so answers come in the order of their times.
    """

    def __init__(self, config: RowWindowConfig) -> None:
        windows = ((config.window, config.aggregates), *config.beside)
        self.control = ControlTable(f"row window aggregate {' beside '.join(str(w) for w, _ in windows)} by pane merge")
        self.synopses = [ControlTable("panes"), ControlTable("row numbers")]
        assert config.window.slide is not None
        self._config = config
        self._slide = config.window.slide
        self._rest = [i for i in range(len(config.keys)) if i not in config.partition]
        numbering = [config.keys[i][1] for i in config.partition]
        self._counted = Evaluator(numbering if config.where is None else [*numbering, config.where])
        self._evaluator = Evaluator([config.keys[i][1] for i in self._rest] + list(config.inputs))
        types = [(name, dtype) for name, _, dtype in config.keys]
        self._partitions = KeySlots([types[i] for i in config.partition]) if config.partition else None
        own = [(PARTITION, pl.Int64()), *(types[i] for i in self._rest)]
        self._groups = KeySlots(own) if self._rest else None
        self._windows = [RowPanes(window, made, self._partition_of) for window, made in windows]
        self._aggregates = [a for panes in self._windows for a in panes.aggregates]
        self._count = np.zeros(1, np.int64)  # rows so far of each partition
        self._newest = MIN_TIME
        self._said = MIN_TIME
        self._swept = 0
        self._last_full: int | None = None  # ungrouped: the last extent given that held rows

    # -- rows --------------------------------------------------------------------------------------------------------

    def head(self, most: int) -> pl.DataFrame:
        """Some panes and groups, with how many rows each holds."""
        cells = self._windows[0].cells.head(most)
        slots = ints(cells.get_column(SLOT))
        keys = self._key_columns(cells.with_columns(pl.Series(PARTITION, self._partition_of(slots))))
        return pl.DataFrame([cells.get_column(PANE).alias("pane"), *keys, cells.get_column("rows")])

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Number the rows, fold them into their panes, give the extents they complete."""
        if not batch.rows:
            return
        frame, columns, failed = self._counted.evaluate(batch.frame)
        if failed is not None:
            yield failed
        if not frame.height:
            return
        ts = ints(frame.get_column(TS))
        newest = np.maximum(np.maximum.accumulate(ts), self._newest)
        self._newest = int(newest[-1])
        slots = self._partition_slots(columns[: len(self._config.partition)], frame.height)
        before = self._count.copy()
        numbers = self._number(slots)
        numbered = frame.with_columns(pl.Series(PARTITION, slots), pl.Series(_NUMBER, numbers))
        if self._config.where is not None:
            numbered = numbered.filter(columns[-1].fill_null(False))
        numbered, columns, failed = self._evaluator.evaluate(numbered)
        if failed is not None:
            yield Failed(failed.frame.drop(PARTITION, _NUMBER), failed.reasons)
        if numbered.height:
            rest = len(self._rest)
            self._fold(numbered, columns[:rest], columns[rest:])
        ends = np.flatnonzero(numbers % self._slide == 0)
        if ends.size:
            closed = pl.DataFrame({PARTITION: slots[ends], EXTENT: numbers[ends] // self._slide, TS: newest[ends]})
            yield from self._give(before // self._slide + 1, self._count // self._slide, closed)
            self._sweep()

    def _partition_slots(self, columns: list[pl.Series], rows: int) -> Int64s:
        if self._partitions is None:
            return np.zeros(rows, np.int64)
        slots = self._partitions.encode(columns)
        if self._partitions.capacity > self._count.size:
            grown = np.zeros(max(1024, 2 * self._partitions.capacity), np.int64)
            grown[: self._count.size] = self._count
            self._count = grown
        return slots

    def _number(self, slots: Int64s) -> Int64s:
        """Each row's number in its partition, from 1."""
        if self._partitions is None:
            first = int(self._count[0]) + 1
            self._count[0] += slots.size
            return np.arange(first, first + slots.size)
        order = order_of(slots)
        ordered = slots[order]
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        lengths = np.diff(np.append(starts, ordered.size))
        numbers = np.empty(slots.size, np.int64)
        numbers[order] = self._count[ordered] + np.arange(1, ordered.size + 1) - np.repeat(starts, lengths)
        self._count[ordered[starts]] += lengths
        return numbers

    def _fold(self, frame: pl.DataFrame, rest: list[pl.Series], inputs: list[pl.Series]) -> None:
        slots = ints(frame.get_column(PARTITION))
        groups = slots if self._groups is None else self._groups.encode([pl.Series(PARTITION, slots), *rest])
        for panes in self._windows:
            panes.add(groups, ints(frame.get_column(_NUMBER)), frame.get_column(TS), inputs)

    # -- answers -----------------------------------------------------------------------------------------------------

    def _partition_of(self, groups: Int64s) -> Int64s:
        return groups if self._groups is None else ints(self._groups.gather(groups)[0])

    def _give(
        self, first: Int64s, last: Int64s, closed: pl.DataFrame | None, provisional: int | None = None
    ) -> Iterator[Message]:
        """Answers of the extents `first[p]` to `last[p]` of each partition p, in the order of `closed` if it is given."""
        answers, beyond = read_together(self._windows, first, last)
        if beyond.height:
            yield self._overflowed(beyond)
        if not answers.height and provisional is None:
            return
        groups = ints(answers.get_column(SLOT))
        answers = answers.with_columns(pl.Series(PARTITION, self._partition_of(groups)))
        if closed is None:
            answers = answers.with_columns(pl.lit(self._newest, pl.Int64()).alias(TS)).sort(
                EXTENT, PARTITION, maintain_order=True
            )
        else:
            answers = closed.join(answers, on=[PARTITION, EXTENT], how="inner", maintain_order="left_right")
        if not self._config.keys and provisional is None:
            answers = self._with_empties(answers)
        yield Batch(self._frame(answers), provisional)

    def _with_empties(self, answers: pl.DataFrame) -> pl.DataFrame:
        """Ungrouped: extents between those that hold rows are answered too, when the next full one is."""
        if not answers.height:
            return answers
        full = ints(answers.get_column(EXTENT))
        known = full if self._last_full is None else np.append(self._last_full, full)
        self._last_full = int(full[-1])
        gaps = np.diff(known) - 1
        if not gaps.any():
            return answers
        after = np.repeat(np.arange(gaps.size), gaps)  # of each empty extent, the full one before it, among `known`
        extents = np.arange(after.size) - np.repeat(np.cumsum(gaps) - gaps, gaps) + known[after] + 1
        nothing = answers[pl.Series(after + (known.size == full.size))].with_columns(
            pl.Series(EXTENT, extents),
            *(pl.lit(0 if a.function.name == "count" else None, a.dtype).alias(a.name) for a in self._aggregates),
        )
        return pl.concat([answers, nothing]).sort(EXTENT, maintain_order=True)

    def _frame(self, answers: pl.DataFrame) -> pl.DataFrame:
        """The columns of answers from $partition, slot, extent, the aggregates and $ts."""
        partitions = ints(answers.get_column(PARTITION))
        extents = ints(answers.get_column(EXTENT))
        ends = extents * self._slide
        system = [
            pl.Series(WINDOW_START, np.maximum(ends - self._config.window.rows + 1, 1)),
            pl.Series(WINDOW_END, np.minimum(ends, self._count[partitions])),
            pl.Series(WINDOW_ID, extents),
            pl.Series(WINDOW_PART, partitions),
            answers.get_column(TS),
        ]
        aggregates = [answers.get_column(a.name) for a in self._aggregates]
        return pl.DataFrame([*self._key_columns(answers), *aggregates, *system])

    def _key_columns(self, answers: pl.DataFrame) -> list[pl.Series]:
        gathered: dict[int, pl.Series] = {}
        if self._partitions is not None:
            columns = self._partitions.gather(ints(answers.get_column(PARTITION)))
            gathered.update(zip(self._config.partition, columns, strict=True))
        if self._groups is not None:
            columns = self._groups.gather(ints(answers.get_column(SLOT)))[1:]
            gathered.update(zip(self._rest, columns, strict=True))
        return [gathered[i].alias(name) for i, (name, _, _) in enumerate(self._config.keys)]

    def _overflowed(self, bad: pl.DataFrame) -> Failed:
        """Answers that can't be given, as their keys and extents."""
        bad = bad.with_columns(pl.Series(PARTITION, self._partition_of(ints(bad.get_column(SLOT)))))
        ends = ints(bad.get_column(EXTENT)) * self._slide
        last = np.minimum(ends, self._count[ints(bad.get_column(PARTITION))])
        bounds = {"window_start": np.maximum(ends - self._config.window.rows + 1, 1), "window_end": last}
        keys = [c for c in self._key_columns(bad) if c.name not in bounds]
        frame = pl.DataFrame([*keys, *(pl.Series(n, v) for n, v in bounds.items())])
        return Failed(frame, pl.Series(["a sum is beyond BIGINT"] * frame.height, dtype=pl.String()))

    # -- time --------------------------------------------------------------------------------------------------------

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Nothing more is final before the end; but answers come in the order of their times."""
        self._report()
        if punctuation.value == MAX_TIME:
            yield from self._give(*self._open(), None)
            self._forget()
        said = MAX_TIME if punctuation.value == MAX_TIME else self._newest
        if said > self._said:
            self._said = self.control.low_watermark = said
            yield Punctuation(said)

    def on_tick(self, tick: Tick) -> Iterator[Message]:
        """Provisional answers of every extent that holds rows and waits for more, as one snapshot."""
        if self._config.provisional:
            yield from self._give(*self._open(), None, provisional=tick.at)
        yield tick

    def _open(self) -> tuple[Int64s, Int64s]:
        """The first and the last extent of each partition that hold rows and wait for more."""
        first = self._count // self._slide + 1
        last = np.where(self._count > 0, (self._count + self._config.window.rows - 1) // self._slide, 0)
        return first, last

    # -- state -------------------------------------------------------------------------------------------------------

    @property
    def _partials(self) -> int:
        return sum(panes.cells.rows for panes in self._windows)

    def _sweep(self) -> None:
        """Free panes no open extent holds. Looks only when partial results have doubled since it last looked: amortised."""
        if self._partials < 2 * self._swept + 4_096:
            return
        for panes in self._windows:
            panes.free(self._count // self._slide)
        self._swept = self._partials
        if self._groups is not None:
            live = np.zeros(self._groups.capacity, np.bool_)
            for panes in self._windows:
                live[ints(panes.cells.held().get_column(SLOT))] = True
            self._groups.release(live)

    def _forget(self) -> None:
        for panes in self._windows:
            panes.cells.change(lambda partials: partials.clear())
        self._count[:] = 0
        for slots in (self._groups, self._partitions):
            if slots is not None:
                slots.release(np.zeros(slots.capacity, np.bool_))
        self._report()

    def _report(self) -> None:
        cells = sum(panes.cells.bytes for panes in self._windows) + (
            self._groups.bytes if self._groups is not None else 0
        )
        numbers = self._count.nbytes + (self._partitions.bytes if self._partitions is not None else 0)
        self.synopses[0].holds(cells)
        self.synopses[1].holds(numbers)
        self.control.holds(cells + numbers)
        self.control.extra["partials"] = self._partials
        self.control.extra["partitions"] = self._partitions.live if self._partitions is not None else 1

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        for slots in (self._groups, self._partitions):
            if slots is not None:
                slots.check()
        assert (self._count >= 0).all()


__all__ = ["RowWindowAggregate", "RowWindowConfig"]
