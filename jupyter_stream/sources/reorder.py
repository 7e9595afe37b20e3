"""Another order of arrival that a stream's punctuations allow: what the answers of its queries may not depend on.

Not for reading or writing recordings. Arrays have one entry for each row, in the order in which the rows arrived.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Int64s: TypeAlias = NDArray[np.int64]


def reorder(ts: Int64s, promised: Int64s, within: int, seed: int) -> tuple[Int64s, Int64s]:
    """Draw another order of arrival.

    The punctuations stay as they came, and rows move between them: a row moves by at most `within` of the stream's time (the
    newest time so far), and never behind a punctuation that it would break, so that no row becomes late. A late row stays
    between the same two punctuations, late by the same. Late rows keep their order among themselves, and so do rows of equal
    time: ties are broken by it.

    Args:
        ts: times of the rows, microseconds.
        promised: the punctuation in force when each came; never decreases.
        within: how far a row moves at most, microseconds.
        seed: of the draw; the same gives the same order.

    Returns:
        For each place in the new order the number of the row that comes there, and the punctuation in force there.
    """
    if not ts.size:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    said, segment = np.unique(promised, return_inverse=True)
    reached = np.maximum.accumulate(ts)
    begins = reached[np.searchsorted(segment, np.arange(said.size))]  # stream's time when each punctuation came
    draw = np.random.default_rng(seed).integers(-within, within, ts.size, endpoint=True)
    key = reached + draw
    wanted = np.maximum(np.searchsorted(begins, key, side="right") - 1, 0)
    in_time = np.searchsorted(said, ts, side="right") - 1  # the last punctuation that the row doesn't break
    late = ts < promised
    to = np.where(late, segment, np.minimum(wanted, in_time))
    order = np.lexsort((key, to))
    place = np.empty_like(order)
    place[order] = np.arange(ts.size)
    place[late] = np.sort(place[late])
    # rows of equal time share the places drawn for them, in their old order
    on_time = np.flatnonzero(~late)
    times, places = ts[on_time], place[on_time]
    place[on_time[np.argsort(times, kind="stable")]] = places[np.lexsort((places, times))]
    order[place] = np.arange(ts.size)
    return order, said[np.sort(to)]
