"""Windows without SLIDE: `[RANGE d]`, `[RANGE UNBOUNDED]`, `[NOW]`. They give a row a lifetime and choose no instants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from jupyter_stream.core.time import show_duration
from jupyter_stream.functions.expression import Expr
from jupyter_stream.windows.on_spark import NO_SLIDE, WindowOnSpark
from jupyter_stream.windows.protocol import Window


@dataclass(frozen=True, slots=True)
class LifetimeWindow(Window):
    """Rows live for `[ts, ts + range)`.

    Attributes:
        range: microseconds; 1 for `[NOW]`; None for ever (`[RANGE UNBOUNDED]`, and a stream without a window).
        on: the windowing attribute, where it is not the stream's own.
        written: whether the clause was written out (a join of unbounded streams needs it to be).
    """

    range: int | None = None
    on: str | None = None
    written: bool = True

    spark_forms: ClassVar[tuple[WindowOnSpark, ...]] = (NO_SLIDE,)

    @property
    def sliding(self) -> bool:
        return False

    @property
    def lifetime(self) -> LifetimeWindow:
        return self

    @property
    def keeps_all(self) -> bool:
        return self.range is None

    @property
    def overlapping(self) -> bool:
        return True

    @property
    def ends_with_rows(self) -> bool:
        return False

    @property
    def goes_by_time(self) -> bool:
        return self.range is not None

    @property
    def length(self) -> int | None:
        return self.range

    @property
    def instants(self) -> tuple[object, ...]:
        return ("changes", self.on)

    def spread_by(self, keys: Sequence[Expr]) -> Sequence[Expr]:
        return tuple(keys) if self.on is None else ()

    @property
    def span(self) -> int | None:
        return self.range

    def shortened(self, to: int) -> LifetimeWindow | None:
        return replace(self, range=to, written=True) if self.range is None or 1 < to < self.range else None

    def by_own_time(self) -> LifetimeWindow:
        return replace(self, on=None)

    def __str__(self) -> str:
        on = f" ON {self.on}" if self.on else ""
        if self.range is None:
            return f"[RANGE UNBOUNDED{on}]"
        return f"[NOW{on}]" if self.range == 1 else f"[RANGE {show_duration(self.range).upper()}{on}]"
