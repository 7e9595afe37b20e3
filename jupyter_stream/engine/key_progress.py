"""Group-wise progress of a stream: how far each key has got, by the punctuations that speak for one key (thesis §2.3).

A punctuation row without a key speaks for all. Columnar: a batch of punctuations costs a group-by, however many keys.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from jupyter_stream.core.messages import TS, Int64s, KeyPunctuation, ints
from jupyter_stream.core.time import MIN_TIME


@dataclass(frozen=True)
class KeysSaid:
    """What a batch's punctuations say.

    Attributes:
        reached: of each row, the greatest punctuation before it, for its key or for all.
        said: the keys that got further than all, None if none did.
    """

    reached: Int64s
    said: KeyPunctuation | None


class KeyFrontier:
    """How far keys have got that are ahead of what is promised for all; the others are forgotten.

    Args:
        column: the key.
    """

    def __init__(self, column: str) -> None:
        self.column = column
        self._ahead: pl.DataFrame | None = None  # the key, and $ts: its punctuation

    def of_all(self, keys: pl.Series, values: Int64s) -> Int64s:
        """The punctuations among `values` (MIN_TIME for rows that are none) that speak for all keys."""
        return np.where(keys.is_null().to_numpy(), values, MIN_TIME)

    def take(self, keys: pl.Series, values: Int64s, by_all: Int64s) -> KeysSaid:
        """Note the punctuations of a batch in arrival order.

        Args:
            keys: of each row.
            values: the punctuation each row is, MIN_TIME where it is data.
            by_all: the punctuation for all keys that holds at each row.
        """
        rows = pl.DataFrame({"k": keys, "v": values})
        own = pl.when((pl.col("v") != MIN_TIME) & pl.col("k").is_not_null()).then("v")
        held = rows.select("k", own.cum_max().forward_fill().over("k").fill_null(MIN_TIME).alias("v"))
        reached = ints(held.get_column("v"))
        if self._ahead is not None and self._ahead.height:
            before = held.join(self._ahead.rename({self.column: "k"}), on="k", how="left", maintain_order="left")
            reached = np.maximum(reached, ints(before.get_column(TS).fill_null(MIN_TIME)))
        said = rows.select(pl.col("k").alias(self.column), own.alias(TS)).drop_nulls()
        return KeysSaid(np.maximum(reached, by_all), self._advance(said, int(by_all[-1])))

    def _advance(self, said: pl.DataFrame, by_all: int) -> KeyPunctuation | None:
        before = self._ahead if self._ahead is not None else said.clear()
        said = said.group_by(self.column, maintain_order=True).agg(pl.col(TS).max())
        known = said.join(before, on=self.column, how="left", maintain_order="left").get_column(f"{TS}_right")
        new = said.filter((said.get_column(TS) > known.fill_null(MIN_TIME)) & (said.get_column(TS) > by_all))
        kept = before.join(new, on=self.column, how="anti").filter(pl.col(TS) > by_all)
        self._ahead = pl.concat([kept, new])
        return KeyPunctuation(new) if new.height else None
