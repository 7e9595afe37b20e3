"""OVER (...): each row with an aggregate over the rows before it, SQL:2003's window functions on streams [esl]."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from jupyter_stream.core.time import show_duration
from jupyter_stream.functions.expression import Expr, show
from jupyter_stream.windows.on_spark import OVER, WindowOnSpark
from jupyter_stream.windows.protocol import Window


@dataclass(frozen=True, slots=True)
class OverWindow(Window):
    """The rows of the current one's partition up to it, in the order of their times, ties by arrival.

    Attributes:
        rows: that many rows before the current one, and it; None where the window is a range.
        range: rows with `r.ts - range <= ts <= r.ts`, peers included; None with `rows` None too: UNBOUNDED PRECEDING.
        peers: where it is unbounded, whether rows of the current one's time that arrived behind it count as well: with RANGE, not
            with ROWS.
        partition: expressions of PARTITION BY.
        every: SLIDE m: the output of each m-th row of the partition only; 1 for all.
        slot: SLIDE d, a time in microseconds: one output per slot, at the slot's last row; None without.
        on_expiry: ACTIVE EXPIRATION: fires when a row leaves the window rather than when one comes.
    """

    rows: int | None = None
    range: int | None = None
    partition: tuple[Expr, ...] = ()
    every: int = 1
    slot: int | None = None
    on_expiry: bool = False
    peers: bool = True

    spark_forms: ClassVar[tuple[WindowOnSpark, ...]] = (OVER,)

    @property
    def keeps_all(self) -> bool:
        return self.rows is None and self.range is None

    @property
    def tumble(self) -> int:
        """How many rows the tumbles have of which `ROWS n PRECEDING SLIDE m` is made; 1 where it is made of none."""
        return 1 if self.rows is None else math.gcd(self.rows + 1, self.every)

    @property
    def span(self) -> int | None:
        return self.range

    @property
    def overlapping(self) -> bool:
        return True

    @property
    def passes_rows(self) -> bool:
        return True

    @property
    def partitioned_by(self) -> tuple[Expr, ...]:
        return self.partition

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return self.partition

    def spread_by(self, keys: Sequence[Expr]) -> Sequence[Expr]:
        return self.partition

    def __str__(self) -> str:
        by = f"PARTITION BY {', '.join(show(e) for e in self.partition)} " if self.partition else ""
        if self.rows is not None:
            length = f"ROWS {self.rows} PRECEDING"
        elif self.range is not None:
            length = f"RANGE {show_duration(self.range).upper()} PRECEDING"
        else:
            length = f"{'RANGE' if self.peers else 'ROWS'} UNBOUNDED PRECEDING"
        slide = f" SLIDE {self.every}" if self.every > 1 else ""
        if self.slot is not None:
            slide = f" SLIDE {show_duration(self.slot).upper()}"
        return f"OVER ({by}{length}{slide}{' ACTIVE EXPIRATION' if self.on_expiry else ''})"
