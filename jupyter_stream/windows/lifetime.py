"""Windows without SLIDE: `[RANGE d]`, `[RANGE UNBOUNDED]`, `[NOW]`. They give a row a lifetime and choose no instants."""

from __future__ import annotations

from dataclasses import dataclass

from jupyter_stream.core.time import show_duration


@dataclass(frozen=True, slots=True)
class LifetimeWindow:
    """Rows live for `[ts, ts + range)`.

    Attributes:
        range: microseconds; 1 for `[NOW]`; None for ever (`[RANGE UNBOUNDED]`, and a stream without a window).
        on: the windowing attribute, where it is not the stream's own.
        written: whether the clause was written out (a join of unbounded streams needs it to be).
    """

    range: int | None = None
    on: str | None = None
    written: bool = True

    def __str__(self) -> str:
        on = f" ON {self.on}" if self.on else ""
        if self.range is None:
            return f"[RANGE UNBOUNDED{on}]"
        return f"[NOW{on}]" if self.range == 1 else f"[RANGE {show_duration(self.range).upper()}{on}]"
