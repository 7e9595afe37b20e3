"""How the panes of an extent are put together: chosen for each partial result of an aggregate when a query is planned.

- *single pane*: a tumbling extent is one pane; nothing is put together.
- *adding panes*: no row leaves a landmark; each pane is added once.
- *subtract-on-evict*: what leaves the window is taken back (window-queries thesis §6.2.2, differential aggregates). Two passes
  over a pane in its life, and no pass over all panes at once.
- *two stacks*: for what can't be taken back, minima and sums of floats: three passes over a pane in its life, whatever
  range / slide is (Tangwongsan et al., "General incremental sliding-window aggregation", PVLDB 2015).
- *pane merge*: partial results that are no numbers are merged anew for each extent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

from jupyter_stream.aggregates import Dense, FrameForm, Partial
from jupyter_stream.aggregates.count import DistinctValues
from jupyter_stream.plan.strategy import Strategy
from jupyter_stream.windows import TimeWindow

Call: TypeAlias = tuple[str, Dense | FrameForm]
"""Name and form of an aggregate."""
Fold: TypeAlias = Literal["single pane", "adding panes", "subtract-on-evict", "two stacks", "pane merge"]


def fold_of(partial: Partial, one_pane: bool, landmark: bool) -> Fold:
    """How the panes of a partial kept as numbers are put together.

    Args:
        partial: what is kept.
        one_pane: whether every extent is a single pane.
        landmark: whether extents keep everything.
    """
    if landmark:
        return "adding panes"
    if one_pane:
        return "single pane"
    return "subtract-on-evict" if partial.subtractable else "two stacks"


def describe(window: TimeWindow, strategy: Strategy, calls: Iterable[Call]) -> str:
    """For EXPLAIN: which aggregates are folded how, such as `count, sum by subtract-on-evict; max by two stacks`.

    Of those whose extents are a single pane nothing is said.

    Args:
        window: theirs.
        strategy: WID has an extent in one piece; of rows kept, a pane is folded when an extent asks for it.
        calls: name and form of each.
    """

    def way(form: Dense | FrameForm) -> str:
        if strategy == "paned-wid" and isinstance(form, DistinctValues) and window.range is not None:
            return "subtract-on-evict"
        if strategy == "rows" or not isinstance(form, Dense):
            return "pane merge"
        one = strategy == "wid" or is_one_pane(window)
        return " and ".join(sorted({fold_of(p, one, window.range is None) for p in _telling(form)}))

    return _by(way, calls)


def describe_bins(calls: Iterable[Call]) -> str:
    """The same where every row's time is a bin, as in slide-by-tuple windows: extents overlap in no regular way."""

    def way(form: Dense | FrameForm) -> str:
        if not isinstance(form, Dense):
            return "bin merge"
        ways = {
            "differences of running sums" if p.subtractable else "runs of 1, 2, 4, ... bins" for p in _telling(form)
        }
        return " and ".join(sorted(ways))

    return _by(way, calls)


def _telling(form: Dense) -> Sequence[Partial]:
    """The partials by which forms differ: nearly all count their values as well."""
    return [p for p in form.partials if p.op != "count"] or form.partials


def _by(way: Callable[[Dense | FrameForm], str], calls: Iterable[Call]) -> str:
    by: dict[str, list[str]] = {}
    for name, form in calls:
        names = by.setdefault(way(form), [])
        if name not in names:
            names.append(name)
    return "; ".join(f"{', '.join(names)} by {how}" for how, names in by.items() if how != "single pane")


def is_one_pane(window: TimeWindow) -> bool:
    """Whether every extent is a single pane."""
    return window.slides == 1 and window.panes_per_slide == 1
