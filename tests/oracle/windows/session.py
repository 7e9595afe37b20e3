"""`[SESSION gap]`, `[SESSION gap PARTITION BY a]`, SESSION(...), `session_window(...)`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Sessions:
    """Rows closer than the gap share an extent [first time, last time + gap).

    Attributes:
        gap: microseconds.
        written: the gap as SQL has it.
        partition: columns of PARTITION BY; without, sessions are each group's own.
        on: the windowing attribute, where it is not the stream's own.
        spelling: which of the spellings of this window `sql` uses.
    """

    gap: int
    written: str
    partition: tuple[str, ...] = ()
    on: str | None = None
    spelling: Literal["bracket", "table function", "group by"] = "bracket"

    @property
    def clause(self) -> str:
        """The window as written in brackets behind a stream."""
        by = f" PARTITION BY {', '.join(self.partition)}" if self.partition else ""
        return f"[SESSION {self.written}{by}{f' ON {self.on}' if self.on else ''}]"
