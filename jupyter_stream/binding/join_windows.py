"""Windows of joins: how far apart in time two rows may be that meet, and whether that has a bound."""

from __future__ import annotations

from dataclasses import replace

from jupyter_stream.binding.as_relation import UNBOUNDED
from jupyter_stream.binding.join_extents import extent_start
from jupyter_stream.binding.scope import Scope
from jupyter_stream.core.messages import TS
from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.functions import Column, Expr
from jupyter_stream.functions.types import BIGINT
from jupyter_stream.plan.lifetimes import holds_join, waits_for_ever, windows_below
from jupyter_stream.plan.logical import Join, Plan, Retimed
from jupyter_stream.plan.relations import is_relation
from jupyter_stream.syntax.query_syntax import FromItem, JoinRef
from jupyter_stream.syntax.source_text import SourceText, Span
from jupyter_stream.windows import Window


def check_input(scope: Scope, part: FromItem, source: SourceText) -> None:
    """Raise for what can't be joined."""
    if is_relation(scope.plan):
        raise source.error(
            "a join with an aggregate without SLIDE isn't available in this version",
            part.span,
            "Give the inner aggregate a window with SLIDE.",
            UnsupportedError,
        )
    window = scope.window
    if window is not None and not window.ends_with_rows and window.on is not None and holds_join(scope.plan):
        raise source.error(
            "ON in a window over a join isn't available in this version",
            part.span,
            "Write ON in the windows of the streams that are joined.",
            UnsupportedError,
        )
    if window is None or window.lifetime is not None or window.tumbling:
        return
    raise ends_apart(window, part.span, source)


def ends_apart(window: Window, span: Span, source: SourceText) -> QueryError:
    """What to say of a window whose extents end with rows: two streams have no such instants in common."""
    if not window.ends_with_rows:
        return source.error(
            f"a join under {window} isn't available in this version",
            span,
            "Joins take [RANGE 5 MINUTES], [RANGE 5 MINUTES SLIDE 1 MINUTE], [ROWS 5] or [RANGE UNBOUNDED].",
            UnsupportedError,
        )
    return source.error(
        f"{window} ends with rows of this stream, and a join needs windows that end at fixed times",
        span,
        f"Join the rows of each extent as it ends: SELECT x.window_end, ... FROM (SELECT * FROM a {window}) [NOW] x JOIN b "
        "[RANGE 5 MINUTES] y ON ...; or write [RANGE 5 MINUTES], with SLIDE 1 MINUTE in it if that is when to look, or [ROWS 5].",
        UnsupportedError,
    )


def retimed(scope: Scope) -> Scope:
    """A stream under `[... ON col]` as one whose time is that column, under the window without it."""
    window = scope.window
    if window is None or window.on is None:
        return scope
    return replace(scope, plan=Retimed(scope.plan, window.on, scope.schema), window=window.by_own_time())


def bounds_of(
    left: Scope, right: Scope, item: JoinRef, source: SourceText
) -> tuple[int | None, int | None, tuple[Expr, Expr] | None]:
    """Least and greatest difference of times; and for tumbling windows the extents that have to be the same."""
    one, other = left.window or UNBOUNDED, right.window or UNBOUNDED
    if one.sliding or other.sliding:
        if one != other or one.schedule is None:
            raise source.error(
                f"the inputs of the join have different windows, {one} and {other}",
                item.span,
                "A tumbling join needs the same window for both: write it once, after the last stream.",
            )
        own, slide = extent_start(Column(TS, BIGINT), one.schedule), one.schedule.slide
        return 1 - slide, slide - 1, (own, own)
    high = None if _longest(left, one) is None else (_longest(left, one) or 0) - 1
    low = None if _longest(right, other) is None else 1 - (_longest(right, other) or 0)
    return low, high, None


def _longest(scope: Scope, window: Window) -> int | None:
    """How long rows live at most. Rows of a join live as long as all their parts."""
    if holds_join(scope.plan) and scope.window is None:
        spans = [w.span for w in windows_below(scope.plan)]
        return None if any(s is None for s in spans) else max(s for s in spans if s is not None)
    return window.span


def check_bounds(plan: Plan, source: SourceText, span: Span) -> None:
    """Raise if a join would have to keep rows for ever without being told to."""
    for child in plan.inputs:
        check_bounds(child, source, span)
    which = waits_for_ever(plan) if isinstance(plan, Join) else None
    if which is not None:
        raise source.error(
            f"nothing says how long rows of the {which} input wait for matching rows",
            span,
            "Give both windows, FROM a [RANGE 5 MINUTES] JOIN b [RANGE 5 MINUTES] ON ..., bound the times, "
            "a.ts BETWEEN b.ts - INTERVAL 5 MINUTES AND b.ts, or write [RANGE UNBOUNDED].",
        )


__all__ = ["bounds_of", "check_bounds", "check_input", "ends_apart", "retimed"]
