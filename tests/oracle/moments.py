"""Moments of numbers and of pairs of numbers by definition, exact, rounded to a double at the very end."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from tests.oracle.values import Near, Value

CAREFUL = 1e-10
"""Relative error a careful double-precision method stays well below, of sums whose terms may cancel."""


def centred(values: list[float]) -> list[Fraction]:
    middle = sum(map(Fraction, values)) / len(values)
    return [Fraction(v) - middle for v in values]


def power(values: list[float], exponent: int) -> Fraction:
    return sum((d**exponent for d in centred(values)), Fraction(0))


def is_odd(values: list[float]) -> bool:
    """Whether there is a NaN or an infinity among them."""
    return not all(map(math.isfinite, values))


def roots(value: Fraction) -> float:
    """A square root that huge squares don't overflow."""
    scale = max(0, value.numerator.bit_length() - value.denominator.bit_length()) // 2
    return math.sqrt(value / 4**scale) * 2.0**scale


def shape(values: list[Value], exponent: int) -> Value:
    numbers = [float(v) for v in values]  # type: ignore[arg-type]
    if is_odd(numbers):
        return math.nan
    second = power(numbers, 2)
    if second == 0:
        return None
    root = roots(second / len(numbers))
    exact = float(power(numbers, exponent) / len(numbers)) / root**exponent - (3 if exponent == 4 else 0)
    # a spread that is small beside the values themselves costs digits of the deviations
    lost = 1 + max(map(abs, numbers)) / root
    return Near(exact, CAREFUL * lost * (1 + abs(exact)))


def skewness(values: list[Value]) -> Value:
    return shape(values, 3)


def kurtosis(values: list[Value]) -> Value:
    return shape(values, 4)


class Pairs:
    """Sums over pairs (y, x) without NULL."""

    def __init__(self, pairs: list[tuple[float, float]]) -> None:
        self.n = len(pairs)
        self.y, self.x = [p[0] for p in pairs], [p[1] for p in pairs]
        self.odd_y, self.odd_x = is_odd(self.y), is_odd(self.x)
        self.odd = self.odd_y or self.odd_x
        self.yy = Fraction(1) if self.odd_y else power(self.y, 2)
        self.xx = Fraction(1) if self.odd_x else power(self.x, 2)
        if not self.odd:
            both = zip(centred(self.y), centred(self.x), strict=True)
            self.yx = sum((a * b for a, b in both), Fraction(0))

    def near(self, exact: Fraction, size: Fraction) -> Value:
        """The value, with the slack of terms of that size."""
        return Near(float(exact), CAREFUL * abs(float(size)))

    @property
    def terms(self) -> Fraction:
        """The size of the terms that products of deviations are sums of."""
        high_y, high_x = (max(map(abs, map(Fraction, v))) for v in (self.y, self.x))
        return self.n * high_y * high_x


def _mean(values: list[float]) -> Value:
    if is_odd(values):
        odd = {v for v in values if math.isinf(v)}
        return math.nan if any(map(math.isnan, values)) or len(odd) == 2 else odd.pop()
    n = len(values)
    return Near(float(sum(map(Fraction, values)) / n), CAREFUL * float(sum(abs(Fraction(v)) for v in values) / n))


def _covariance(p: Pairs, fewer: int) -> Value:
    if p.n <= fewer:
        return None
    return math.nan if p.odd else p.near(p.yx / (p.n - fewer), p.terms / (p.n - fewer))


def _corr(p: Pairs) -> Value:
    if p.yy == 0 or p.xx == 0:
        return None
    if p.odd:
        return math.nan
    exact = float(p.yx) / roots(p.yy) / roots(p.xx)
    return Near(exact, CAREFUL * (1 + float(p.terms) / roots(p.yy) / roots(p.xx)))


def _r2(p: Pairs) -> Value:
    if p.xx == 0:
        return None
    if p.yy == 0:
        return 1.0
    found = _corr(p)
    return Near(found * found, 3 * found.slack) if isinstance(found, Near) else found


def _slope(p: Pairs) -> Value:
    if p.xx == 0:
        return None
    return math.nan if p.odd else p.near(p.yx / p.xx, p.terms / p.xx)


def _intercept(p: Pairs) -> Value:
    slope = _slope(p)
    if not isinstance(slope, Near):
        return slope
    y, x = (sum(map(Fraction, v)) / p.n for v in (p.y, p.x))
    high_y, high_x = (max(map(abs, v)) for v in (p.y, p.x))
    exact = float(y - p.yx / p.xx * x)
    return Near(exact, CAREFUL * (high_y + abs(float(slope)) * high_x) + slope.slack * high_x)


def _squares(own: Fraction, values: list[float], odd: bool) -> Value:
    high = max(map(abs, values))
    return math.nan if odd else Near(float(own), CAREFUL * len(values) * high * high)


OF_PAIRS: dict[str, Callable[[Pairs], Value]] = {
    "covar_pop": lambda p: _covariance(p, 0),
    "covar_samp": lambda p: _covariance(p, 1),
    "corr": _corr,
    "regr_count": lambda p: p.n,
    "regr_avgx": lambda p: _mean(p.x),
    "regr_avgy": lambda p: _mean(p.y),
    "regr_sxx": lambda p: _squares(p.xx, p.x, p.odd_x),
    "regr_syy": lambda p: _squares(p.yy, p.y, p.odd_y),
    "regr_sxy": lambda p: math.nan if p.odd else p.near(p.yx, p.terms),
    "regr_slope": _slope,
    "regr_intercept": _intercept,
    "regr_r2": _r2,
}
"""Of at least one pair."""


def of_pairs(function: str, given: list[tuple[Value, Value]]) -> Value:
    pairs = [(float(y), float(x)) for y, x in given if y is not None and x is not None]  # type: ignore[arg-type]
    if not pairs:
        return 0 if function == "regr_count" else None
    return OF_PAIRS[function](Pairs(pairs))
