"""Keys of rows as texts, for sinks that hold something under a text: messages of a topic, hashes."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from jupyter_stream.core.far import as_json
from jupyter_stream.sinks.flat import flat


def key_texts(rows: pl.DataFrame, key: Sequence[str]) -> list[str | None]:
    """Keys as texts: of one column its value, of several a JSON object; None for rows without."""
    if not key:
        return [None] * rows.height
    chosen = rows.select(key)
    if len(key) > 1:
        return as_json(chosen).to_list()
    found: list[str | None] = flat(chosen).to_series().cast(pl.String).to_list()
    return found


def keyed(
    rows: pl.DataFrame, gone: pl.DataFrame, key: Sequence[str], where: str
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame | None]:
    """Rows and deletions that have a key, and those that have none, as `raw` and `reason`.

    Args:
        rows: to be put in the place of those with their keys.
        gone: keys of rows that have left.
        key: the columns. Of several, a NULL is part of the key.
        where: what they are put in, for the reason.
    """
    if len(key) != 1:
        return rows, gone, None
    known = pl.col(key[0]).is_not_null()
    without = rows.filter(~known)
    why = pl.lit(f"a row whose key is NULL can't take another's place in {where}").alias("reason")
    return (
        rows.filter(known),
        gone.filter(known),
        as_json(without).to_frame().with_columns(why) if without.height else None,
    )


__all__ = ["key_texts", "keyed"]
