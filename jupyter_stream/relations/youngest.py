"""Which rows of one value a bag difference returns, instant by instant: those alive but for the oldest, one for each right row.

For values with many rows and many instants. Of rows that live throughout some instants only those near the border between what
is left out and what is returned can change sides: as many as rows end, and right ones come and go. The others are only counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jupyter_stream.core.messages import Bools, Int64s
from jupyter_stream.core.time import MIN_TIME

_INSTANTS = 256
"""Instants looked at together: rows near the border are a few times as many, and each is looked at at each."""


@dataclass(frozen=True)
class Turns:
    """Rows that enter the answer or leave it.

    Attributes:
        rows: their numbers, earliest turn first.
        at: when, microseconds.
        enter: whether they enter.
        members: of every row, whether it is in the answer in the end.
    """

    rows: Int64s
    at: Int64s
    enter: Bools
    members: Bools


def turns(since: Int64s, until: Int64s, members: Bools, before: int, at: Int64s, counts: Int64s) -> Turns:
    """The turns of one value's rows.

    Args:
        since: when each row enters, oldest first; `MIN_TIME` for those that were there before the first instant.
        until: when it leaves.
        members: which were in the answer before.
        before: how many right rows there were before.
        at: the instants at which rows enter or leave on either side, ascending.
        counts: how many right rows there are at each.
    """
    members, found = members.copy(), []
    alive = since == MIN_TIME
    for begin in range(0, at.size, _INSTANTS):
        some, right = at[begin : begin + _INSTANTS], counts[begin : begin + _INSTANTS]
        steps = np.diff(right, prepend=before)
        ends = alive & (until <= some[-1])
        new = ~alive & (since <= some[-1]) & (until > some[0])
        stays = alive & ~ends
        left_out = np.cumsum(alive) - alive - before  # older rows than this one, less those that are left out
        down = int(np.count_nonzero(ends)) + int(steps[steps > 0].sum())
        up = -int(steps[steps < 0].sum())
        settled = stays & ((left_out >= down) | (left_out < -up))
        near = np.flatnonzero((stays & ~settled) | ends | new)
        older = (np.cumsum(settled) - settled)[near]
        here = (since[near, None] <= some) & (some < until[near, None])
        place = np.cumsum(here, axis=0, dtype=np.int32) - here
        now = here & (older[:, None] + place >= right)
        turned = now != np.concatenate([members[near, None], now[:, :-1]], axis=1)
        instant, row = np.nonzero(turned.T)
        found.append((near[row], some[instant], now[row, instant]))
        members[near] = now[:, -1]
        alive, before = (alive & ~ends) | (new & (until > some[-1])), int(right[-1])
    rows, when, enter = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Turns(rows, when, enter, members)


__all__ = ["Turns", "turns"]
