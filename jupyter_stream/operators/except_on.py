"""EXCEPT ALL ON (columns): left rows, as many of a value as there are more of it on the left than on the right, the youngest.

Computed for each value that changes from its rows alive, which are found by it: rows of a value may leave in any order.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import SIGN, TS, UNTIL, Batch, Message, Punctuation, Tick, ints
from jupyter_stream.core.rows import Bag, earliest
from jupyter_stream.core.schema import Schema
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.operators.protocol import Recall
from jupyter_stream.state.keyed_rows import KeyedRows
from jupyter_stream.state.ledger import NOTE, NUMBER, Ledger

_IN, _ROW, _COUNT = "$in", "$row", "$count"


class ExceptOn:
    """Changes of the answer, net for each instant; leaving rows before entering ones.

    Args:
        schema: the left rows, which are the answer's.
        on: (left column, right column) that are compared; NULLs are equal to each other.
    """

    def __init__(self, schema: Schema, on: tuple[tuple[str, str], ...]) -> None:
        self.control = ControlTable("except all on " + ", ".join(left for left, _ in on))
        self.synopses: list[ControlTable] = []
        self._names = list(schema.names)
        self._by = [left for left, _ in on]
        self._renamed = {right: left for left, right in on}
        columns = schema.polars()
        self._alive = Ledger(columns, self._by)  # left rows, and as a note whether they are in the answer
        self._right = KeyedRows({n: columns[n] for n in self._by}, self._by)  # values, and how many rows have each
        self._waiting: tuple[list[pl.DataFrame], list[pl.DataFrame]] = ([], [])
        self._reached = [MIN_TIME, MIN_TIME]
        self._said = MIN_TIME

    def head(self, most: int) -> pl.DataFrame:
        """The oldest left rows."""
        return self._alive.head(most)

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Keep changes until both inputs have come so far."""
        frame = batch.frame
        if port:
            frame = frame.select(*(pl.col(right).alias(left) for right, left in self._renamed.items()), TS, SIGN)
        self._waiting[port].append(frame.select(*(self._by if port else self._names), TS, SIGN))
        return iter(())

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Give the changes at instants that both inputs have told all about."""
        self._reached[port] = max(self._reached[port], punctuation.value)
        least = min(self._reached)
        if least <= self._said:
            return
        self._said = self.control.low_watermark = least
        left, right = (self._due(side, least) for side in self._waiting)
        if left is not None or right is not None:
            changes = self._release(left, right)
            if changes.height:
                yield Batch(changes)
        waiting = sum(int(f.estimated_size()) for frames in self._waiting for f in frames)
        self.control.holds(self._alive.bytes + self._right.bytes + waiting)
        self.control.extra["live_rows"] = self._alive.rows
        self.control.extra["rows_looked_at"] = self._alive.looked + self._right.looked
        yield Punctuation(least)

    @staticmethod
    def _due(frames: list[pl.DataFrame], until: int) -> pl.DataFrame | None:
        if not frames:
            return None
        waiting = pl.concat(frames)
        now = waiting.get_column(TS) < until
        frames[:] = [waiting.filter(~now)] if not now.all() else []
        due = waiting.filter(now).sort(TS, maintain_order=True)
        return due if due.height else None

    def _release(self, left: pl.DataFrame | None, right: pl.DataFrame | None) -> pl.DataFrame:
        by = self._by
        looks = pl.concat([side.select(*by, TS) for side in (left, right) if side is not None]).unique()
        rows = self._alive.advance(left, looks).with_columns((pl.col(NOTE) > 0).alias(_IN))
        looks = self._counted(looks, right)
        concerned = rows.join(looks, on=by, how="semi", nulls_equal=True, maintain_order="left").with_row_index(_ROW)
        pairs = concerned.select(_ROW, *by, TS, UNTIL).join(
            looks.rename({TS: "$at"}), on=by, how="inner", nulls_equal=True
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
        changed = changed.with_columns(pl.when(_IN).then(1).otherwise(-1).cast(pl.Int8).alias(SIGN)).sort(
            "$at", SIGN, _ROW
        )
        last = story.group_by(_ROW).agg(pl.col(_IN).last().alias("$now"))
        stay = concerned.filter(pl.col(UNTIL) == MAX_TIME).join(last, on=_ROW, how="left", maintain_order="left")
        self._alive.note(stay.get_column(NUMBER), stay.get_column("$now"))
        values = concerned[changed.get_column(_ROW)].select(self._names)
        return values.with_columns(changed.get_column("$at").alias(TS), changed.get_column(SIGN))

    def _counted(self, looks: pl.DataFrame, right: pl.DataFrame | None) -> pl.DataFrame:
        """The looks with how many right rows are alive at each; keeps the last counts."""
        by = self._by
        numbers = self._right.with_key(looks)
        held, counts = self._right.at(numbers)
        held = held.drop(TS).with_columns(pl.Series(_COUNT, counts), pl.Series(NUMBER, numbers))
        looks = looks.join(held, on=by, how="left", nulls_equal=True).with_columns(pl.col(_COUNT).fill_null(0))
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
        waiting = earliest(f for frames in self._waiting for f in frames)
        values, counts = self._right.at(self._right.numbers)
        return Recall(min(waiting, self._alive.oldest), Bag(values.with_columns(pl.Series(_COUNT, counts))))

    def on_tick(self, tick: Tick) -> Iterator[Message]:
        """Pass it on: a relation has no provisional answers."""
        yield tick
