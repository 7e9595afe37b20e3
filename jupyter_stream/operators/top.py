"""ORDER BY ... LIMIT n: of each extent, and as a live top-n of a relation.

Rows that the keys leave equal are told apart by their other columns, so that the answer doesn't depend on the order of arrival.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from jupyter_stream.core.messages import SIGN, TS, WINDOW_END, WINDOW_START, Batch, Int64s, Message, Punctuation, ints
from jupyter_stream.core.rows import earliest
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.operators.protocol import Recall, Stateless
from jupyter_stream.plan.logical import Top
from jupyter_stream.state.relation_ends import taken_back

_LOOKS = 256
_SHARE = 0.75
"""Instants looked at together, at least, and as a share of the rows alive. Rows that live through all of them say early which
others can't be among the first; so some should. Each time all rows are sorted: the more instants, the less often."""
_ROW, _LOOK, _PLACE, _FIRST, _PAST, _IN = "$row", "$look", "$place", "$first", "$past", "$in"


def named(plan: Top) -> str:
    """For EXPLAIN."""
    if not plan.order and plan.partition == plan.schema.names:
        return "distinct rows"
    keys = ", ".join(f"{k.column}{' DESC' if k.descending else ''}" for k in plan.order)
    by = f" BY {', '.join(plan.partition)}" if plan.partition else ""
    count = "" if plan.limit is None else f" LIMIT {plan.limit}" + (f" OFFSET {plan.offset}" if plan.offset else "")
    return f"order by {keys}{count}{by}" if keys else f"limit {plan.limit}"


class _Order:
    """How rows are sorted, and which places are wanted."""

    def __init__(self, plan: Top) -> None:
        keys = {k.column for k in plan.order}
        rest = [f.name for f in plan.input.schema if f.name not in keys and not f.dtype.is_nested()]
        self._by = [*(k.column for k in plan.order), *rest]
        self._descending = [*(k.descending for k in plan.order), *(False for _ in rest)]
        self._nulls_last = [*(k.nulls_last for k in plan.order), *(False for _ in rest)]
        self.offset = plan.offset
        self.number = plan.number
        self.end = None if plan.limit is None else plan.limit + plan.offset

    def sort(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows in order."""
        return rows.sort(self._by, descending=self._descending, nulls_last=self._nulls_last, maintain_order=True)

    def numbered(self, rows: pl.DataFrame, place: pl.Expr) -> pl.DataFrame:
        """Rows with their places, from 0, as numbers from 1 where these are wanted."""
        if self.number is None:
            return rows
        return rows.with_columns((place + 1).cast(pl.Int64).alias(self.number))

    def wanted(self, place: pl.Expr) -> pl.Expr:
        """Whether a place, from 0, is one that is wanted."""
        below = pl.lit(True) if self.end is None else place < self.end
        return below & (place >= self.offset)


class TopOfExtents(Stateless):
    """The first rows of each extent, in order. Keeps those of extents that are not over, and no others."""

    def __init__(self, plan: Top) -> None:
        super().__init__(named(plan))
        self._order = _Order(plan)
        self._by = list(plan.partition)
        self._kept: pl.DataFrame | None = None

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Keep what is among the first so far."""
        rows = batch.frame if self._kept is None else pl.concat([self._kept, batch.frame])
        if batch.provisional is not None:
            yield batch.with_frame(self.first(batch.frame, self._order.offset, given=True))
            return
        self._kept = self.first(rows, 0)
        self.control.holds(int(self._kept.estimated_size()))

    def first(self, rows: pl.DataFrame, offset: int, given: bool = False) -> pl.DataFrame:
        """The rows of each extent up to the last wanted place, from the offset on; numbered where they are `given`."""
        extent: list[str] = [c for c in (WINDOW_START, WINDOW_END) if c in rows.columns] or [TS]
        place = pl.int_range(pl.len()).over([*extent, *self._by])
        end = pl.lit(True) if self._order.end is None else place < self._order.end
        rows = self._order.sort(rows)
        if given:
            rows = self._order.numbered(rows, place)
        return rows.filter(end & (place >= offset)).sort(*extent, maintain_order=True)

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Give the extents that are over."""
        if self._kept is not None:
            over = self._kept.get_column(TS) < punctuation.value
            if over.any():
                rows = self.first(self._kept.filter(over), self._order.offset, given=True)
                self._kept = self._kept.filter(~over)
                self.control.holds(int(self._kept.estimated_size()))
                if rows.height:
                    yield Batch(rows)
        yield from super().on_punctuation(port, punctuation)

    def recalls(self) -> Recall | None:
        """The rows of extents that are not over."""
        return Recall(earliest([] if self._kept is None else [self._kept]))


class TopOfRelation(Stateless):
    """The first rows of a relation at every instant, as changes."""

    def __init__(self, plan: Top) -> None:
        super().__init__(named(plan))
        self._order = _Order(plan)
        self._by = list(plan.partition)
        self._names = list(plan.input.schema.names)
        self._alive: pl.DataFrame | None = None  # rows, when they entered, and which place they have, -1 for none
        self._waiting: list[pl.DataFrame] = []

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Keep changes until the instant is over."""
        self._waiting.append(batch.frame.select(*self._names, TS, SIGN))
        return iter(())

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Give what changes among the first at each instant that is over."""
        if self._waiting:
            changes = pl.concat(self._waiting)
            now = changes.get_column(TS) < punctuation.value
            self._waiting = [changes.filter(~now)] if not now.all() else []
            changes = changes.filter(now).sort(TS, maintain_order=True)
            times = ints(changes.get_column(TS))
            instants = np.unique(times)
            begin = 0
            while begin < instants.size:
                looks = max(_LOOKS, 0 if self._alive is None else int(_SHARE * self._alive.height))
                some = instants[begin : begin + looks]
                begin += looks
                start, stop = np.searchsorted(times, some[0]), np.searchsorted(times, some[-1], "right")
                made = self._advance(changes.slice(int(start), int(stop - start)), some)
                if made.height:
                    yield Batch(made)
            if self._alive is not None:
                self.control.holds(int(self._alive.estimated_size()))
                self.control.extra["live_rows"] = self._alive.height
        yield from super().on_punctuation(port, punctuation)

    def _advance(self, changes: pl.DataFrame, instants: Int64s) -> pl.DataFrame:
        entering = changes.filter(pl.col(SIGN) > 0).drop(SIGN).with_columns(pl.lit(-1, pl.Int64).alias(_IN))
        rows = entering if self._alive is None else pl.concat([self._alive, entering])
        ends = np.full(rows.height, MAX_TIME)
        at, when = taken_back(rows.drop(_IN), changes.filter(pl.col(SIGN) < 0).drop(SIGN))
        ends[at] = when
        first = np.maximum(np.searchsorted(instants, ints(rows.get_column(TS))), 0)
        past = np.searchsorted(instants, ends)
        rows = rows.with_columns(pl.Series(_FIRST, first), pl.Series(_PAST, past))
        rows = self._order.sort(rows).with_row_index(_ROW)
        members = self._members(rows, instants.size)
        was = rows.filter(pl.col(_IN) >= 0).select(
            pl.col(_ROW).cast(pl.Int64), pl.lit(-1, pl.Int64).alias(_LOOK), pl.col(_IN).alias(_PLACE)
        )
        story = pl.concat([was, members]).sort(_ROW, _LOOK)
        row, look, place = (story.get_column(c) for c in (_ROW, _LOOK, _PLACE))
        moves = place != place.shift(1)
        enters = ((row != row.shift(1)) | (look != look.shift(1) + 1) | moves).fill_null(True) & (look >= 0)
        moves = place != place.shift(-1)
        leaves = (row != row.shift(-1)) | (look != look.shift(-1) - 1) | moves
        leaves = leaves.fill_null(True) & (look < instants.size - 1)
        moved = pl.concat(
            [
                story.filter(leaves).select(_ROW, pl.col(_LOOK) + 1, _PLACE, pl.lit(-1, pl.Int8).alias(SIGN)),
                story.filter(enters).select(_ROW, _LOOK, _PLACE, pl.lit(1, pl.Int8).alias(SIGN)),
            ]
        ).sort(_LOOK, SIGN, _ROW)
        inside = np.full(rows.height, -1)
        last = members.filter(pl.col(_LOOK) == instants.size - 1)
        inside[ints(last.get_column(_ROW))] = ints(last.get_column(_PLACE))
        self._alive = (
            rows.with_columns(pl.Series(_IN, inside))
            .filter(pl.col(_PAST) == instants.size)
            .select(*self._names, TS, _IN)
        )
        at_times = pl.Series(TS, instants[ints(moved.get_column(_LOOK))])
        given = rows[moved.get_column(_ROW)].select(self._names).with_columns(at_times, moved.get_column(SIGN))
        return self._order.numbered(given, pl.lit(moved.get_column(_PLACE)))

    def _members(self, rows: pl.DataFrame, looks: int) -> pl.DataFrame:
        """Which rows (in order) are among the first at which looks, and at which place."""
        if self._order.end is not None:
            stays = ((pl.col(_FIRST) == 0) & (pl.col(_PAST) == looks)).cast(pl.Int64)
            before = stays.cum_sum() - stays
            rows = rows.filter((before.over(self._by) if self._by else before) < self._order.end)
        many = np.maximum(ints(rows.get_column(_PAST)) - ints(rows.get_column(_FIRST)), 0)
        which = np.repeat(np.arange(rows.height), many)
        offset = np.repeat(np.cumsum(many) - many, many)
        look = np.arange(which.size) - offset + np.repeat(ints(rows.get_column(_FIRST)), many)
        pairs = rows.select(pl.col(_ROW).cast(pl.Int64), *self._by)[pl.Series(which)].with_columns(
            pl.Series(_LOOK, look)
        )
        place = pl.int_range(pl.len()).over([_LOOK, *self._by])
        # without numbers, a row that only moves within the first hasn't changed
        shown = place.cast(pl.Int64) if self._order.number is not None else pl.lit(0, pl.Int64)
        return pairs.with_columns(shown.alias(_PLACE)).filter(self._order.wanted(place)).select(_ROW, _LOOK, _PLACE)

    def recalls(self) -> Recall | None:
        """The rows of the relation."""
        return Recall(earliest(self._waiting if self._alive is None else [*self._waiting, self._alive]))


class Limit(Stateless):
    """The first rows that come, and no more."""

    def __init__(self, plan: Top) -> None:
        super().__init__(named(plan))
        self._skip = plan.offset
        assert plan.limit is not None
        self._left = plan.limit

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Count."""
        rows = batch.frame[self._skip : self._skip + self._left]
        self._skip = max(0, self._skip - batch.rows)
        self._left -= rows.height
        if rows.height:
            yield batch.with_frame(rows)


__all__ = ["Limit", "TopOfExtents", "TopOfRelation", "named"]
