"""How a window with SLIDE is aggregated: the three implementations of window-queries thesis chapter 6, and which one is chosen.

- WID (§6.1.3): partials of every open extent; a row updates each extent that holds it.
- Paned-WID (§6.2): partials of panes, of which extents are made; a row updates one.
- AdaptWID (§6.3): over panes; groups with few rows are kept as rows, the others as partials, by the memory each takes.
- rows (lazy aggregation, §6.3): all groups as rows. For comparison; never chosen by itself.

Nothing is known of the groups before the query runs, so Paned-WID, the fastest, begins. It gives way to AdaptWID once its
partials take more memory than is spared lightly and rows would take a fraction of it (`reconsider`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from jupyter_stream.errors import UnsupportedError
from jupyter_stream.windows import TimeWindow

Strategy: TypeAlias = Literal["wid", "paned-wid", "adapt-wid", "rows"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
_NAMES: dict[Strategy, str] = {
    "wid": "WID",
    "paned-wid": "Paned-WID",
    "adapt-wid": "AdaptWID",
    "rows": "rows kept",
}


SPARED = 256_000_000
"""Bytes of partials from which memory is worth more than speed: AdaptWID was 0.7 to 1.5 times as fast (tests/benchmarks)."""
_FRACTION = 0.5


@dataclass(frozen=True)
class Choice:
    """A strategy, and why.

    Attributes:
        strategy: which.
        reason: in words, for EXPLAIN.
        may_change: whether it is to be reconsidered while the query runs.
    """

    strategy: Strategy
    reason: str
    may_change: bool = False

    def __str__(self) -> str:
        return f"{_NAMES[self.strategy]}: {self.reason}"


def choose(window: TimeWindow, grouped: bool, asked: Strategy | None = None) -> Choice:
    """The strategy for a window.

    Args:
        window: the window.
        grouped: whether there are grouping columns.
        asked: the strategy asked for.

    Raises:
        UnsupportedError: the strategy asked for can't serve that window.
    """
    if window.range is None:
        if asked in (None, "paned-wid"):
            return Choice("paned-wid", "a landmark's extents keep everything: one fold of all panes so far serves them")
        raise UnsupportedError(
            f"{_NAMES[asked]} can't serve {window}: its extents never let go of a row",
            hint="Leave the strategy out, or write strategy='paned-wid'.",
        )
    if asked is not None:
        return Choice(asked, "as asked")
    if not grouped:
        return Choice("paned-wid", "there is one group")
    if window.slides == 1 and window.panes_per_slide == 1:
        return Choice("paned-wid", "an extent is one pane, which is WID", may_change=True)
    panes = window.slides * window.panes_per_slide - (window.panes_per_slide - 1)
    reason = f"an extent is {panes:,} panes; a row updates one of them instead of {window.slides:,} extents"
    return Choice("paned-wid", reason, may_change=True)


def reconsider(held: int, sparse: int, adaptive: int) -> Choice | None:
    """AdaptWID in place of Paned-WID, if that is worth it by what the query has met; None if not.

    Args:
        held: bytes of partials.
        sparse: groups that would be kept as rows.
        adaptive: bytes that AdaptWID would take.
    """
    if held <= SPARED or adaptive > _FRACTION * held:
        return None
    saved = f"{adaptive / 1e6:,.1f} MB instead of {held / 1e6:,.1f}"
    return Choice("adapt-wid", f"{sparse:,} groups had so few rows that keeping them as rows takes {saved}")


def sparse(groups: int, panes: int) -> Choice:
    """AdaptWID in place of Paned-WID, because hardly any group has rows in more than a few panes."""
    return Choice("adapt-wid", f"of {groups:,} groups in {panes:,} panes most had rows in a few only")


__all__ = ["SPARED", "STRATEGIES", "Choice", "Strategy", "choose", "reconsider", "sparse"]
