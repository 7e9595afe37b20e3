"""Sessions: rows closer to each other than a gap share an extent, whatever order they come in."""

from __future__ import annotations

from dataclasses import dataclass

from jupyter_stream.core.time import show_duration
from jupyter_stream.functions.expression import Expr


@dataclass(frozen=True, slots=True)
class SessionWindow:
    """`[SESSION gap [PARTITION BY a]]`: an extent reaches from its first row's time to its last row's plus the gap.

    Attributes:
        gap: microseconds; rows exactly a gap apart are in different sessions.
        partition: (name, expression): sessions are apart for each; the binder fills in the grouping columns where
            PARTITION BY isn't written.
        on: the windowing attribute, where it is not the stream's own.
    """

    gap: int
    partition: tuple[tuple[str, Expr], ...] = ()
    on: str | None = None

    def __str__(self) -> str:
        by = f" PARTITION BY {', '.join(n for n, _ in self.partition)}" if self.partition else ""
        on = f" ON {self.on}" if self.on else ""
        return f"[SESSION {show_duration(self.gap).upper()}{by}{on}]"
