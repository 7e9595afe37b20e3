"""Joins of streams under windows with SLIDE: at which instants the join of their lifetimes is looked at.

Tumbling joins under one window are no such: in these each pair is in one extent (`join_windows`).
"""

from __future__ import annotations

from dataclasses import replace

from jupyter_stream.language.join_windows import retimed
from jupyter_stream.language.query_syntax import JoinRef
from jupyter_stream.language.scope import Scope
from jupyter_stream.language.source_text import SourceText
from jupyter_stream.plan.logical import Alive, Filter, Plan, ToStream
from jupyter_stream.plan.relations import holds_join
from jupyter_stream.windows import LifetimeWindow, TimeWindow


def looks_of(left: Scope, right: Scope, item: JoinRef, source: SourceText) -> TimeWindow | None:
    """The extents of a join's rows; None where nobody said when to look, or each pair is in one extent anyway.

    Raises:
        QueryError: two windows that don't look at the same instants.
    """
    windows = [scope.window for scope in (left, right) if isinstance(scope.window, TimeWindow)]
    if not windows or (_tumbling(left) and left.window == right.window and not _looked(left.plan)):
        return None
    one, other = windows[0], windows[-1]
    if (one.slide, one.phase) != (other.slide, other.phase):
        raise source.error(
            f"one input of the join looks at the ends of {one}, the other at those of {other}",
            item.span,
            "Write the same SLIDE in both windows, or in one of them alone: the other says how long rows live.",
        )
    lengths = [window.length for window in windows]
    longest = None if None in lengths else max(length for length in lengths if length is not None)
    earlier = None if longest is None else longest - one.slide
    return TimeWindow(one.slide, one.slide, one.phase, earlier=earlier)


def unlooked(scope: Scope) -> Scope:
    """A stream under a window with SLIDE as rows with lifetimes; what is looked at as it is at every instant."""
    plan = scope.plan
    if _looked(plan):
        return replace(scope, plan=_unlooked(plan), window=None)
    if not isinstance(scope.window, TimeWindow):
        return scope
    if holds_join(plan):  # a tumbling join's pairs are in the extent that ends next
        lives = LifetimeWindow(scope.window.slide)
        return replace(scope, plan=Alive(plan, lives, plan.schema), window=None)
    own = retimed(scope)
    return replace(own, window=LifetimeWindow(scope.window.range))


def looked(scope: Scope, window: TimeWindow) -> Scope:
    """A join as the rows that are there when it is looked at."""
    return replace(scope, plan=ToStream("rstream", scope.plan, scope.plan.schema, window), window=window)


def _tumbling(scope: Scope) -> bool:
    return isinstance(scope.window, TimeWindow) and scope.window.range == scope.window.slide


def _looked(plan: Plan) -> bool:
    if isinstance(plan, Filter):
        return _looked(plan.input)
    return isinstance(plan, ToStream) and plan.looks is not None


def _unlooked(plan: Plan) -> Plan:
    if isinstance(plan, Filter):
        return replace(plan, input=_unlooked(plan.input))
    assert isinstance(plan, ToStream)
    return plan.input


__all__ = ["looked", "looks_of", "unlooked"]
