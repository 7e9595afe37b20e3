"""Joins of streams under windows with SLIDE: at which instants the join of their lifetimes is looked at.

Tumbling joins under one window are no such: in these each pair is in one extent (`join_windows`).
"""

from __future__ import annotations

from dataclasses import replace

from jupyter_stream.binding.join_windows import ends_apart, retimed
from jupyter_stream.binding.scope import Scope
from jupyter_stream.plan.lifetimes import holds_join
from jupyter_stream.plan.logical import Alive, Filter, Plan, ToStream
from jupyter_stream.syntax.query_syntax import JoinRef
from jupyter_stream.syntax.source_text import SourceText
from jupyter_stream.windows import LifetimeWindow, TimeWindow


def joint_window(left: Scope, right: Scope, item: JoinRef, source: SourceText) -> TimeWindow | None:
    """The extents of a join's rows; None where nobody said when to look, or each pair is in one extent anyway.

    Raises:
        QueryError: two windows that don't look at the same instants.
    """
    windows = [
        scope.window for scope in (left, right) if scope.window is not None and scope.window.schedule is not None
    ]
    if not windows or (left.window == right.window and windows[0].tumbling and not _looked(left.plan)):
        return None
    for window in windows:
        if window.instants is None:
            raise ends_apart(window, item.span, source)
    one, other = windows[0], windows[-1]
    if one.schedule is None or one.schedule != other.schedule:
        raise source.error(
            f"the windows of the two inputs slide differently: {one} and {other}",
            item.span,
            "Write the same SLIDE in both windows, or in one of them only.",
        )
    lengths = [window.length for window in windows]
    longest = None if None in lengths else max(length for length in lengths if length is not None)
    phase, slide = one.schedule
    earlier = None if longest is None else longest - slide
    return TimeWindow(slide, slide, phase, earlier=earlier)


def with_lifetimes(scope: Scope) -> Scope:
    """A stream under a window with SLIDE as rows with lifetimes; what is looked at as it is at every instant."""
    plan = scope.plan
    if _looked(plan):
        return replace(scope, plan=_unlooked(plan), window=None)
    if scope.window is None or scope.schedule is None:
        return scope
    if holds_join(plan):  # a tumbling join's pairs are in the extent that ends next
        lives = LifetimeWindow(scope.schedule.slide)
        return replace(scope, plan=Alive(plan, lives, plan.schema), window=None)
    own = retimed(scope)
    return replace(own, window=LifetimeWindow(scope.window.span))


def at_instants(scope: Scope, window: TimeWindow) -> Scope:
    """A join as the rows that are there when it is looked at."""
    return replace(scope, plan=ToStream("rstream", scope.plan, scope.plan.schema, window), window=window)


def _looked(plan: Plan) -> bool:
    if isinstance(plan, Filter):
        return _looked(plan.input)
    return isinstance(plan, ToStream) and plan.looks is not None


def _unlooked(plan: Plan) -> Plan:
    if isinstance(plan, Filter):
        return replace(plan, input=_unlooked(plan.input))
    assert isinstance(plan, ToStream)
    return plan.input


__all__ = ["at_instants", "joint_window", "with_lifetimes"]
