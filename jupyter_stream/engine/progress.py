"""From records to rows of a stream: event time, arrival numbers, punctuation, and who is late, judged row by row.

The only place where a stream's declaration of progress meets its rows (stream-mill paper §3; thesis §8.1).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Final, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.core.messages import (
    BROKEN,
    BROKEN_BY_ALL,
    LATE_ID,
    ROW,
    TS,
    Batch,
    Failed,
    Int64s,
    Message,
    Missed,
    Punctuation,
    Tick,
    ints,
)
from jupyter_stream.core.time import MAX_TIME, MIN_TIME, show_duration
from jupyter_stream.engine.clusters import Breaks, Clusters
from jupyter_stream.engine.key_progress import KeyFrontier
from jupyter_stream.engine.leaders import Leaders
from jupyter_stream.engine.outliers import allowed, horizon, outliers
from jupyter_stream.engine.spread import CHUNK, TimeSpread
from jupyter_stream.graph.graph import Boundary
from jupyter_stream.plan.catalog import Apart, Ordered, PunctuationColumn, Slack, StreamDef, Watermark

FAR: Final = 2**62
"""Times beyond this are no times: with them, the ends of windows would be beyond 64 bits."""


class Frontier:
    """How far a stream has got, and which of its rows broke what was promised."""

    def __init__(self) -> None:
        self.value = MIN_TIME
        self.newest = MIN_TIME

    def take(self, ts: Int64s, boundary: Boundary, spread: TimeSpread) -> Int64s | None:
        """Note the times of rows in arrival order, which are spread so far.

        Returns:
            For each row the punctuation it broke, MIN_TIME where none; None if no row missed anything that `boundary`
            calls final.
        """
        self.newest = max(self.newest, spread.greatest)
        return None

    def promised(self, ts: Int64s) -> Int64s:
        """The punctuation before each of these rows, which are not noted."""
        return np.full(ts.size, self.value)


class DelayFrontier(Frontier):
    """`max(ts) - delay`."""

    def __init__(self, delay: int) -> None:
        super().__init__()
        self._delay = delay

    def take(self, ts: Int64s, boundary: Boundary, spread: TimeSpread) -> Int64s | None:
        newest = max(self.newest, spread.greatest)
        value = max(self.value, newest - self._delay)
        if spread.least >= boundary(value):  # nothing that they are in is final behind the last of them
            self.newest, self.value = newest, value
            return None
        return self._by_chunks(ts, boundary, spread)

    def _by_chunks(self, ts: Int64s, boundary: Boundary, spread: TimeSpread) -> Int64s | None:
        broken: Int64s | None = None
        for start, low, high in zip(range(0, ts.size, CHUNK), spread.lows, spread.highs, strict=True):
            chunk = ts[start : start + CHUNK]
            before, reached = self.newest, self.value
            self.newest = max(before, high)
            self.value = max(reached, self.newest - self._delay)
            final = boundary(self.value)
            if low >= final:
                continue
            if low >= boundary(final - 1) and reached < final:
                # one answer became final in this chunk: only rows after the one that made it so can have missed it
                passed = int(np.argmax(chunk >= final + self._delay))
                if passed + 1 == chunk.size or int(chunk[passed + 1 :].min()) >= final:
                    continue
            judged = self._one_by_one(chunk, before)
            if judged is not None:
                if broken is None:
                    broken = np.full(ts.size, MIN_TIME)
                broken[start : start + chunk.size] = judged
        return broken

    def promised(self, ts: Int64s) -> Int64s:
        newest = np.maximum(np.maximum.accumulate(ts), self.newest)
        before: Int64s = np.concatenate([[self.value], newest[:-1] - self._delay])
        np.maximum(before, self.value, out=before)
        return before

    def _one_by_one(self, ts: Int64s, before: int) -> Int64s | None:
        newest = np.maximum.accumulate(ts)
        if newest[0] < before:
            newest[: int(np.searchsorted(newest, before))] = before
        if int((newest - ts).view(np.uint64).max()) <= self._delay:  # the difference may have all 64 bits
            return None
        promised = np.empty_like(newest)
        promised[1:] = newest[:-1]
        promised[0] = ts[0] if before == MIN_TIME else before
        promised -= self._delay
        late = ts < promised
        return np.where(late, promised, MIN_TIME) if late.any() else None


class SlackFrontier(Frontier):
    """The (n+1)-th newest time: a row comes after at most n newer ones."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self._rows = rows
        self._top: list[int] = []  # heap of the newest n + 1

    def take(self, ts: Int64s, boundary: Boundary, spread: TimeSpread) -> Int64s | None:
        keep = self._rows + 1
        super().take(ts, boundary, spread)
        both = np.concatenate([np.array(self._top, np.int64), ts])
        top = np.partition(both, both.size - keep)[both.size - keep :] if both.size > keep else both
        reached = max(self.value, int(top.min())) if top.size == keep else self.value
        broken = None
        if spread.least < boundary(reached):
            broken = self._one_by_one(ts)
        self._top = top.tolist()
        heapq.heapify(self._top)
        self.value = reached
        return broken

    def _one_by_one(self, ts: Int64s) -> Int64s:
        promised = self.promised(ts)
        return np.where(ts < promised, promised, MIN_TIME)

    def promised(self, ts: Int64s) -> Int64s:
        heap, value = list(self._top), self.value
        heapq.heapify(heap)
        promised = np.empty_like(ts)
        for i, t in enumerate(ts.tolist()):
            promised[i] = value
            if len(heap) <= self._rows:
                heapq.heappush(heap, t)
            elif t > heap[0]:
                heapq.heapreplace(heap, t)
            if len(heap) > self._rows:
                value = max(value, heap[0])
        return promised


class ApartFrontier(Frontier):
    """The newest time but for the last n rows: rows more than n apart are in order."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self._rows = rows
        self._last = np.empty(0, np.int64)  # times of the last n rows

    def take(self, ts: Int64s, boundary: Boundary, spread: TimeSpread) -> Int64s | None:
        promised, last = self._promised(ts)
        super().take(ts, boundary, spread)
        self._last, self.value = last, int(promised[-1])
        if spread.least >= boundary(self.value):
            return None
        late = ts < promised[:-1]
        return np.where(late, promised[:-1], MIN_TIME) if late.any() else None

    def promised(self, ts: Int64s) -> Int64s:
        return self._promised(ts)[0][:-1]

    def _promised(self, ts: Int64s) -> tuple[Int64s, Int64s]:
        """What is promised before each row and behind the last; the times of the last n rows then."""
        times = np.concatenate([self._last, ts])
        passed = times[: max(0, times.size - self._rows)]  # those that n rows came after
        known = np.maximum(np.maximum.accumulate(passed), self.value)
        early = np.full(ts.size + 1 - known.size, self.value)
        return np.concatenate([early, known]), times[passed.size :]


class SaidFrontier(Frontier):
    """Punctuations come in the stream, where `Ingest` finds them, or not at all."""

    def say(self, value: int) -> None:
        """A punctuation has come."""
        self.value = max(self.value, value)


def frontier(stream: StreamDef) -> Frontier:
    """The frontier a declaration asks for."""
    progress = stream.time.progress
    if stream.time.kind != "external":
        return DelayFrontier(0)
    if isinstance(progress, Watermark):
        return DelayFrontier(progress.delay)
    if isinstance(progress, Slack):
        return SlackFrontier(progress.rows)
    if isinstance(progress, Apart):
        return ApartFrontier(progress.rows)
    return SaidFrontier()


def further_order(stream: StreamDef) -> Frontier | None:
    """What CONSTRAINT ORDERED promises, where the stream progresses by something else."""
    said = next((c.progress for c in stream.constraints if isinstance(c, Ordered)), None)
    if said is None or said == stream.time.progress:
        return None
    return ApartFrontier(said.rows) if isinstance(said, Apart) else DelayFrontier(said.delay)


def _nothing_is_over(punctuation: int) -> int:
    return MIN_TIME


class Ingest:
    """Turns frames of one source into messages of the stream.

    Args:
        stream: its declaration.
        numbered: whether rows are to carry their arrival number; may be set later, the numbers are those of all rows so far.
    """

    def __init__(self, stream: StreamDef, numbered: bool) -> None:
        self.stream = stream
        self.frontier = frontier(stream)
        self.boundaries: list[Boundary] = []
        self.intervals: list[int] = []
        """EMIT intervals of the readers. A snapshot shows what was open when its row came, so that row begins a batch."""
        self.revised = 0
        """Readers that want provisional answers whenever rows have come (EMIT CHANGES)."""
        self.rows = 0
        self.first: int | None = None
        """The time of the first row, as far as it had one; None before."""
        self.numbered = numbered
        self.leaders = Leaders()
        """Which rows made others late."""
        self._ahead = allowed(stream)
        progress = stream.time.progress
        self._keys = KeyFrontier(progress.key) if isinstance(progress, PunctuationColumn) and progress.key else None
        clustered = stream.clustered
        self.clusters: Clusters | None = None
        if clustered is not None:
            field = stream.schema.find(clustered.column)
            assert field is not None
            self.clusters = Clusters(clustered, field.dtype)
        self._order = further_order(stream)
        self._said = MIN_TIME

    @property
    def constrained(self) -> bool:
        """Whether rows may break a constraint and miss no answer by it."""
        return self.clusters is not None or self._order is not None

    def _boundary(self, punctuation: int) -> int:
        # the finest of the readers'; without any, whoever breaks the punctuation is late
        return max((b(punctuation) for b in self.boundaries), default=punctuation)

    def take(self, frame: pl.DataFrame) -> Iterator[Message]:
        """Rows that arrived: batches, and the punctuation they make true."""
        if not frame.height:
            return
        first = self.rows + 1
        self.rows += frame.height
        if self.numbered:
            frame = frame.with_columns(pl.int_range(first, first + frame.height, dtype=pl.Int64).alias(ROW))
        spread: TimeSpread | None = None
        if TS not in frame.columns:  # internal and latent time stamps were put on arrival
            frame, failed, spread = self._timed(frame)
            if failed is not None:
                yield failed
            if not frame.height:
                return
        for piece in self._between_ticks(frame):
            yield from self._judge(piece, spread if piece is frame else None)
            yield from self._say(self.frontier.value)
        if self.revised:
            yield Tick(self.frontier.newest)

    def _between_ticks(self, frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """The frame, cut before each row whose time reaches or passes a multiple of a reader's interval."""
        if not self.intervals:
            yield frame
            return
        ts = ints(frame.get_column(TS))
        said = self._punctuations(frame)
        if said is not None:
            ts = np.where(said.is_null().to_numpy(), ts, MIN_TIME)
        newest = np.maximum(np.maximum.accumulate(ts), self.frontier.newest)
        before = np.concatenate([[self.frontier.newest], newest[:-1]])
        passed = np.zeros(ts.size, np.bool_)
        for interval in set(self.intervals):
            passed |= (newest // interval > before // interval) & (before != MIN_TIME)
        cuts = np.flatnonzero(passed).tolist()
        if cuts and ROW not in frame.columns:
            numbers = pl.int_range(self.rows - frame.height + 1, self.rows + 1, dtype=pl.Int64)
            frame = frame.with_columns(numbers.alias(ROW))
        for start, end in zip([0, *cuts], [*cuts, frame.height], strict=True):
            if start < end:
                yield frame[start:end]

    def _timed(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, Failed | None, TimeSpread | None]:
        """Rows with `$ts` from their time column; rows that are not punctuations need one. And their spread, if known."""
        column = self.stream.time.column
        assert column is not None
        times = frame.get_column(column).cast(pl.Int64)
        if self.first is None:
            self.first = times[0]
        of = self.stream.time.ahead_of
        beyond = horizon(self._ahead, of)
        spread = None if times.null_count() else TimeSpread.of(ints(times))
        near = _near(times, spread, min(beyond, FAR))
        if near and spread is not None:
            # not with_columns: that goes through a planner, 50 µs a call
            return frame.hstack([times.alias(TS)]), None, spread
        said = self._punctuations(frame)
        missing = times.is_null() if said is None else times.is_null() & said.is_null()
        if ROW not in frame.columns:  # rows are about to be taken out, so that the others couldn't be numbered later
            frame = frame.with_columns(
                pl.int_range(self.rows - frame.height + 1, self.rows + 1, dtype=pl.Int64).alias(ROW)
            )
        far = ahead = pl.repeat(False, frame.height, eager=True)
        if not near:
            far = ~times.is_between(-FAR, FAR).fill_null(True)
        if not near and self._ahead is not None:
            known = ints(times.set(far, None).fill_null(MIN_TIME))
            ahead = pl.Series(outliers(known, self.frontier.newest, self._ahead, beyond, of))
        wrong = missing | far | ahead
        frame = frame.with_columns(times.fill_null(0).alias(TS))
        if not wrong.any():
            return frame, None, None
        no_time = f"{column} is NULL, and every row needs a time"
        too_far = f"{column} is too far from 1970: times reach from -2^62 to 2^62 microseconds"
        whose = {"clock": "the clock", "rows": "the rows before it"}.get(of, "the clock and of the rows before it")
        most = "" if self._ahead is None or of == "both" else f", by more than {show_duration(self._ahead)}"
        too_early = (
            f"{column} is too far ahead of {whose}{most}: the rows after it would be late. "
            "To use such rows, declare the stream WITH (ahead = 'off')"
        )
        told = pl.when(far).then(pl.lit(too_far)).when(ahead).then(pl.lit(too_early)).otherwise(pl.lit(no_time))
        reasons = pl.select(told.alias("reason")).to_series().filter(wrong)
        return frame.filter(~wrong), Failed(frame.filter(wrong), reasons), None

    def _judge(self, frame: pl.DataFrame, spread: TimeSpread | None) -> Iterator[Message]:
        said = self._punctuations(frame)
        if said is not None:
            yield from self._heed(frame, said)
            return
        ts = ints(frame.get_column(TS))
        breaks = self._breaks(frame, ts, lambda: self.frontier.promised(ts))
        disorder = self._disorder(ts)
        by_all = None if breaks is None and disorder is None else self.frontier.promised(ts)
        spread = spread or TimeSpread.of(ts)
        broken = self.frontier.take(ts, self._boundary, spread)
        self.leaders.note(frame, ts, self.frontier.newest, None if broken is None else broken != MIN_TIME)
        if by_all is None:
            yield Batch(frame if broken is None else self._marked(frame, broken), times=(spread.least, spread.greatest))
        else:
            yield from self._broke(frame, ts, breaks, disorder, by_all)
        yield from self._over(self.frontier.value)

    def _breaks(self, frame: pl.DataFrame, ts: Int64s, promised: Callable[[], Int64s]) -> Breaks | None:
        """The rows whose value was over, where the stream is clustered; before the frontier takes them."""
        clusters = self.clusters
        if clusters is None:
            return None
        return clusters.take(
            frame.get_column(clusters.column), self._row_numbers(frame), ts, self.frontier.newest, promised
        )

    def _disorder(self, ts: Int64s) -> Int64s | None:
        """What ORDERED beside another promise said before each row, where some row breaks it."""
        if self._order is None:
            return None
        said = self._order.promised(ts)
        self._order.take(ts, _nothing_is_over, TimeSpread.of(ts))
        return said if (ts < said).any() else None

    def _broke(
        self,
        frame: pl.DataFrame,
        ts: Int64s,
        breaks: Breaks | None,
        disorder: Int64s | None,
        promised: Int64s,
        by_all: Int64s | None = None,
    ) -> Iterator[Message]:
        """Rows, some of which break a constraint: late by what was promised of their value, and told of in any case."""
        rows = np.zeros(ts.size, np.bool_)
        if breaks is not None:
            by_all, promised, rows = promised, np.maximum(breaks.promised, promised), breaks.rows
        said = np.full(ts.size, MIN_TIME)
        if disorder is not None:
            rows = rows | (ts < disorder)
            said = np.where((ts < disorder) & (ts >= promised), disorder, MIN_TIME)
        marked = self._marked(frame, np.where(ts < promised, promised, MIN_TIME), rows)
        if by_all is not None:
            marked = marked.with_columns(pl.Series(BROKEN_BY_ALL, by_all))
        yield Batch(marked)
        numbers = self._row_numbers(frame)[rows]
        yield Missed(numbers, np.zeros(numbers.size, np.int64), broken=said[rows])

    def _over(self, by_all: int) -> Iterator[Message]:
        """Promises for values that are over."""
        if self.clusters is not None:
            said = self.clusters.say(by_all)
            if said is not None:
                yield said

    def _row_numbers(self, frame: pl.DataFrame) -> Int64s:
        if ROW in frame.columns:
            return ints(frame.get_column(ROW))
        return np.arange(self.rows - frame.height + 1, self.rows + 1)  # consecutive

    def _marked(self, frame: pl.DataFrame, broken: Int64s, told: NDArray[np.bool_] | None = None) -> pl.DataFrame:
        """Rows with the promise that each late one broke, and the numbers of these and of those to be told of."""
        late = broken != MIN_TIME
        listed = late if told is None else late | told
        if not listed.any():
            return frame
        numbers = self._row_numbers(frame)
        return frame.with_columns(
            pl.Series(BROKEN, broken).set(pl.Series(~late), None),
            pl.Series(LATE_ID, numbers).set(pl.Series(~listed), None),
        )

    def _punctuations(self, frame: pl.DataFrame) -> pl.Series | None:
        progress = self.stream.time.progress
        if not isinstance(progress, PunctuationColumn):
            return None
        return frame.get_column(progress.column)

    def _heed(self, frame: pl.DataFrame, said: pl.Series) -> Iterator[Message]:
        """Rows between punctuation rows; what each broke is the greatest punctuation before it."""
        progress = self.stream.time.progress
        assert isinstance(progress, PunctuationColumn) and isinstance(self.frontier, SaidFrontier)
        if ROW not in frame.columns:
            frame = frame.with_columns(
                pl.int_range(self.rows - frame.height + 1, self.rows + 1, dtype=pl.Int64).alias(ROW)
            )
        is_said = said.is_not_null()
        values = ints(said.to_physical().cast(pl.Int64).fill_null(MIN_TIME))
        if self._keys is not None:
            of_all = self._keys.of_all(frame.get_column(self._keys.column), values)
            reached = np.maximum(np.maximum.accumulate(of_all), self.frontier.value)
            told = self._keys.take(frame.get_column(self._keys.column), values, reached)
            rows = (~is_said).to_numpy()
            yield from self._rows_of(frame.filter(~is_said), told.reached[rows], reached[rows])
            self.frontier.say(int(reached[-1]))
            if told.said is not None:
                yield told.said
            return
        reached = np.maximum(np.maximum.accumulate(values), self.frontier.value)
        data = ~is_said
        frame = frame.filter(data)
        yield from self._rows_of(frame, reached[data.to_numpy()])
        self.frontier.say(int(reached[-1]))
        if frame.height:
            yield from self._over(self.frontier.value)

    def _rows_of(self, frame: pl.DataFrame, reached: Int64s, by_all: Int64s | None = None) -> Iterator[Message]:
        if not frame.height:
            return
        ts = ints(frame.get_column(TS))
        breaks = self._breaks(frame, ts, lambda: reached)
        disorder = self._disorder(ts)
        if breaks is not None or disorder is not None:
            self.frontier.newest = max(self.frontier.newest, int(ts.max()))
            yield from self._broke(frame, ts, breaks, disorder, reached, by_all)
            return
        self.frontier.newest = max(self.frontier.newest, int(ts.max()))
        marked = self._marked(frame, np.where(ts < reached, reached, MIN_TIME))
        if by_all is not None and BROKEN in marked.columns:
            marked = marked.with_columns(pl.Series(BROKEN_BY_ALL, by_all))
        yield Batch(marked)

    def advance(self, value: int) -> Iterator[Message]:
        """Nothing before `value` will come (an enabling time stamp, or the end)."""
        self.frontier.value = max(self.frontier.value, value)
        yield from self._say(self.frontier.value)

    def repeat(self) -> Iterator[Message]:
        """What was said last, for a reader that has come later."""
        if self._said != MIN_TIME:
            yield Punctuation(self._said)

    def end(self) -> Iterator[Message]:
        """The source has ended: no row comes after the last, and then none at all. (A landmark ends by the former.)"""
        if self.frontier.newest != MIN_TIME:
            yield from self.advance(self.frontier.newest + 1)
        yield from self.advance(MAX_TIME)

    def _say(self, value: int) -> Iterator[Message]:
        if value > self._said:
            self._said = value
            yield Punctuation(value)


def _near(times: pl.Series, spread: TimeSpread | None, most: int) -> bool:
    """Whether all times are between -`FAR` and `most`."""
    if times.null_count() == times.len():
        return True
    if spread is not None:
        return spread.least >= -FAR and spread.greatest <= most
    return cast("int", times.min()) >= -FAR and cast("int", times.max()) <= most


def late_rows(batch: Batch) -> pl.DataFrame | None:
    """The late ones among a batch's rows, None if there are none."""
    if LATE_ID not in batch.frame.columns:
        return None
    return batch.frame.filter(pl.col(LATE_ID).is_not_null())


__all__ = ["Boundary", "Frontier", "Ingest", "frontier", "late_rows"]
