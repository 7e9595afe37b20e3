"""Functions that look at single characters of texts, or choose among arguments: distances, check digits, elt."""

from __future__ import annotations

from typing import Final

import polars as pl

from jupyter_stream.functions.binding import argument, count, takes
from jupyter_stream.functions.elementwise import rowwise
from jupyter_stream.functions.expression import Call, Expr
from jupyter_stream.functions.function import Compiled, Failure, Function, guarded, strict
from jupyter_stream.functions.rows import alias, row
from jupyter_stream.functions.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING

_DOUBLED: Final = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)


def _luhn(text: str) -> bool:
    if not text or not (text.isascii() and text.isdigit()):
        return False
    digits = [int(d) for d in reversed(text)]
    return (sum(digits[::2]) + sum(_DOUBLED[d] for d in digits[1::2])) % 10 == 0


def _hamming(one: str, other: str) -> int | None:
    return sum(a != b for a, b in zip(one, other, strict=True)) if len(one) == len(other) else None


def _mismatches(call: Call, one: pl.Expr, other: pl.Expr) -> Compiled:
    made = rowwise(_hamming, BIGINT, one, other)  # Polars compares items with one value, not with those of a list
    apart = one.str.len_chars() != other.str.len_chars()
    return Compiled(made, (Failure(apart.fill_null(False), "hamming compares texts of the same length"),))


_HAMMING_ON_SPARK: Final = (
    "CASE WHEN length({0}) = length({1}) THEN CAST(aggregate(zip_with(regexp_extract_all({0}, '(?s).', 0),"
    " regexp_extract_all({1}, '(?s).', 0), (a, b) -> CASE WHEN a = b THEN 0 ELSE 1 END), 0, (s, v) -> s + v) AS BIGINT)"
    " WHEN {0} IS NOT NULL AND {1} IS NOT NULL"
    " THEN CAST(raise_error('hamming compares texts of the same length') AS BIGINT) END"
)


def _jaccard(call: Call, one: pl.Expr, other: pl.Expr) -> Compiled:
    a, b = (text.str.split("") for text in (one, other))
    made = a.list.set_intersection(b).list.len().cast(DOUBLE) / a.list.set_union(b).list.len().cast(DOUBLE)
    empty = (one == "") | (other == "")
    return Compiled(made, (Failure(empty.fill_null(False), "jaccard compares texts with at least one character"),))


_JACCARD_ON_SPARK: Final = (
    "CASE WHEN {0} = '' OR {1} = '' THEN CAST(raise_error('jaccard compares texts with at least one character') AS DOUBLE)"
    " ELSE size(array_intersect(regexp_extract_all({0}, '(?s).', 0), regexp_extract_all({1}, '(?s).', 0)))"
    " / size(array_union(regexp_extract_all({0}, '(?s).', 0), regexp_extract_all({1}, '(?s).', 0))) END"
)


def _levenshtein(call: Call, one: pl.Expr, other: pl.Expr, most: pl.Expr | None = None) -> pl.Expr:
    from rapidfuzz.distance import Levenshtein  # taken when first used: few sessions need it

    if most is None:
        return rowwise(Levenshtein.distance, INT, one, other)

    def within(a: str, b: str, limit: int) -> int:
        found = Levenshtein.distance(a, b)
        return found if found <= limit else -1

    return rowwise(within, INT, one, other, most.fill_null(0))  # as Spark takes a most of NULL


def _bind_elt(args: tuple[Expr, ...]) -> Expr:
    count("elt", args, 2)
    values = tuple(argument("elt", i, v, STRING) for i, v in enumerate(args[1:], 1))  # each by itself, as in Spark
    return Call("elt", (argument("elt", 0, args[0], INT), *values), STRING)


def _elt(call: Call, parts: tuple[Compiled, ...]) -> Compiled:
    """Only the argument that is chosen may fail, as in Spark."""
    place, *values = parts
    value = pl.lit(None, dtype=STRING)
    failures = list(place.failures)
    for i, part in enumerate(values, 1):
        chosen = place.value == i
        value = pl.when(chosen).then(part.value).otherwise(value)
        failures += guarded(chosen, part.failures)
    outside = Failure(~place.value.is_between(1, len(values)), f"elt has the numbers 1 to {len(values)} here")
    return Compiled(value, (*failures, outside))


def _conv(text: str, base: int, to: int) -> str | None:
    """Digits of another base: 64 bits, as Spark has them; a negative `to` has a sign."""
    if not 2 <= base <= 36 or not 2 <= abs(to) <= 36:
        return None
    text = text.strip(" ")
    if not text:
        return None
    negative = text.startswith("-")
    value = 0
    for character in text[negative:].upper():
        digit = _DIGITS.find(character)
        if not 0 <= digit < base:
            break
        value = min(value * base + digit, _BEYOND)
    if value == _BEYOND:
        return _TOO_LARGE
    if negative and to > 0:
        value = (2**64 - value) % 2**64
    if to < 0:
        value = value - 2**64 if value >= 2**63 and not negative else value
        return ("-" if negative else "") + _in_base(value, -to)
    return _in_base(value, to)


_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_BEYOND: Final = 2**64
_TOO_LARGE: Final = "beyond 64 bits"


def _in_base(value: int, base: int) -> str:
    left, digits = abs(value), ""
    while left or not digits:
        left, digit = divmod(left, base)
        digits = _DIGITS[digit] + digits
    return f"-{digits}" if value < 0 else digits


def _converted(call: Call, text: pl.Expr, base: pl.Expr, to: pl.Expr) -> Compiled:
    made = rowwise(_conv, STRING, text, base, to)
    return Compiled(made, (Failure((made == _TOO_LARGE).fill_null(False), "conv takes numbers of 64 bits"),))


_ESCAPED_ON_SPARK: Final = r"regexp_replace({0}, '([\\x00-\\x2F\\x3A-\\x40\\x5B-\\x5E\\x60\\x7B-\\x7F])', '\\\\$1')"


def _escaped(call: Call, text: pl.Expr) -> pl.Expr:
    return text.str.replace_all(r"([\x00-\x2F\x3A-\x40\x5B-\x5E\x60\x7B-\x7F])", r"\${1}")


_HAMMING: Final = Function(
    "hamming", "hamming(string, string) -> BIGINT",
    "At how many places two texts of the same length differ; an error of the row for others.", "hamming('duck', 'luck') = 1",
    takes("hamming", STRING, STRING, result=BIGINT), strict(_mismatches), _HAMMING_ON_SPARK,
)  # fmt: skip

FUNCTIONS: Final = (
    row(
        "luhn_check(digits) -> BOOLEAN", "Whether the last digit is Luhn's check digit of the others; false of other texts.",
        "luhn_check('8112189876') is true", takes("luhn_check", STRING, result=BOOLEAN),
        strict(lambda call, text: rowwise(_luhn, BOOLEAN, text)),
    ),
    row(
        "conv(digits, base, to) -> STRING", "The digits of a whole number in another base, of 64 bits.",
        "conv('ff', 16, 10) = '255'", takes("conv", STRING, INT, INT, result=STRING), strict(_converted),
    ),
    Function(
        "regexp_escape", "regexp_escape(string) -> STRING", "A regular expression that just this text matches.",
        "regexp_escape('a.b') = 'a\\\\.b'", takes("regexp_escape", STRING, result=STRING), strict(_escaped), _ESCAPED_ON_SPARK,
    ),
    _HAMMING,
    alias("mismatches", _HAMMING),
    Function(
        "jaccard", "jaccard(string, string) -> DOUBLE",
        "Share of the characters of both texts that are in each; an error for ''.",
        "jaccard('duck', 'luck') = 0.6", takes("jaccard", STRING, STRING, result=DOUBLE), strict(_jaccard), _JACCARD_ON_SPARK,
    ),
    row(
        "elt(number, a, b, ...) -> STRING", "The argument of that number, from 1; an error where there is none.",
        "elt(2, 'a', 'b') = 'b'", _bind_elt, _elt,
    ),
    row(
        "levenshtein(string, string[, most]) -> INT",
        "How many characters to change, add or remove to make one text the other; -1 where that is more than the most.",
        "levenshtein('kitten', 'sitting') = 3",
        takes("levenshtein", STRING, STRING, INT, result=INT, optional=1), strict(_levenshtein),
    ),
)  # fmt: skip
