"""Sums without rounding, as arrays: a number is limbs of 32 bits, each an int64 of its own until it is read.

Rows can so be added and taken back in any order for ever, floats too, and an answer is the exact value rounded once: equal
inputs give equal answers to the bit (Kulisch's long accumulator, cut to the limbs the data needs). Not for groups or time.

Sums of whole numbers alone need two limbs (`halves`), each a sum like any other for whoever keeps it: 2^31 rows of any size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from jupyter_stream.core.messages import Array, Bools, Int64s

BEYOND: Final = "a sum is beyond BIGINT"
"""What is said of a group that has no answer as a sum of whole numbers doesn't fit."""
_LIMB = 0xFFFFFFFF
_BITS = 32
_MANTISSA = 53
_HALF = 27
_MOST = 1 << 32
"""Divisors of long division stay below; groups of more rows are divided in floating point."""

Floats = NDArray[np.float64]


def halves(values: Int64s) -> tuple[Int64s, Int64s]:
    """The upper and the lower 32 bits of whole numbers: they are `high * 2 ** 32 + low`, and so are sums of them."""
    return values >> _BITS, values & _LIMB


def beyond(high: Int64s, low: Int64s) -> Bools:
    """Which numbers, sums of halves, don't fit int64."""
    top = high + (low >> _BITS)
    return (top >= 1 << 31) | (top < -(1 << 31))


def joined(high: Int64s, low: Int64s) -> Int64s:
    """The numbers that sums of halves stand for; anything where they are `beyond`."""
    return (high << _BITS) + low


def nearest(high: Int64s, low: Int64s) -> Floats:
    """The doubles nearest to what sums of halves stand for."""
    upper: Floats = (high + (low >> _BITS)) * float(1 << _BITS)
    return upper + (low & _LIMB)


def whole(high: Int64s, low: Int64s, exact: bool) -> tuple[Array, Bools | None]:
    """What sums of halves stand for and, where it must be `exact`, which of them don't fit int64; None if all do."""
    if not exact:
        return nearest(high, low), None
    wrong = beyond(high, low)
    return joined(high, low), wrong if wrong.any() else None


@dataclass(frozen=True)
class Exact:
    """Numbers `sum(parts[k] * 2 ** (32 * (low + k)))`, one per column of `parts`.

    Attributes:
        low: which limb `parts[0]` is.
        parts: int64 [limbs, numbers]; a part may be negative, and larger than a limb.
        odd: int64 [3, numbers]: how many NaN, +infinity and -infinity are in each sum; None without any.
    """

    low: int
    parts: Int64s
    odd: Int64s | None = None

    @property
    def high(self) -> int:
        """One past the last limb."""
        return self.low + len(self.parts)

    @classmethod
    def of(cls, values: Array, weights: Int64s, power: int = 1) -> Exact:
        """`weights * values ** power`, each on its own. `values` are int64 or float64; weights are -1, 0 or 1.

        Where a weight is 0 the value may be anything.
        """
        if values.dtype != np.float64:
            magnitude = np.abs(values).view(np.uint64)
            return cls(*_spread([(magnitude, np.zeros(values.size, np.int64))], weights * np.sign(values)))
        odd = None
        finite = np.isfinite(values)
        if not finite.all():
            kinds = [np.isnan(values), values == np.inf, values == -np.inf]
            if power == 2:
                kinds = [kinds[0], kinds[1] | kinds[2], np.zeros_like(finite)]
            odd = np.stack([weights * k for k in kinds])
            values = np.where(finite, values, 0.0)
        fraction, exponent = np.frexp(values)
        signed = (fraction * float(1 << _MANTISSA)).astype(np.int64)
        exponents = exponent.astype(np.int64) - _MANTISSA
        magnitude = np.abs(signed).view(np.uint64)
        if power == 1:
            return cls(*_spread([(magnitude, exponents)], weights * np.sign(signed)), odd)
        high, low = magnitude >> np.uint64(_HALF), magnitude & np.uint64((1 << _HALF) - 1)
        squares = [
            (high * high, 2 * exponents + 2 * _HALF),
            (high * low, 2 * exponents + _HALF + 1),
            (low * low, 2 * exponents),
        ]
        return cls(*_spread(squares, weights), odd)


def _spread(pieces: list[tuple[NDArray[np.uint64], Int64s]], signs: Int64s) -> tuple[int, Int64s]:
    """`signs * sum(magnitude * 2 ** exponent)` as limbs; only limbs that some number needs."""
    found: dict[int, Int64s] = {}
    for magnitude, exponent in pieces:
        # zeros have no exponent worth making room for
        some = (magnitude != 0) & (signs != 0)
        if not some.any():
            continue
        limb = np.where(some, exponent >> 5, 0)
        shift = (exponent & 31).view(np.uint64)
        low = (magnitude & np.uint64(_LIMB)) << shift
        rest = ((magnitude >> np.uint64(_BITS)) << shift) + (low >> np.uint64(_BITS))
        limbs = (low & np.uint64(_LIMB), rest & np.uint64(_LIMB), rest >> np.uint64(_BITS))
        signed = [np.where(some, x.view(np.int64) * signs, 0) for x in limbs]
        used = limb[some]
        first, last = int(used.min()), int(used.max())
        for at in range(first, last + 1) if last - first < 8 else np.unique(used).tolist():
            here = limb == at if first != last else None
            for k, x in enumerate(signed):
                part = x if here is None else np.where(here, x, 0)
                if part.any():
                    found[at + k] = found[at + k] + part if at + k in found else part
    if not found:
        return 0, np.zeros((1, signs.size), np.int64)
    first, last = min(found), max(found)
    parts = np.zeros((last - first + 1, signs.size), np.int64)
    for at, part in found.items():
        parts[at - first] = part
    return first, parts


def carried(parts: Int64s) -> Int64s:
    """The same numbers with every limb but the last one within 0..2^32 - 1; one limb more."""
    out = np.empty((parts.shape[0] + 1, parts.shape[1]), np.int64)
    carry = np.zeros(parts.shape[1], np.int64)
    for k in range(parts.shape[0]):
        total = parts[k] + carry
        out[k] = total & _LIMB
        carry = total >> _BITS
    out[-1] = carry
    return out


def as_integers(number: Exact) -> tuple[Int64s, Bools]:
    """Whole numbers (`low` >= 0) as int64, and which are beyond it."""
    parts = np.zeros((max(2, number.high), number.parts.shape[1]), np.int64)
    parts[number.low : number.high] = number.parts
    limbs = carried(parts)
    high = limbs[1] + (limbs[2] << _BITS)
    beyond = (high >= 1 << 31) | (high < -(1 << 31)) | (limbs[2] > 1) | (limbs[2] < -1) | limbs[3:].any(axis=0)
    return (high << _BITS) | limbs[0], beyond


def as_floats(number: Exact) -> Floats:
    """The nearest doubles."""
    negative, limbs = _magnitude(number.parts)
    return _with_odd(_rounded(negative, limbs, number.low, np.zeros(negative.size, np.bool_)), number.odd)


def mean(number: Exact, count: Int64s) -> Floats:
    """The number over `count` (where that is positive; else anything), rounded once."""
    divisor = np.maximum(count, 1)
    if int(divisor.max(initial=1)) >= _MOST:
        return as_floats(number) / divisor
    negative, limbs = _magnitude(number.parts)
    limbs, rest = _divided(_lower(limbs, 3), divisor)
    return _with_odd(_rounded(negative, limbs, number.low - 3, rest), number.odd)


def variance(total: Exact, squares: Exact, count: Int64s, ddof: int) -> Floats:
    """(n Σx² - (Σx)²) / (n (n - ddof)), without a rounding before the last (where n > ddof; else anything)."""
    n = np.maximum(count, 1)
    less = np.maximum(count - ddof, 1)
    if int(n.max(initial=1)) >= _MOST:
        middle = as_floats(total) / n
        return np.maximum(as_floats(squares) / n - middle * middle, 0.0) * (n / less)
    _, a = _magnitude(total.parts)
    _, b = _magnitude(squares.parts)
    low = min(squares.low, 2 * total.low)
    size = max(squares.low + b.shape[0], 2 * (total.low + a.shape[0])) - low + 1
    parts = np.zeros((size, n.size), np.int64)
    for k in range(b.shape[0]):
        _accumulate(parts, squares.low - low + k, b[k] * n.view(np.uint64), 1)
    for i in range(a.shape[0]):
        for j in range(i, a.shape[0]):
            _accumulate(parts, 2 * total.low - low + i + j, a[i] * a[j], -1 if i == j else -2)
    negative, limbs = _magnitude(parts)
    limbs, rest = _divided(_lower(limbs, 5), n)
    limbs, more = _divided(limbs, less)
    result = _rounded(negative, limbs, low - 5, rest | more)
    odd = squares.odd
    return result if odd is None else np.where(odd.any(axis=0), np.nan, result)


def _accumulate(parts: Int64s, at: int, product: NDArray[np.uint64], times: int) -> None:
    low = (product & np.uint64(_LIMB)).view(np.int64)
    if low.any():
        parts[at] += times * low
    high = (product >> np.uint64(_BITS)).view(np.int64)
    if high.any():
        parts[at + 1] += times * high


def _magnitude(parts: Int64s) -> tuple[Bools, NDArray[np.uint64]]:
    """Sign (true: negative) and limbs of the absolute value, all within 0..2^32 - 1, without zero limbs at the ends' top."""
    limbs = carried(carried(parts))
    negative = limbs[-1] < 0
    if negative.any():
        limbs = carried(carried(np.where(negative, -parts, parts)))
    top = limbs.shape[0]
    while top > 1 and not limbs[top - 1].any():
        top -= 1
    return negative, limbs[:top].view(np.uint64)


def _lower(limbs: NDArray[np.uint64], count: int) -> NDArray[np.uint64]:
    return np.concatenate([np.zeros((count, limbs.shape[1]), np.uint64), limbs])


def _divided(limbs: NDArray[np.uint64], by: Int64s) -> tuple[NDArray[np.uint64], Bools]:
    """Long division: the quotients and whether anything was left."""
    divisor = by.view(np.uint64)
    quotient = np.empty_like(limbs)
    rest = np.zeros(by.size, np.uint64)
    for k in range(limbs.shape[0] - 1, -1, -1):
        quotient[k], rest = np.divmod((rest << np.uint64(_BITS)) | limbs[k], divisor)
    return quotient, rest != 0


def _rounded(negative: Bools, limbs: NDArray[np.uint64], low: int, sticky: Bools) -> Floats:
    """The doubles nearest to limbs (and something beneath them, where sticky), ties to even."""
    count, size = limbs.shape
    padded = np.concatenate([np.zeros((2, size), np.uint64), limbs])
    top = np.full(size, 2)
    for k in range(1, count):
        top = np.where(limbs[k] != 0, k + 2, top)
    at = np.arange(size)
    a, b, c = padded[top, at], padded[top - 1, at], padded[top - 2, at]
    below = np.zeros(size, np.bool_)
    for k in range(count - 3):
        below |= (limbs[k] != 0) & (k < top - 4)
    bits = np.frexp(a.astype(np.float64))[1].astype(np.uint64)  # a < 2^32 is a double: exact
    # 63 bits from the leading one down; what is beneath them only matters by being there
    up = np.uint64(63) - bits
    middle = (b << np.uint64(31)) >> bits
    word = (a << up) | middle | (c >> (bits + np.uint64(1)))
    lost = (c & ((np.uint64(1) << (bits + np.uint64(1))) - np.uint64(1))) != 0
    word |= (lost | below | sticky).astype(np.uint64)
    exponent = _BITS * (top - 2 + low) - up.view(np.int64)
    with np.errstate(over="ignore", under="ignore"):
        result = np.ldexp(word.view(np.int64).astype(np.float64), exponent.astype(np.int32))
    signed: Floats = np.where(negative, -result, result)
    return signed


def _with_odd(values: Floats, odd: Int64s | None) -> Floats:
    if odd is None:
        return values
    nan, plus, minus = odd > 0
    values = np.where(plus, np.inf, np.where(minus, -np.inf, values))
    return np.where(nan | (plus & minus), np.nan, values)
