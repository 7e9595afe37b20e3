"""What a way of evaluating a window costs, for the figures of tutorial 3: time, memory, and when its answers come.

Both sides are measured alike: rows come in batches on an arrival clock, on one thread. Ours are the engine's operators
(`stepping`), theirs the baselines that need order (`ordered`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from ordered import InOrderMerge, Rows
from stepping import Steps

from jupyter_stream.plan.strategy import Strategy

SECOND = 1_000_000


@dataclass
class Measured:
    """What was found.

    Attributes:
        seconds: CPU time.
        held: bytes held after each batch.
        answers: by the end of the extent, microseconds.
        given: on the arrival clock, microseconds, when each of them came.
    """

    seconds: float = 0.0
    held: list[int] = field(default_factory=list)
    answers: dict[int, float] = field(default_factory=dict)
    given: dict[int, int] = field(default_factory=dict)

    @property
    def peak(self) -> int:
        """The most bytes held after any batch."""
        return max(self.held, default=0)

    @property
    def mean(self) -> float:
        """The bytes held after a batch, on average."""
        return float(np.mean(self.held))

    def note(self, clock: int, answers: Iterable[tuple[int, float]]) -> None:
        """Answers came."""
        for end, value in answers:
            self.answers[end] = value
            self.given[end] = clock

    def wait(self, ends: Iterable[int]) -> float:
        """Mean seconds between the ends of these extents and their answers, on the arrival clock."""
        return float(np.mean([self.given[end] - end for end in ends if end in self.given])) / SECOND


def ours(
    streams: str,
    query: str,
    frames: Mapping[str, pl.DataFrame],
    feed: Iterable[tuple[int, Mapping[str, pl.DataFrame]]],
    strategy: Strategy | None = None,
) -> Measured:
    """The engine's operators on a query.

    Args:
        streams: CREATE STREAM statements.
        query: its answers are read from the columns `window_end` and `answer`, where it has them.
        frames: what the streams' sources name, for their columns.
        feed: when rows come and what comes, by stream.
        strategy: how the window is aggregated; None leaves it to the planner.
    """
    steps, found = Steps(streams, query, dict(frames), strategy), Measured()
    for clock, rows in feed:
        start = time.process_time()
        answers = steps.feed(rows)
        found.seconds += time.process_time() - start
        found.held.append(steps.state_bytes)
        if answers is not None and "answer" in answers.columns:
            found.note(clock, answers.select("window_end", "answer").iter_rows())
    return found


def theirs(
    take: Callable[[Rows], Iterable[tuple[int, float]]], held: Callable[[], int], feed: Iterable[tuple[int, Rows]]
) -> Measured:
    """A baseline: what takes rows, what says how many bytes it holds, and what comes when."""
    found = Measured()
    for clock, rows in feed:
        start = time.process_time()
        answers = list(take(rows))
        found.seconds += time.process_time() - start
        found.held.append(held())
        found.note(clock, answers)
    return found


def merged(
    streams: str,
    query: str,
    frames: Mapping[str, pl.DataFrame],
    inputs: Sequence[str],
    feed: Iterable[tuple[int, Mapping[str, Rows]]],
) -> Measured:
    """Inputs put in order by a merge, and then the engine's operators on what comes out, as the stream `rows`."""
    merge, steps, found = InOrderMerge(len(inputs)), Steps(streams, query, dict(frames)), Measured()
    for _clock, sent in feed:
        for name, rows in sent.items():
            start = time.process_time()
            ready = merge.take(inputs.index(name), rows)
            if ready.ts.size:
                steps.feed({"rows": framed(ready)})
            found.seconds += time.process_time() - start
            found.held.append(merge.bytes + steps.state_bytes)
    return found


def framed(rows: Rows) -> pl.DataFrame:
    """Rows as a frame, columns `ts` and `value`."""
    return pl.DataFrame({"ts": rows.ts, "value": rows.value})
