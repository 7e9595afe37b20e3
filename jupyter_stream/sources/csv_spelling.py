"""How the values of CSV are written: decimal commas, thousands set apart, and what the types that were found would lose.

Types that nobody declared come from the beginning of a file. A value behind it that such a type holds only in part (`007` as a
number, a time as a DATE) is refused, with what to declare; where the type is declared, it is the user's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import copy
from typing import Final

import polars as pl

from jupyter_stream.core.instants import parse_instants
from jupyter_stream.core.schema import Field
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.text import beyond_bigint, type_of_text

_REFUSED: Final = "?"
"""What no type but STRING reads."""
_ZEROS: Final = r"^\s*[+-]?0\d"
_DECIMAL_COMMAS: Final = r"^\s*[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+)(?:,\d+)?\s*$"
_THOUSANDS: Final = r"^\s*[+-]?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?\s*$"
_NO_VALUE: Final = ("na", "n/a", "#n/a", "nan", "null", "none", "nil", "-", "--", "?", ".")
"""Words that often stand for a missing number."""
_POINTS: Final = (".", ",")
_SEPARATORS: Final = ("", ".", ",", " ", "'", "\u2019", "_", "\u00a0", "\u202f", "\u2009")
"""What sets thousands apart in one country or another."""
_DAY: Final = 86_400_000_000


class CsvSpelling:
    """Options `decimal` and `thousands`, and which columns have a type that was found.

    Args:
        options: those.

    Raises:
        SourceError: an option that is no such sign, or both the same.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self.decimal = options.get("decimal", ".")
        self.thousands = options.get("thousands", "")
        self.found: frozenset[str] = frozenset()
        for name, text, signs, usual in (
            ("decimal", self.decimal, _POINTS, "',' or '.'"),
            ("thousands", self.thousands, _SEPARATORS, "'.', ',', ' ' or '_', or '' for none"),
        ):
            if text not in signs:
                raise SourceError(f"Option {name} can't be '{text}'.", hint=f"Write {name} = {usual}.").about(name)
        if self.decimal == self.thousands:
            raise SourceError(
                f"Options decimal and thousands can't both be '{self.decimal}'.",
                hint="Write decimal = ',', thousands = '.'.",
            ).about("thousands")
        d, t = re.escape(self.decimal), re.escape(self.thousands)
        whole = rf"\d{{1,3}}(?:{t}\d{{3}})+|\d*" if t else r"\d*"
        self._number = rf"^\s*[+-]?(?:{whole})(?:{d}\d*)?(?:[eE][+-]?\d+)?\s*$"

    def knowing(self, found: frozenset[str]) -> CsvSpelling:
        """The same, where the types of these columns were found."""
        other = copy(self)
        other.found = found
        return other

    def type_of(self, words: pl.Series, delimiter: str) -> tuple[pl.DataType, str | None]:
        """The type that suits the words of a column, Null where there are none; and what is to be said of it.

        Args:
            words: text, NULL where there is none.
            delimiter: what separates the fields of the file.
        """
        text = words.drop_nulls()
        if not len(text):
            return pl.Null(), None
        text = text.filter(text != "") if (text != "").any() else text
        number = type_of_text(self._plain(text))
        dtype = number if number.is_numeric() else type_of_text(text)
        return dtype, self._remark(text, delimiter) if isinstance(dtype, pl.String) else None

    def plain(self, text: pl.Series, field: Field) -> pl.Series:
        """The text as casting to the field's type reads it; what would lose something as what no type reads."""
        dtype, found = field.dtype, field.name in self.found
        if dtype.is_numeric():
            plain = self._plain(text)
            return _refusing(plain, _loses_digits(text, dtype)) if found else plain
        if found and isinstance(dtype, pl.Date) and _longest(text) > 10:
            times = parse_instants(text)
            return _refusing(text, (times.cast(pl.Int64) % _DAY != 0).fill_null(False))
        return text

    def advice(self, value: str, field: Field) -> str:
        """What to write where a value can't be read as its column's type; empty where there is no telling."""
        one = pl.Series([value])
        if field.dtype.is_numeric():
            if field.name in self.found and (one.str.contains(_ZEROS)[0] or beyond_bigint(one).any()):
                return f"declare {field.name} STRING"
            if self.decimal == "." and "," in value:
                return self._options(one, ",") or ""
        elif field.name in self.found and isinstance(field.dtype, pl.Date) and parse_instants(one).null_count() == 0:
            return f"declare {field.name} TIMESTAMP"
        return ""

    def _plain(self, text: pl.Series) -> pl.Series:
        """Numbers as everybody writes them."""
        if self.decimal == "." and not self.thousands:
            return text
        wrong = ~text.str.contains(self._number)
        plain = text.str.replace_all(self.thousands, "", literal=True) if self.thousands else text
        return _refusing(plain.str.replace_all(self.decimal, ".", literal=True), wrong)

    def _remark(self, text: pl.Series, delimiter: str) -> str | None:
        if beyond_bigint(text).any() and text.str.strip_chars().cast(pl.Float64, strict=False).null_count() == 0:
            return "has whole numbers beyond BIGINT, so it is STRING." if not text.str.contains(_ZEROS).any() else None
        if self.decimal == ".":
            written = self._options(text, delimiter)
            if written is not None:
                return f"looks like numbers: {written}."
        missing = text.str.strip_chars().str.to_lowercase().is_in(_NO_VALUE)
        if missing.any() and not missing.all():
            dtype = type_of_text(text.filter(~missing))
            if not isinstance(dtype, pl.String):
                words = text.filter(missing).str.strip_chars().unique(maintain_order=True).to_list()
                return f"is STRING for the word {words[0]}; if it is no value, write WITH (null = '{', '.join(words[:3])}')."
        unit = len(text) > 1 and not missing[0] and "," not in text[0] and "'" not in text[0]  # as `null` can name it
        if unit and not isinstance(type_of_text(text[1:]), pl.String):
            return f"is STRING for its first word, {text[0]}; if that is its unit, write WITH (null = '{text[0]}')."
        return None

    def _options(self, text: pl.Series, delimiter: str) -> str | None:
        """What makes numbers of text with commas; None where nothing does."""
        if not text.str.contains(",", literal=True).any():
            return None
        commas, thousands = text.str.contains(_DECIMAL_COMMAS).all(), text.str.contains(_THOUSANDS).all()
        if commas and not (thousands and delimiter == ","):
            dots = text.str.contains(".", literal=True).any()
            return (
                "write WITH (decimal = ',', thousands = '.')"
                if dots
                else "for decimal commas write WITH (decimal = ',')"
            )
        return "write WITH (thousands = ',')" if thousands else None


def _loses_digits(text: pl.Series, dtype: pl.DataType) -> pl.Series | None:
    """Which words are more than the number they are read as; None for none."""
    zeros = text.str.contains(_ZEROS)
    if dtype.is_float() and _longest(text) >= 19:
        return zeros | beyond_bigint(text)
    return zeros


def _longest(text: pl.Series) -> int:
    """The bytes of the longest word."""
    found = text.str.len_bytes().max()
    return found if isinstance(found, int) else 0


def _refusing(text: pl.Series, wrong: pl.Series | None) -> pl.Series:
    return text.set(wrong.fill_null(False), _REFUSED) if wrong is not None and wrong.any() else text
