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
    "rows": "lazy",
}
_ASKED: dict[Strategy, str] = {
    "wid": "a partial result for each group and extent, as asked",
    "paned-wid": "a partial result for each group and pane, as asked",
    "adapt-wid": "partial results for each pane, but rows of groups that have few, as asked",
    "rows": "all rows are kept, as asked",
}


SPARED = 256_000_000
"""Bytes of partials from which memory is worth more than speed: AdaptWID was 0.7 to 1.5 times as fast (tests/benchmarks)."""
_FRACTION = 0.5


@dataclass(frozen=True)
class StrategyChoice:
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
        return f"{self.reason} ({_NAMES[self.strategy]})"


def choose(window: TimeWindow, grouped: bool, asked: Strategy | None = None) -> StrategyChoice:
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
            return StrategyChoice("paned-wid", "no row ever leaves")
        raise UnsupportedError(
            f"strategy={asked!r} can't be used for {window}, since no row ever leaves it",
            hint="Leave the strategy out, or write strategy='paned-wid'.",
        )
    if asked is not None:
        return StrategyChoice(asked, _ASKED[asked])
    if window.slides == 1 and window.panes_per_slide == 1:
        return StrategyChoice("paned-wid", "each extent is one pane", may_change=grouped)
    panes = window.slides * window.panes_per_slide - (window.panes_per_slide - 1)
    upto = "" if window.even else "up to "
    reason = f"an extent is {upto}{panes:,} panes, and a row is added to one of them instead of {upto}{window.slides:,} extents"
    return StrategyChoice("paned-wid", reason, may_change=grouped)


def reconsider(held: int, sparse: int, adaptive: int) -> StrategyChoice | None:
    """AdaptWID in place of Paned-WID, if that is worth it by what the query has met; None if not.

    Args:
        held: bytes of partials.
        sparse: groups that would be kept as rows.
        adaptive: bytes that AdaptWID would take.
    """
    if held <= SPARED or adaptive > _FRACTION * held:
        return None
    saved = f"{adaptive / 1e6:,.1f} MB instead of {held / 1e6:,.1f}"
    return StrategyChoice(
        "adapt-wid", f"{sparse:,} groups have so few rows that their rows are kept, which takes {saved}"
    )


def sparse(groups: int, panes: int) -> StrategyChoice:
    """AdaptWID in place of Paned-WID, because hardly any group has rows in more than a few panes."""
    return StrategyChoice(
        "adapt-wid", f"most of {groups:,} groups have rows in few of {panes:,} panes, so these rows are kept"
    )


__all__ = ["SPARED", "STRATEGIES", "Strategy", "StrategyChoice", "choose", "reconsider", "sparse"]
