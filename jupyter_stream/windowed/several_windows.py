"""Aggregates over several windows that look at the same instants, side by side in one answer.

Each window has an aggregate of its own below; here their answers are put together by group and extent. The longest window holds
all that the others hold, so it says which answers there are: where another holds no row, a count is 0 and all else is NULL.
Not for windows with different slides, whose instants differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import (
    BROKEN,
    LATE_ID,
    TS,
    WINDOW_END,
    WINDOW_ID,
    Batch,
    Failed,
    Message,
    Missed,
    Punctuation,
    Tick,
)
from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.flow.evaluate import Evaluator
from jupyter_stream.flow.protocol import Operator, Shown, waits_for
from jupyter_stream.functions.expression import Column, Expr

_EXTENT = (WINDOW_END, WINDOW_ID)


@dataclass(frozen=True)
class WindowPart:
    """An aggregate over one of the windows.

    Attributes:
        operator: it; over `Inputs`, not over the rows themselves.
        columns: (name, type) of what it computes.
        counts: those of its columns that are 0 rather than NULL of no rows.
    """

    operator: Operator
    columns: tuple[tuple[str, pl.DataType], ...]
    counts: frozenset[str]


class Inputs:
    """What the aggregates read, computed once: a row on which any of it fails is in none of them.

    Args:
        expressions: keys, arguments and FILTER conditions.
    """

    def __init__(self, expressions: Iterable[Expr]) -> None:
        self._expressions = tuple(dict.fromkeys(expressions))
        self._evaluator = Evaluator(self._expressions)
        self._names = [f"$in{i}" for i in range(len(self._expressions))]

    def column(self, expression: Expr) -> Column:
        """The column that has an expression's values."""
        return Column(self._names[self._expressions.index(expression)], expression.dtype)

    def evaluate(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, Failed | None]:
        """The values, with the system columns that aggregates read; and the rows that failed."""
        frame, columns, failed = self._evaluator.evaluate(frame)
        kept = [frame.get_column(c) for c in (TS, BROKEN, LATE_ID) if c in frame.columns]
        return pl.DataFrame([*(c.alias(n) for n, c in zip(self._names, columns, strict=True)), *kept]), failed


class SeveralWindows:
    """Answers of several windows as one.

    Args:
        name: what EXPLAIN calls it.
        keys: the grouping columns.
        inputs: what the aggregates read.
        longest: the aggregate of the longest window.
        others: those of the others.
    """

    def __init__(
        self,
        name: str,
        keys: Sequence[str],
        inputs: Inputs,
        longest: WindowPart,
        others: Sequence[WindowPart],
    ) -> None:
        self.control = ControlTable(name)
        self._inputs = inputs
        self._parts = (longest, *others)
        self._by = [*keys, *_EXTENT]
        self._given: list[list[pl.DataFrame]] = [[] for _ in self._parts]
        self._beyond: list[pl.DataFrame] = []
        self.synopses = [t for part in self._parts for t in part.operator.synopses]
        for part in self._parts:
            for table in part.operator.synopses:
                table.name = f"{table.name} of {part.operator.control.name}"

    def head(self, most: int) -> pl.DataFrame:
        """The head of the longest window's state, as far as it can be looked at."""
        longest = self._parts[0].operator
        return longest.head(most) if isinstance(longest, Shown) else pl.DataFrame()

    @property
    def waits_for(self) -> int:
        """What the first of the aggregates does; of answers that wait for one another it isn't known."""
        if any(self._given):
            return MIN_TIME
        return min(waits_for(part.operator) for part in self._parts)

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Give the rows to every aggregate; answers wait for the punctuation that makes all of them final."""
        frame, failed = self._inputs.evaluate(batch.frame)
        if failed is not None:
            yield failed
        for i, part in enumerate(self._parts):
            yield from self._without_answers(i, part.operator.on_batch(0, batch.with_frame(frame)))
        self.control.late_rows = self._parts[0].operator.control.late_rows

    def _without_answers(self, part: int, messages: Iterable[Message]) -> Iterator[Message]:
        """Keep an aggregate's answers; what it says besides is said once, by the longest."""
        for message in messages:
            if isinstance(message, Batch):
                self._given[part].append(message.frame)
            elif isinstance(message, Failed):
                self._beyond.append(message.frame)
                yield message
            elif isinstance(message, Missed | Punctuation) and part == 0:
                yield message

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Give the extents it makes final."""
        said: list[Message] = []
        for i, part in enumerate(self._parts):
            for message in self._without_answers(i, part.operator.on_punctuation(0, punctuation)):
                if isinstance(message, Punctuation):
                    said.append(message)
                else:
                    yield message
        together = self._together(self._given)
        self._given = [[] for _ in self._parts]
        self._beyond = []
        if together is not None:
            yield Batch(together)
        self.control.holds(sum(part.operator.control.bytes for part in self._parts))
        self.control.extra.update(self._parts[0].operator.control.extra)
        self.control.low_watermark = self._parts[0].operator.control.low_watermark
        yield from said

    def on_tick(self, tick: Tick) -> Iterator[Message]:
        """Provisional answers of all windows, as one snapshot."""
        shown: list[list[pl.DataFrame]] = [[] for _ in self._parts]
        provisional = False
        for part, frames in zip(self._parts, shown, strict=True):
            for message in part.operator.on_tick(tick):
                if isinstance(message, Batch):
                    frames.append(message.frame)
                    provisional = True
                elif isinstance(message, Failed):
                    self._beyond.append(message.frame)
                    yield message
        together = self._together(shown)
        self._beyond = []
        if provisional and together is not None:
            yield Batch(together, provisional=tick.at)
        yield tick

    def _together(self, answers: Sequence[list[pl.DataFrame]]) -> pl.DataFrame | None:
        if not answers[0]:
            return None
        whole = pl.concat(answers[0])
        for part, frames in zip(self._parts[1:], answers[1:], strict=True):
            names = [n for n, _ in part.columns]
            if frames:
                own = pl.concat(frames).select(*self._by, *names)
                whole = whole.join(own, on=self._by, how="left", nulls_equal=True, maintain_order="left")
            else:
                whole = whole.with_columns(pl.lit(None, dtype).alias(n) for n, dtype in part.columns)
            whole = whole.with_columns(pl.col(n).fill_null(0) for n in names if n in part.counts)
        for bad in self._beyond:
            # a sum in it is beyond BIGINT: no answer, rather than one with a hole
            ends = bad.rename({"window_end": WINDOW_END}).select(c for c in self._by if c in (*bad.columns, WINDOW_END))
            whole = whole.join(ends, on=ends.columns, how="anti", nulls_equal=True, maintain_order="left")
        return whole

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        assert not any(self._given) or len(self._parts) > 1


__all__ = ["Inputs", "SeveralWindows", "WindowPart"]
