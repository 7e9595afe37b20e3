"""EXCEPT ALL ON (columns): left rows, as many of a value as there are more of it on the left than on the right, the youngest.

Computed for each value that changes from its rows alive, which are found by it: rows of a value may leave in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import polars as pl

from jupyter_stream.arrays.rows import Bag, columns_of
from jupyter_stream.core.messages import SIGN, TS, UNTIL, Batch, Message, ints
from jupyter_stream.core.schema import Schema
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.flow.at_instants import AtInstants
from jupyter_stream.flow.protocol import Recall
from jupyter_stream.relations.keyed_rows import KeyedRows
from jupyter_stream.relations.ledger import NOTE, NUMBER, OLD, Ledger
from jupyter_stream.relations.youngest import turns

_IN, _ROW, _COUNT, _BEFORE = "$in", "$row", "$count", "$before"
_HOT: Final = 16_384
"""Pairs of a value's rows and instants from which on only the rows near the border are looked at at each."""


class ExceptOn(AtInstants):
    """Changes of the answer, net for each instant; leaving rows before entering ones.

    Args:
        schema: the left rows, which are the answer's.
        on: (left column, right column) that are compared; NULLs are equal to each other.
        by_values: whether left rows that leave are found by all their values, rather than among those of their value in `on`.
    """

    def __init__(self, schema: Schema, on: tuple[tuple[str, str], ...], by_values: tuple[bool, ...] = (True,)) -> None:
        super().__init__("except all on " + ", ".join(left for left, _ in on), 2)
        self.by_values = by_values
        self._names = list(schema.names)
        self._by = [left for left, _ in on]
        self._renamed = {right: left for left, right in on}
        columns = schema.polars()
        self._alive = Ledger(columns, self._by, by_values[0])  # left rows, and as a note whether they are in the answer
        self._right = KeyedRows(
            {n: columns[n] for n in self._by}, self._by, by_values=False
        )  # values, and how many rows have each

    def head(self, most: int) -> pl.DataFrame:
        """The oldest left rows."""
        return self._alive.head(most)

    def take(self, port: int, frame: pl.DataFrame) -> Iterable[Message]:
        """Of right rows only what is compared, under the left ones' names."""
        if port:
            frame = frame.select(*(pl.col(right).alias(left) for right, left in self._renamed.items()), TS, SIGN)
        self.keep(port, columns_of(frame, [*(self._by if port else self._names), TS, SIGN]))
        return ()

    def report(self) -> None:
        """And how many left rows there are."""
        self.holds(self._alive.bytes + self._right.bytes)
        self.control.extra["live_rows"] = self._alive.rows
        self.control.extra["rows_looked_at"] = self._alive.looked + self._right.looked

    def step(self, due: Sequence[pl.DataFrame | None], until: int) -> Iterable[Message]:
        """Give what changes for the values that changes are about."""
        left, right = due
        made = None if left is None and right is None else self._release(left, right)
        return (Batch(made),) if made is not None and made.height else ()

    def _release(self, left: pl.DataFrame | None, right: pl.DataFrame | None) -> pl.DataFrame:
        by = self._by
        looks = pl.concat([side.select(*by, TS) for side in (left, right) if side is not None]).unique()
        rows = self._alive.advance(left, looks).with_columns((pl.col(NOTE) > 0).alias(_IN))
        looks = self._counted(looks, right)
        keys = looks.select(by).unique()
        concerned = rows.join(keys, on=by, how="semi", nulls_equal=True, maintain_order="left").with_row_index(_ROW)
        hot = self._hot(concerned, looks)
        found = []
        if hot.height < keys.height:
            cold = (f.join(hot, on=by, how="anti", nulls_equal=True, maintain_order="left") for f in (concerned, looks))
            found.append(self._by_pairs(*cold))
        for key in hot.iter_slices(1):
            mine = (f.join(key, on=by, how="semi", nulls_equal=True, maintain_order="left") for f in (concerned, looks))
            found.append(_by_border(*mine))
        changed = pl.concat(turned for turned, _ in found).sort("$at", SIGN, _ROW)
        last = pl.concat(state for _, state in found)
        stay = concerned.filter(pl.col(UNTIL) == MAX_TIME).join(last, on=_ROW, how="left", maintain_order="left")
        self._alive.note(ints(stay.get_column(NUMBER)), ints(stay.get_column("$now")))
        values = concerned[changed.get_column(_ROW)].select(self._names)
        return values.with_columns(changed.get_column("$at").alias(TS), changed.get_column(SIGN))

    def _hot(self, concerned: pl.DataFrame, looks: pl.DataFrame) -> pl.DataFrame:
        """Values with so many rows and instants that not every row is to be looked at at every instant."""
        rows, instants = (f.group_by(self._by).agg(pl.len().cast(pl.Int64)) for f in (concerned, looks))
        both = rows.join(instants, on=self._by, how="inner", nulls_equal=True)
        return both.filter(pl.col("len") * pl.col("len_right") > _HOT).select(self._by)

    def _by_pairs(self, concerned: pl.DataFrame, looks: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Turns of rows (`$row`, `$at`, `$sign`), and whether they are in the answer in the end (`$row`, `$now`)."""
        by = self._by
        pairs = concerned.select(_ROW, *by, TS, UNTIL).join(
            looks.select(*by, pl.col(TS).alias("$at"), _COUNT), on=by, how="inner", nulls_equal=True
        )
        pairs = pairs.filter((pl.col(TS) <= pl.col("$at")) & (pl.col("$at") < pl.col(UNTIL)))
        place = pl.col(_ROW).rank("ordinal", descending=True).over([*by, "$at"])
        copies = pl.len().over([*by, "$at"]).cast(pl.Int64) - pl.col(_COUNT)
        member = pairs.select(_ROW, "$at", (place.cast(pl.Int64) <= copies).alias(_IN))
        ended = concerned.filter(pl.col(UNTIL) < MAX_TIME).select(
            _ROW, pl.col(UNTIL).alias("$at"), pl.lit(False).alias(_IN)
        )
        before = concerned.select(_ROW, pl.lit(MIN_TIME, pl.Int64).alias("$at"), _IN)
        story = pl.concat([before, member, ended]).sort(_ROW, "$at")
        story = story.with_columns(pl.col(_IN).shift(1).over(_ROW).alias("$was"))
        changed = story.filter(pl.col("$was").is_not_null() & (pl.col(_IN) != pl.col("$was")))
        sign = pl.when(_IN).then(1).otherwise(-1).cast(pl.Int8).alias(SIGN)
        return changed.select(_ROW, "$at", sign), story.group_by(_ROW).agg(pl.col(_IN).last().alias("$now"))

    def _counted(self, looks: pl.DataFrame, right: pl.DataFrame | None) -> pl.DataFrame:
        """The looks, by time, with how many right rows are alive at each, and were before; keeps the last counts."""
        by = self._by
        numbers = self._right.with_key(looks)
        held, counts = self._right.at(numbers)
        held = held.drop(TS).with_columns(pl.Series(_COUNT, counts), pl.Series(NUMBER, numbers))
        looks = looks.join(held, on=by, how="left", nulls_equal=True).with_columns(pl.col(_COUNT).fill_null(0))
        looks = looks.with_columns(pl.col(_COUNT).alias(_BEFORE)).sort(TS)
        if right is None:
            return looks.drop(NUMBER)
        steps = right.group_by([*by, TS]).agg(pl.col(SIGN).cast(pl.Int64).sum().alias("$step"))
        looks = looks.join(steps, on=[*by, TS], how="left", nulls_equal=True).sort(TS)
        so_far = pl.col("$step").fill_null(0).cum_sum().over(by)
        looks = looks.with_columns((pl.col(_COUNT) + so_far).alias(_COUNT)).drop("$step")
        newest = looks.group_by(by).agg(pl.col(_COUNT, NUMBER).last()).sort(NUMBER)
        here = newest.filter(pl.col(NUMBER).is_not_null())
        self._right.note(ints(here.get_column(NUMBER)), ints(here.get_column(_COUNT)))
        self._right.remove(ints(here.filter(pl.col(_COUNT) == 0).get_column(NUMBER)))
        new = newest.filter(pl.col(NUMBER).is_null() & (pl.col(_COUNT) > 0))
        added = self._right.add(new.with_columns(pl.lit(0, pl.Int64).alias(TS)))
        self._right.note(added, ints(new.get_column(_COUNT)))
        return looks.drop(NUMBER)

    def recalls(self) -> Recall | None:
        """The left rows, and how many right ones there are of each value."""
        values, counts = self._right.at(self._right.numbers)
        return Recall(min(self.since, self._alive.oldest), Bag(values.with_columns(pl.Series(_COUNT, counts))))


def _by_border(rows: pl.DataFrame, looks: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """`_by_pairs` for one value with many rows or instants."""
    since = np.where(rows.get_column(OLD).to_numpy(), MIN_TIME, ints(rows.get_column(TS)))
    counts = ints(looks.get_column(_COUNT))
    found = turns(
        since,
        ints(rows.get_column(UNTIL)),
        rows.get_column(_IN).to_numpy(),
        int(looks.get_column(_BEFORE)[0]),
        ints(looks.get_column(TS)),
        counts,
    )
    number = rows.get_column(_ROW)
    turned = (
        number.gather(found.rows)
        .to_frame()
        .with_columns(pl.Series("$at", found.at), pl.Series(SIGN, np.where(found.enter, 1, -1).astype(np.int8)))
    )
    return turned, number.to_frame().with_columns(pl.Series("$now", found.members))
