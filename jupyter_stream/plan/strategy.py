"""How a window with SLIDE is aggregated: the three implementations of window-queries thesis chapter 6, and which one is chosen.

- WID (§6.1.3): partials of every open extent; a row updates each extent that holds it.
- Paned-WID (§6.2): partials of panes, of which extents are made; a row updates one.
- AdaptWID (§6.3): over panes; groups with few rows are kept as rows, the others as partials, by the memory each takes.
- rows (lazy aggregation, §6.3): all groups as rows. For comparison; never chosen by itself.
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


@dataclass(frozen=True)
class Choice:
    """A strategy, and why.

    Attributes:
        strategy: which.
        reason: in words, for EXPLAIN.
    """

    strategy: Strategy
    reason: str

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
        return Choice("paned-wid", "an extent is one pane, which is WID")
    panes = window.slides * window.panes_per_slide - (window.panes_per_slide - 1)
    return Choice(
        "paned-wid", f"an extent is {panes:,} panes; a row updates one of them instead of {window.slides:,} extents"
    )


__all__ = ["STRATEGIES", "Choice", "Strategy", "choose"]
