"""How far the pairs of each key have got: what both inputs of a join promise of a key is a promise for its pairs.

A joint punctuation (window-queries thesis §7.2) says of both inputs together what each says alone: a pair to come has a row to
come, so it is no earlier than the lesser of the two promises. Here it is said key by key, of keys that are ahead of the others.
"""

from __future__ import annotations

import polars as pl

from jupyter_stream.core.messages import TS
from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.plan.keyed import FAR

_KEY, _SAID = "k", "said"
_SIDES = ("left", "right")


class JointKeys:
    """Keys that an input has promised something of, beyond what it promises of all.

    Args:
        dtype: of the key.
    """

    def __init__(self, dtype: pl.DataType) -> None:
        self._dtype = dtype
        self._ahead = pl.DataFrame(
            schema={_KEY: dtype, **dict.fromkeys(_SIDES, pl.Int64()), _SAID: pl.Int64()},
        )

    @property
    def keys(self) -> int:
        """How many keys are ahead."""
        return self._ahead.height

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return int(self._ahead.estimated_size()) if self._ahead.height else 0

    def take(self, port: int, keys: pl.Series, values: pl.Series) -> None:
        """An input has promised something of keys, no key twice."""
        new = pl.DataFrame({_KEY: keys.cast(self._dtype), "new": values})
        both = self._ahead.join(new, on=_KEY, how="full", coalesce=True, nulls_equal=True)
        side = _SIDES[port]
        told = both.with_columns(pl.max_horizontal(side, "new").alias(side)).drop("new")
        self._ahead = told.with_columns(pl.col(*_SIDES, _SAID).fill_null(MIN_TIME))

    def say(self, reached: tuple[int, int]) -> pl.DataFrame | None:
        """Keys whose pairs have got further than was said of them, and than those of all: `k` and `$ts`.

        Args:
            reached: what each input promises of all keys, microseconds.
        """
        if not self._ahead.height:
            return None
        each = [pl.max_horizontal(side, pl.lit(v, pl.Int64)) for side, v in zip(_SIDES, reached, strict=True)]
        ahead = self._ahead.with_columns(pl.min_horizontal(*each).alias(TS))
        risen = pl.col(TS) > pl.max_horizontal(_SAID, pl.lit(min(reached), pl.Int64))
        said = ahead.filter(risen).select(_KEY, TS)
        # of a key that is over nothing more can be said; one that is ahead of all no longer may be forgotten
        further = pl.any_horizontal(pl.col(side) > v for side, v in zip(_SIDES, reached, strict=True))
        ahead = ahead.with_columns(pl.when(risen).then(TS).otherwise(_SAID).alias(_SAID))
        self._ahead = ahead.filter(further & (pl.col(_SAID) < FAR)).drop(TS)
        return said if said.height else None


__all__ = ["JointKeys"]
