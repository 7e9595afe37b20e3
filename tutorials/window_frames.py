"""What the engine says about a window after each row, for the drawings of tutorial 2.

The extents, their counts, which of them are final, which rows were late and the watermark are the engine's own answers
(see `stepping`). Nothing about windows is worked out here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from stepping import Steps

from jupyter_stream.windowed.extent_aggregate import ExtentAggregate
from jupyter_stream.windowed.window_aggregate import WindowAggregate

SECOND = 1_000_000
ROWS = 36

Extent = tuple[float | None, float, int]
"""Start (None: the beginning of time), end, and how many rows it holds."""


def times(disorder: float, rows: int = ROWS, seed: int = 5) -> list[float]:
    """Event times in seconds, in arrival order: bursts with pauses, each row held up by up to `disorder` seconds."""
    rng = np.random.default_rng(seed)
    steps = rng.choice([0.5, 1.0, 1.5, 2.0, 6.5], rows, p=[0.25, 0.3, 0.2, 0.15, 0.1])
    happened = np.round(np.cumsum(steps), 1)
    held_up = rng.random(rows) * disorder
    return [float(t) for t in happened[np.argsort(happened + held_up, kind="stable")]]


@dataclass(frozen=True)
class Knob:
    """A number of the window clause that a slider sets."""

    label: str
    unit: str
    least: int
    most: int
    first: int


@dataclass(frozen=True)
class Kind:
    """A kind of window.

    Attributes:
        clause: with {range} and {slide} where the sliders' numbers go.
        range: the first slider, None without.
        slide: the second.
        by_number: whether the window is over arrival numbers rather than times.
        parts: what the rows are kept in that the drawing can show: `panes`, `bins` or nothing.
        over: whether the clause belongs to an aggregate, `count(*) OVER (...)`.
    """

    clause: str
    range: Knob | None = None
    slide: Knob | None = None
    by_number: bool = False
    parts: str = ""
    over: bool = False

    def query(self, clause: str) -> str:
        """The query as shown."""
        return (
            f"SELECT ts, count(*) {clause} AS n FROM rows" if self.over else f"SELECT count(*) AS n FROM rows {clause}"
        )


KINDS = {
    "tumbling": Kind("[RANGE {range} SECONDS TUMBLING]", Knob("RANGE", "s", 2, 20, 8), parts="panes"),
    "sliding": Kind(
        "[RANGE {range} SECONDS SLIDE {slide} SECONDS]",
        Knob("RANGE", "s", 2, 30, 15),
        Knob("SLIDE", "s", 2, 20, 5),
        parts="panes",
    ),
    "landmark": Kind("[RANGE ALL SLIDE {slide} SECONDS]", None, Knob("SLIDE", "s", 2, 20, 8), parts="panes"),
    "rows": Kind("[ROWS {range} SLIDE {slide}]", Knob("ROWS", "rows", 1, 20, 8), Knob("SLIDE", "rows", 1, 20, 4), True),
    "slide-by-tuple": Kind(
        "[RANGE {range} SECONDS SLIDE {slide} ROWS]",
        Knob("RANGE", "s", 2, 20, 10),
        Knob("SLIDE", "rows", 1, 6, 3),
        parts="bins",
    ),
    "session": Kind("[SESSION {range} SECONDS]", Knob("gap", "s", 1, 10, 2)),
    "over": Kind("OVER (RANGE {range} SECONDS PRECEDING)", Knob("RANGE", "s", 1, 12, 4), over=True),
}


@dataclass
class Frame:
    """What the engine said after a row.

    Attributes:
        arrived: the number of rows that have come.
        watermark: seconds; None before the first and after the end.
        final: all extents given out so far.
        open: what EMIT EVERY says of the others.
        late: arrival numbers of the rows that missed an answer.
        bytes: what the operators hold.
        control: the control table of the window's operator.
        parts: the panes or bins it holds, seconds.
    """

    arrived: int
    watermark: float | None
    final: list[Extent] = field(default_factory=list)
    open: list[Extent] = field(default_factory=list)
    late: frozenset[int] = frozenset()
    bytes: int = 0
    control: dict[str, Any] = field(default_factory=dict)
    parts: list[tuple[float, float]] = field(default_factory=list)


def run(kind: Kind, length: int, slide: int, patience: float, at: list[float]) -> tuple[str, list[Frame]]:
    """Feeds rows one by one.

    Args:
        kind: of window.
        length: the first number of its clause.
        slide: the second.
        patience: the watermark's delay, seconds.
        at: the rows' times in arrival order, seconds.

    Returns:
        The query; what it said before the first row, after each row and at the end.
    """
    query = kind.query(kind.clause.format(range=length, slide=slide))
    frame = pl.DataFrame({"ts": pl.Series([round(t * SECOND) for t in at], dtype=pl.Int64)})
    steps = Steps(
        f"CREATE STREAM rows (ts BIGINT, WATERMARK FOR ts AS ts - INTERVAL {round(patience * SECOND)} MICROSECONDS)"
        " SOURCE 'frame://frame'",
        query if kind.over else f"{query} EMIT EVERY 1 SECOND",
        {"frame": frame},
    )

    def extents(answers: pl.DataFrame | None) -> list[Extent]:
        if answers is None:
            return []
        if kind.over:
            return [(ts / SECOND - length, ts / SECOND, n) for ts, n in answers.select("ts", "n").iter_rows()]
        rows = answers.select("window_start", "window_end", "n").iter_rows()
        if kind.by_number:  # such an extent names its first and its last row
            return [(first - 0.5, last + 0.5, n) for first, last, n in rows]
        return [(None if a is None else a / SECOND, b / SECOND, n) for a, b, n in rows]

    def parts() -> list[tuple[float, float]]:
        match steps.aggregate.operator:
            case WindowAggregate() as operator:
                return [(start / SECOND, end / SECOND) for start, end in operator.open_panes]
            case ExtentAggregate() as operator if kind.parts == "bins":
                return [(t / SECOND - 0.12, t / SECOND + 0.12) for t in operator.held_at]
        return []

    frames, final = [Frame(0, None)], []
    for i in range(frame.height):
        final += extents(steps.feed({"rows": frame[i : i + 1]}))
        watermark = steps.watermark("rows")
        frames.append(
            Frame(
                i + 1,
                None if watermark is None else watermark / SECOND,
                list(final),
                [] if kind.over else extents(steps.provisional(int(frame["ts"][i]))),
                frozenset(steps.late),
                steps.state_bytes,
                dict(steps.aggregate.control.extra),
                parts(),
            )
        )
    final += extents(steps.end())
    frames.append(Frame(frame.height, None, final, [], frozenset(steps.late), steps.state_bytes))
    return query, frames
