"""How long rows of a plan live: those of joins have lifetimes of their own. Worked out from the plan alone."""

from __future__ import annotations

from jupyter_stream.plan.logical import (
    Alive,
    Distinct,
    Filter,
    Join,
    Lookup,
    Plan,
    Project,
    Sample,
    ToStream,
    Unnest,
    under,
    walk,
)
from jupyter_stream.windows import Window


def holds_join(plan: Plan) -> bool:
    """Whether a plan's rows are joined ones, with lifetimes of their own."""
    return isinstance(plan, Join) or (
        isinstance(plan, Filter | Project | Sample | Unnest | Lookup) and holds_join(plan.input)
    )


def whole_lives(join: Join) -> bool:
    """Whether a joined row, or one that is padded or passed alone, is there for one stretch, which the join of streams knows.

    Of an inner join always. Of another one where rows meet at one instant and stay for ever: who is alone then always was.
    """
    if join.kind == "inner":
        return True
    stay = all(w.keeps_all for w in join.windows)
    return (join.low, join.high) == (0, 0) and stay and not any(holds_join(part) for part in join.inputs)


def windows_below(plan: Plan) -> list[Window]:
    """The windows of the streams that a join's rows are made of."""
    if not isinstance(plan, Join):
        return windows_below(plan.inputs[0])
    below = zip(plan.inputs, plan.windows, strict=True)
    return [w for child, window in below for w in (windows_below(child) if holds_join(child) else [window])]


def waits_for_ever(join: Join) -> str | None:
    """The input of a join of streams whose rows nothing lets go of, without having been told to keep them; None mostly."""
    bounds, which = (join.high, join.low), ("left", "right")
    for bound, window, child, name in zip(bounds, join.windows, join.inputs, which, strict=True):
        own = not holds_join(child) or window.written
        windows = [window] if own else windows_below(child)
        if bound is None and not all(map(_meant, windows)):
            return name
    return None


def _meant(window: Window) -> bool:
    """Whether it says how long rows live, be it for ever."""
    return window.written or window.span is not None


def unbounded(plan: Plan) -> bool:
    """Whether there is such a join."""
    return any(isinstance(node, Join) and waits_for_ever(node) is not None for node in walk(plan))


def gives_at_once(plan: ToStream) -> bool:
    """Whether all instants at which a join's rows are looked at are known when they are joined."""
    below, looks = plan.input, plan.looks
    if looks is None or looks.length is None:
        return False  # a landmark is looked at for as long as rows come
    return isinstance(below, Alive) and below.ends and longest_life(below.input) is not None


def longest_life(plan: Plan) -> int | None:
    """The longest a joined row can live, microseconds; None if nothing says so."""
    plan = under(plan, Filter, Project, Sample, Unnest, Lookup)
    match plan:
        case Join():
            lives = (w.span for w in plan.windows if not w.sliding)
            return min((life for life in lives if life is not None), default=None)
        case Distinct(lives=True):
            return plan.window.range
    return None
