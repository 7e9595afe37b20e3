"""How the panes of an extent are put together: chosen for each partial result of an aggregate when a query is planned.

- *single pane*: a tumbling extent is one pane; nothing is put together.
- *kept*: a landmark lets go of nothing; each pane is added once.
- *subtract-on-evict*: what leaves the window is taken back (window-queries thesis §6.2.2, differential aggregates). Two passes
  over a pane in its life, and no pass over all panes at once.
- *two stacks*: for what can't be taken back, minima and sums of floats: three passes over a pane in its life, whatever
  range / slide is (Tangwongsan et al., "General incremental sliding-window aggregation", PVLDB 2015).
- *pane merge*: partial results that are no numbers are merged anew for each extent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from jupyter_stream.aggregates import Dense, FrameForm, Partial
from jupyter_stream.windows import TimeWindow

Fold: TypeAlias = Literal["single pane", "kept", "subtract-on-evict", "two stacks", "pane merge"]


def fold_of(partial: Partial, one_pane: bool, landmark: bool) -> Fold:
    """How the panes of a partial kept as numbers are put together.

    Args:
        partial: what is kept.
        one_pane: whether every extent is a single pane.
        landmark: whether extents keep everything.
    """
    if landmark:
        return "kept"
    if one_pane:
        return "single pane"
    return "subtract-on-evict" if partial.subtractable else "two stacks"


def describe(window: TimeWindow, calls: Iterable[tuple[str, Dense | FrameForm]]) -> str:
    """For EXPLAIN: which aggregates are folded how, such as `count, sum by subtract-on-evict; max by two stacks`.

    Args:
        window: theirs.
        calls: name and form of each.
    """
    by: dict[str, list[str]] = {}
    for name, form in calls:
        ways: list[str] = ["pane merge"]
        if isinstance(form, Dense):
            ways = sorted({fold_of(p, is_one_pane(window), window.range is None) for p in form.partials})
        names = by.setdefault(" and ".join(ways), [])
        if name not in names:
            names.append(name)
    return "; ".join(f"{', '.join(names)} by {way}" for way, names in by.items())


def is_one_pane(window: TimeWindow) -> bool:
    """Whether every extent is a single pane."""
    return window.slides == 1 and window.panes_per_slide == 1
