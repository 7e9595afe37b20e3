"""Text to times, whole columns at once. ISO 8601 dates and times; no locale, no guessing of orders."""

from __future__ import annotations

from typing import Final

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from jupyter_stream.core.schema import TIMESTAMP

_ISO: Final = (
    r"^\s*(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})"
    r"(?:[T ](?P<hour>\d{2})(?::?(?P<minute>\d{2})(?::?(?P<second>\d{2})(?:\.(?P<fraction>\d{1,12}))?)?)?)?"
    r"\s*(?P<zone>Z|z|UTC|[+-]\d{2}(?::?\d{2})?)?\s*$"
)
_DAY: Final = 86_400_000_000


def parse_instants(text: pl.Series) -> pl.Series:
    """A column of text as TIMESTAMP in UTC; NULL where the text is no time (and where it was NULL).

    Taken are `2024-03-05`, `2024-03-05T10:30`, `2024-03-05 10:30:00.123456`, with `Z` or an offset such as `+02:00` at the
    end (without one it is UTC). Digits beyond microseconds are cut off.
    """
    # Arrow's parser takes a part of what the expression takes, with the same values, at a tenth of the cost; it has no
    # way to skip what it can't parse.
    for candidate in (text, text.str.strip_suffix("Z")):
        try:
            parsed = pc.cast(
                pa.array(candidate.alias("").to_arrow(compat_level=pl.CompatLevel.oldest())), pa.timestamp("us")
            )
        except pa.ArrowInvalid:
            continue
        return pl.Series(text.name, parsed).cast(TIMESTAMP)
    return _by_expression(text)


def _by_expression(text: pl.Series) -> pl.Series:
    parts = text.str.extract_groups(_ISO).struct.unnest()
    numbers = parts.select(
        year=pl.col("year").cast(pl.Int32),
        month=pl.col("month").cast(pl.Int8),
        day=pl.col("day").cast(pl.Int8),
        hour=pl.col("hour").cast(pl.Int64).fill_null(0),
        minute=pl.col("minute").cast(pl.Int64).fill_null(0),
        second=pl.col("second").cast(pl.Int64).fill_null(0),
        fraction=pl.col("fraction").str.pad_end(6, "0").str.slice(0, 6).cast(pl.Int64).fill_null(0),
        sign=pl.when(pl.col("zone").str.starts_with("-")).then(-1).otherwise(1).cast(pl.Int64),
        zone_hours=pl.col("zone").str.extract(r"^[+-](\d{2})").cast(pl.Int64).fill_null(0),
        zone_minutes=pl.col("zone").str.extract(r"^[+-]\d{2}:?(\d{2})$").cast(pl.Int64).fill_null(0),
    )
    c = pl.col
    valid = (
        c("month").is_between(1, 12)
        & c("day").is_between(1, 31)
        & (c("hour") < 24)
        & (c("minute") < 60)
        & (c("second") < 60)
        & (c("zone_hours") < 24)
        & (c("zone_minutes") < 60)
    )
    # A day too many (31 April, 29 February) gives NULL by itself.
    date = parts.select(
        (pl.col("year") + "-" + pl.col("month") + "-" + pl.col("day"))
        .str.to_date("%Y-%m-%d", strict=False)
        .alias("date")
    )
    micros = (
        c("date").cast(pl.Int64) * _DAY
        + ((c("hour") - c("sign") * c("zone_hours")) * 60 + c("minute") - c("sign") * c("zone_minutes")) * 60_000_000
        + c("second") * 1_000_000
        + c("fraction")
    )
    return (
        numbers.hstack(date)
        .select(pl.when(valid).then(micros).otherwise(None).cast(TIMESTAMP).alias(text.name))
        .to_series()
    )
