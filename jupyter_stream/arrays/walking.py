"""Long lists of (row, number) pairs, walked in pieces and never made."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from jupyter_stream.core.messages import Int64s


def nth(many: Int64s) -> Int64s:
    """Of so many each, which of its own each one is, from 0: `[2, 3]` gives `[0, 1, 0, 1, 2]`. Goes with `np.repeat`."""
    return np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)


def ranges(first: Int64s, many: Int64s) -> Int64s:
    """`first`, `first + 1` and so on, so many of each, one after the other."""
    return nth(many) + np.repeat(first, many)


def lots(sizes: Int64s, most: int) -> Iterator[tuple[int, int]]:
    """From which thing to which, so that a lot of them is at most so large together, or of one."""
    ends = np.cumsum(sizes)
    begin = 0
    while begin < sizes.size:
        done = int(ends[begin - 1]) if begin else 0
        stop = max(begin + 1, int(np.searchsorted(ends, done + most, "right")))
        yield begin, stop
        begin = stop


def walked(first: Int64s, after: Int64s, most: int) -> Iterator[tuple[Int64s, Int64s]]:
    """Each row with each of the numbers from `first` to before `after`, in order, at most so many pairs at a time.

    Args:
        first: of each row the first number.
        after: of each row one past the last.
        most: pairs in a piece.

    Yields:
        The rows, by their place, and the numbers.
    """
    many = np.maximum(after - first, 0)
    total = np.cumsum(np.minimum(many, most))
    start = 0
    while start < many.size:
        if many[start] > most:
            for begin in range(int(first[start]), int(after[start]), most):
                numbers = np.arange(begin, min(begin + most, int(after[start])))
                yield np.full(numbers.size, start), numbers
            start += 1
            continue
        before = int(total[start - 1]) if start else 0
        stop = int(np.searchsorted(total, before + most, "right"))
        large = np.flatnonzero(many[start:stop] > most)
        stop = start + int(large[0]) if large.size else stop
        count = many[start:stop]
        rows = np.repeat(np.arange(start, stop), count)
        if rows.size:
            yield rows, nth(count) + first[rows]
        start = stop


def stretches(first: Int64s, after: Int64s, upto: int, most: int) -> Iterator[tuple[int, int]]:
    """The numbers from 0 to before `upto` in stretches in which few pairs of a row and a number are, or of one number each.

    Args:
        first: of each row the first number.
        after: of each row one past the last.
        upto: one past the last number.
        most: pairs in a stretch of several numbers.
    """
    change = np.bincount(first, minlength=upto + 1) - np.bincount(np.maximum(after, first), minlength=upto + 1)
    total = np.cumsum(np.cumsum(change)[:upto])
    low = 0
    while low < upto:
        before = int(total[low - 1]) if low else 0
        high = max(low + 1, int(np.searchsorted(total, before + most, "right")))
        yield low, high
        low = high


__all__ = ["lots", "nth", "ranges", "stretches", "walked"]
