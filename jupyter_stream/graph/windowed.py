"""Which operator an aggregate becomes: by its window, and by whether promises for single keys end its extents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.flow.protocol import Operator
from jupyter_stream.graph import planned
from jupyter_stream.plan.logical import Aggregate
from jupyter_stream.plan.strategy import Strategy
from jupyter_stream.windows import LifetimeWindow, RowWindow, SessionWindow, TimeWindow, TupleWindow


def nothing_is_final(punctuation: int) -> int:
    """The boundary of a plan that gives no answer late rows could miss: a selection passes them on."""
    return MIN_TIME


def everything_is_final(punctuation: int) -> int:
    """The boundary of a plan whose answers at every instant before the punctuation are final."""
    return punctuation


@dataclass(frozen=True)
class Windowed:
    """The operator of an aggregate.

    Attributes:
        operator: which.
        ticks: whether it is asked for provisional answers at the base of FROM.
        saw: of a relation, told of the times of rows that WHERE takes out.
    """

    operator: Operator
    ticks: bool = True
    saw: Callable[[int, int], None] | None = None


def windowed(
    plan: Aggregate,
    key: int | None,
    provisional: bool,
    strategy: Strategy | None,
    wanted: frozenset[str] | None = None,
    gaps: bool = True,
) -> Windowed:
    """The operator of an aggregate.

    Args:
        plan: the aggregate.
        key: the grouping column that promises for single keys speak of; None for none.
        provisional: whether answers are wanted before they are final.
        strategy: how windows with SLIDE are to be aggregated; None for the planner's choice.
        wanted: the columns that somebody reads; None for all.
        gaps: whether extents without rows have answers, where nothing is grouped.

    Raises:
        UnsupportedError: a window that can't be run in the kernel.
    """
    window = plan.window
    if plan.other_windows and not window.counts_rows:

        def alone(part: Aggregate, longest: bool) -> Operator:
            return windowed(part, None, provisional, strategy, gaps=longest).operator

        return Windowed(planned.several_windows(plan, alone))
    match window:  # each kind has an operator of its own, and this is where they are made
        case TimeWindow() if key is not None:
            return Windowed(planned.windows_of_keys(plan, window, key, provisional))
        case TimeWindow():
            return Windowed(planned.window_aggregate(plan, window, provisional, strategy, gaps, wanted))
        case TupleWindow():
            return Windowed(planned.windows_of_tuples(plan, window, provisional))
        case RowWindow(slide=None):
            return Windowed(planned.row_relation(plan, window), ticks=False)
        case RowWindow():
            return Windowed(planned.row_window_aggregate(plan, window, provisional))
        case SessionWindow():
            return Windowed(planned.sessions(plan, window, key, provisional))
        case LifetimeWindow():
            relation = planned.relation_aggregate(plan, window)
            return Windowed(relation, ticks=False, saw=relation.saw)
    raise UnsupportedError(f"{window} can't be run in the kernel yet")


__all__ = ["Windowed", "everything_is_final", "nothing_is_final", "windowed"]
