"""Functions that Spark hasn't: gamma and binomials, likeness of texts. Their queries run as the kernel's operators there."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import polars as pl

from jupyter_stream.functions.binding import takes
from jupyter_stream.functions.elementwise import rowwise
from jupyter_stream.functions.expression import Call
from jupyter_stream.functions.function import Bind, Compiled, Failure, Function, Kernel, strict
from jupyter_stream.functions.types import BIGINT, DOUBLE, INT, STRING


def _of_the_kernel(signature: str, description: str, example: str, bind: Bind, kernel: Kernel) -> Function:
    name = signature.partition("(")[0]
    return Function(name, signature, description, example, bind, kernel, only_here=lambda call: True)


def _gamma(x: float) -> float:
    try:
        return math.gamma(x)
    except OverflowError:
        return math.inf
    except ValueError:  # at 0, -1, -2, ... and at minus infinity
        return math.copysign(math.inf, x) if x == 0 else math.nan


def _lgamma(x: float) -> float:
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):
        return math.inf


def _of_doubles(compute: Callable[[float], float]) -> Kernel:
    return strict(lambda call, x: rowwise(compute, DOUBLE, x))


_MOST: Final = 2**63 - 1


def _binomial(n: int, k: int) -> int | None:
    if k < 0 or n < 0 or k > n:
        return 0
    k, found = min(k, n - k), 1
    for i in range(k):
        found = found * (n - i) // (i + 1)
        if found > _MOST:  # it only grows
            return None
    return found


def _binom(call: Call, n: pl.Expr, k: pl.Expr) -> Compiled:
    made = rowwise(_binomial, BIGINT, n, k)
    beyond = n.is_not_null() & k.is_not_null() & made.is_null()
    return Compiled(made, (Failure(beyond, "BIGINT overflow in binom"),))


def _likeness(metric: str) -> Kernel:
    def kernel(call: Call, one: pl.Expr, other: pl.Expr) -> pl.Expr:
        from rapidfuzz.distance import DamerauLevenshtein, Jaro, JaroWinkler  # taken when first used

        known: dict[str, Callable[[str, str], float]] = {
            "jaro_similarity": Jaro.similarity,
            "jaro_winkler_similarity": JaroWinkler.similarity,
            "damerau_levenshtein": DamerauLevenshtein.distance,
        }
        compute, dtype = known[metric], call.dtype
        return rowwise(lambda a, b: compute(a, b), dtype, one, other)

    return strict(kernel)


FUNCTIONS: Final = (
    _of_the_kernel(
        "gamma(number) -> DOUBLE", "The gamma function: (n - 1)! of a whole n.", "gamma(5) = 24.0",
        takes("gamma", DOUBLE, result=DOUBLE), _of_doubles(_gamma),
    ),
    _of_the_kernel(
        "lgamma(number) -> DOUBLE", "The natural logarithm of the gamma function's size.", "lgamma(1) = 0.0",
        takes("lgamma", DOUBLE, result=DOUBLE), _of_doubles(_lgamma),
    ),
    _of_the_kernel(
        "binom(n, k) -> BIGINT", "In how many ways k of n things can be chosen; an error beyond BIGINT.", "binom(5, 2) = 10",
        takes("binom", BIGINT, BIGINT, result=BIGINT), strict(_binom),
    ),
    _of_the_kernel(
        "jaro_similarity(string, string) -> DOUBLE", "Jaro's likeness of two texts, from 0 to 1.",
        "jaro_similarity('duck', 'duke') = 0.8333333333333334", takes("jaro_similarity", STRING, STRING, result=DOUBLE),
        _likeness("jaro_similarity"),
    ),
    _of_the_kernel(
        "jaro_winkler_similarity(string, string) -> DOUBLE", "Jaro's likeness, more where they begin alike (Winkler).",
        "jaro_winkler_similarity('duck', 'duke') = 0.8666666666666667",
        takes("jaro_winkler_similarity", STRING, STRING, result=DOUBLE), _likeness("jaro_winkler_similarity"),
    ),
    _of_the_kernel(
        "damerau_levenshtein(string, string) -> INT",
        "How many characters to change, add, remove or swap with the next to make one text the other.",
        "damerau_levenshtein('duck', 'udck') = 1", takes("damerau_levenshtein", STRING, STRING, result=INT),
        _likeness("damerau_levenshtein"),
    ),
)  # fmt: skip
