"""Sessions: rows closer to each other than a gap share an extent, whatever order they come in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from jupyter_stream.core.messages import WINDOW_END, WINDOW_START
from jupyter_stream.core.time import show_duration
from jupyter_stream.functions.expression import Expr
from jupyter_stream.windows.on_spark import ON_EXPRESSION, OVER_SESSIONS, SESSION, SESSION_BY, WindowOnSpark
from jupyter_stream.windows.protocol import Window


@dataclass(frozen=True, slots=True)
class SessionWindow(Window):
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

    spark_forms: ClassVar[tuple[WindowOnSpark, ...]] = (SESSION, SESSION_BY, ON_EXPRESSION)
    above_on_spark: ClassVar[WindowOnSpark | None] = OVER_SESSIONS

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return self.partitioned_by

    @property
    def partitioned_by(self) -> tuple[Expr, ...]:
        return tuple(e for _, e in self.partition)

    def apart_by(self, keys: Sequence[tuple[str, Expr]]) -> Window:
        return self if self.partition else replace(self, partition=tuple(keys))

    @property
    def successive(self) -> bool:
        return False

    def agrees(self, other: Window) -> bool:
        return isinstance(other, SessionWindow) and replace(self, partition=other.partition) == other

    def unlike(self, other: Window) -> tuple[str, str]:
        if not isinstance(other, SessionWindow):
            return Window.unlike(self, other)
        return (
            f"{self} and {other} don't end together: a session of the longer gap holds several of the shorter one",
            "Write one query for each gap. Both give window_start and window_end, to match their sessions by.",
        )

    def ends_for(self, key: Expr) -> bool:
        return key in self.partitioned_by

    @property
    def key_outlives(self) -> int:
        return self.gap

    @property
    def edges(self) -> Mapping[str, tuple[int | None, int]]:
        return {WINDOW_END: (1, 1), WINDOW_START: (None, 1 - self.gap)}

    def spread_by(self, keys: Sequence[Expr]) -> Sequence[Expr]:
        return self.partitioned_by if self.on is None and set(self.partitioned_by) <= set(keys) else ()

    def on_spark(self, keys: Sequence[Expr], on_column: bool) -> WindowOnSpark:
        if set(self.partitioned_by) != set(keys):
            return SESSION_BY
        return SESSION if on_column else ON_EXPRESSION

    def by_own_time(self) -> SessionWindow:
        return replace(self, on=None)

    def __str__(self) -> str:
        by = f" PARTITION BY {', '.join(n for n, _ in self.partition)}" if self.partition else ""
        on = f" ON {self.on}" if self.on else ""
        return f"[SESSION {show_duration(self.gap).upper()}{by}{on}]"
