"""Many folds over ranges of one array at once, for windows whose extents overlap in no regular way. Knows no time."""

from __future__ import annotations

import numpy as np

from jupyter_stream.core.messages import Array, Int64s


def sums(values: Int64s, first: Int64s, stop: Int64s) -> Int64s:
    """Sums of `values[first:stop]`, for each range: differences of running sums, exact modulo 2**64."""
    running = np.empty(values.size + 1, np.int64)
    running[0] = 0
    np.cumsum(values, out=running[1:])
    found: Int64s = running[stop] - running[first]
    return found


def folds(values: Array, fold: np.ufunc, first: Int64s, stop: Int64s, seam: int) -> Array:
    """`fold` over `values[first:stop]`, for each range, none of them empty. The fold is associative; it need not be invertible.

    A range across `seam` is the end of what lies before it and the beginning of what lies behind it: one pass over each side.
    A range behind the seam is put together from runs of 1, 2, 4, ... values (binary lifting), log2 of the longest range passes.

    Args:
        values: what is folded.
        fold: a binary ufunc.
        first: where ranges begin.
        stop: where they end, exclusive; all behind the seam.
        seam: ranges that begin before it are to end behind it. 0 where that can't be said.
    """
    found = np.empty(first.size, values.dtype)
    across = first < seam
    if across.any():
        oldest = int(first[across].min())
        ends = fold.accumulate(values[oldest:seam][::-1])[::-1]
        beginnings = fold.accumulate(values[seam : int(stop[across].max())])
        found[across] = fold(ends[first[across] - oldest], beginnings[stop[across] - 1 - seam])
        behind = ~across
        found[behind] = lifted(values[seam:], fold, first[behind] - seam, stop[behind] - seam)
        return found
    return lifted(values[seam:], fold, first - seam, stop - seam)


def lifted(values: Array, fold: np.ufunc, first: Int64s, stop: Int64s) -> Array:
    """`fold` over `values[first:stop]`, for each range, none of them empty: from runs of 1, 2, 4, ... values (binary lifting)."""
    found = np.empty(first.size, values.dtype)
    if not first.size:
        return found
    base = int(first.min())
    runs, at, length = values[base : int(stop.max())], first - base, stop - first
    begun = np.zeros(first.size, np.bool_)
    longest, step = int(length.max()), 1
    while True:
        now = np.flatnonzero(length & step)
        if now.size:
            part, old = runs[at[now]], begun[now]
            fresh = now[~old]
            found[fresh] = part[~old]
            begun[fresh] = True
            again = now[old]
            if again.size:
                found[again] = fold(found[again], part[old])
            at[now] += step
        if 2 * step > longest:
            return found
        runs = fold(runs[:-step], runs[step:])
        step *= 2
