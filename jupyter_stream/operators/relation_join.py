"""Joins of relations: at every instant the pairs of rows that are in both; outer, semi and anti joins likewise.

Rows alive are found by key: a change costs what it meets. What a retroactive table holds is one of the two.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import SIGN, TS, UNTIL, Batch, Failed, Message, Punctuation, Tick
from jupyter_stream.core.rows import earliest
from jupyter_stream.core.table import TableRows
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.functions.expression import Expr
from jupyter_stream.operators.evaluate import Evaluator
from jupyter_stream.operators.protocol import Recall
from jupyter_stream.plan.logical import RelationJoin as Plan
from jupyter_stream.plan.logical import TableRelation
from jupyter_stream.state.ledger import NOTE, NUMBER, OLD, Ledger

_ROW = "$row"
_PARTNERS = NOTE
"""How many partners a row has is kept with it."""


class RelationJoin:
    """Changes of the join, by instant; leaving rows before entering ones."""

    def __init__(self, plan: Plan) -> None:
        self.control = ControlTable(f"{plan.kind} join of relations")
        self.synopses = [ControlTable("left rows"), ControlTable("right rows")]
        self._plan = plan
        self._on = [f"$k{i}" for i in range(len(plan.keys))]
        self._keys = [Evaluator([pair[side] for pair in plan.keys]) for side in (0, 1)]
        self._residual = None if plan.residual is None else Evaluator([plan.residual])
        self._names = (plan.left.schema.names, plan.right.schema.names)
        self._right_names = dict(zip(plan.right.schema.names, plan.right_names, strict=True))
        self._counted = (plan.kind != "inner" and plan.kind != "right", plan.kind in ("right", "full"))
        self._ledgers = tuple(
            Ledger({**part.schema.polars(), **{n: e.dtype for n, e in zip(self._on, exprs, strict=True)}}, self._on)
            for part, exprs in zip((plan.left, plan.right), self._expressions(plan), strict=True)
        )
        self._waiting: tuple[list[pl.DataFrame], list[pl.DataFrame]] = ([], [])
        self._reached = [MIN_TIME, MIN_TIME]
        self._said = MIN_TIME
        self.table: TableRows | None = None
        """The table that is one of the two, if one is: its changes are told by `changed`."""
        self._table_port = 1
        for port, part in enumerate((plan.left, plan.right)):
            if isinstance(part, TableRelation):
                assert part.table.table is not None
                self.table, self._table_port = part.table.table, port
                self._reached[port] = MAX_TIME
                self._holds = self.table.frame
                self._take(port, self._holds.with_columns(_constant(TS, MIN_TIME), _sign(1)))

    @staticmethod
    def _expressions(plan: Plan) -> tuple[list[Expr], list[Expr]]:
        return [one for one, _ in plan.keys], [other for _, other in plan.keys]

    # -- what comes --------------------------------------------------------------------------------------------------

    def head(self, most: int) -> pl.DataFrame:
        """The oldest rows of each side, half each, with the side they are of."""
        sides = zip(("left", "right"), self._ledgers, strict=True)
        rows = [ledger.head(most // 2).select(pl.lit(name).alias("side"), pl.all()) for name, ledger in sides]
        return pl.concat(rows, how="diagonal_relaxed")

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Keep changes until both inputs have come so far."""
        yield from self._take(port, batch.frame.select(*self._names[port], TS, SIGN))

    def _take(self, port: int, frame: pl.DataFrame) -> list[Message]:
        frame, keys, failed = self._keys[port].evaluate(frame)
        if frame.height:
            self._waiting[port].append(frame.with_columns(k.alias(n) for k, n in zip(keys, self._on, strict=True)))
        return [] if failed is None else [failed]

    def changed(self, at: int) -> None:
        """The table has changed, at that time: what it holds now replaces what it held."""
        assert self.table is not None
        before, now = self._holds, self.table.frame
        self._holds = now
        names = list(before.columns)
        numbered = [f.with_columns(pl.int_range(pl.len()).over(names).alias("$nth")) for f in (before, now)]
        gone = numbered[0].join(numbered[1], on=[*names, "$nth"], how="anti", nulls_equal=True)
        come = numbered[1].join(numbered[0], on=[*names, "$nth"], how="anti", nulls_equal=True)
        at = max(at, self._said)
        for frame, sign in ((gone, -1), (come, 1)):
            self._take(self._table_port, frame.select(names).with_columns(_constant(TS, at), _sign(sign)))

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Give the changes at instants that both inputs have told all about."""
        self._reached[port] = max(self._reached[port], punctuation.value)
        least = min(self._reached)
        if least <= self._said:
            return
        self._said = self.control.low_watermark = least
        due = [self._due(side, least) for side in self._waiting]
        if any(d is not None for d in due):
            yield from self._release(due)
        for ledger, synopsis in zip(self._ledgers, self.synopses, strict=True):
            synopsis.holds(ledger.bytes)
            synopsis.extra["rows"] = ledger.rows
            synopsis.extra["rows_looked_at"] = ledger.looked
        waiting = sum(int(f.estimated_size()) for frames in self._waiting for f in frames)
        self.control.holds(sum(ledger.bytes for ledger in self._ledgers) + waiting)
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

    # -- what is given -----------------------------------------------------------------------------------------------

    def _release(self, due: list[pl.DataFrame | None]) -> Iterator[Message]:
        left, right = (
            ledger.advance(changes, others).with_row_index(_ROW)
            for ledger, changes, others in zip(self._ledgers, due, due[::-1], strict=True)
        )
        pairs = self._pairs(left, right)
        if self._residual is not None and pairs.height:
            pairs, (true,), failed = self._residual.evaluate(pairs)
            if failed is not None:
                yield _told_once(failed)
            pairs = pairs.filter(true.fill_null(False))
        columns = list(self._plan.schema.names)
        made = []
        kind = self._plan.kind
        if kind not in ("semi", "anti"):
            made.append(pairs.filter(~pl.col("$both_old")).select(*columns, TS, _sign(1)))
            ended = pairs.filter(pl.col(UNTIL) < MAX_TIME)
            made.append(ended.select(*columns, pl.col(UNTIL).alias(TS), _sign(-1)))
        for side, rows in ((0, left), (1, right)):
            if self._counted[side]:
                alone = self._alone(side, rows, pairs, wanted=kind == "semi")
                made.append(self._padded(side, alone).select(*columns, TS, SIGN))
        changes = pl.concat(made)
        if changes.height:
            yield Batch(changes.sort(TS, SIGN, maintain_order=True))

    def _pairs(self, left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
        """Pairs in which a row enters or leaves: the joined columns, `$ts` and `$until` of the pair, the rows' numbers."""
        names = {**self._right_names, TS: "$ts_r", UNTIL: "$until_r", OLD: "$old_r", _ROW: "$row_r"}
        other = right.select(*self._on, *(pl.col(a).alias(b) for a, b in names.items()))
        touched = (pl.col(UNTIL) < MAX_TIME) | ~pl.col(OLD)
        touched_r = (pl.col("$until_r") < MAX_TIME) | ~pl.col("$old_r")
        parts = []
        for one, two in ((left.filter(touched), other), (left.filter(~touched), other.filter(touched_r))):
            if self._on:
                parts.append(one.join(two, on=self._on, how="inner"))
            else:
                parts.append(one.join(two, how="cross"))
        pairs = pl.concat(parts).with_columns(
            pl.max_horizontal(TS, "$ts_r").alias(TS),
            pl.min_horizontal(UNTIL, "$until_r").alias(UNTIL),
            (pl.col(OLD) & pl.col("$old_r")).alias("$both_old"),
        )
        return pairs.filter(pl.col(TS) < pl.col(UNTIL))

    def _alone(self, side: int, rows: pl.DataFrame, pairs: pl.DataFrame, wanted: bool) -> pl.DataFrame:
        """Changes of the rows that have no partner (or, where `wanted`, that have one): number, `$ts`, `$sign`."""
        number = pl.col("$row_r" if side else _ROW).alias(_ROW)
        one = pl.lit(1, pl.Int64)
        nothing = pl.lit(0, pl.Int64)
        ended, left = pairs.filter(pl.col(UNTIL) < MAX_TIME), rows.filter(pl.col(UNTIL) < MAX_TIME)
        events = pl.concat(
            [
                pairs.filter(~pl.col("$both_old")).select(number, TS, one.alias("p"), nothing.alias("a")),
                ended.select(number, pl.col(UNTIL).alias(TS), -one.alias("p"), nothing.alias("a")),
                rows.filter(~pl.col(OLD)).select(_ROW, TS, nothing.alias("p"), one.alias("a")),
                left.select(_ROW, pl.col(UNTIL).alias(TS), nothing.alias("p"), -one.alias("a")),
            ]
        )  # fmt: skip
        steps = events.group_by(_ROW, TS).agg(pl.col("p").sum(), pl.col("a").sum()).sort(_ROW, TS)
        state = rows.select(_ROW, _PARTNERS, pl.col(OLD).cast(pl.Int64).alias("$was_in"))
        steps = steps.join(state, on=_ROW, how="left", maintain_order="left")
        steps = steps.with_columns(
            (pl.col("p").cum_sum().over(_ROW) + pl.col(_PARTNERS)).alias("p"),
            (pl.col("a").cum_sum().over(_ROW) + pl.col("$was_in")).alias("a"),
        )
        partner = (pl.col("p") > 0) == wanted
        was_partner = (pl.col(_PARTNERS) > 0) == wanted
        now = (pl.col("a") > 0) & partner
        before = now.shift(1).over(_ROW)
        first = pl.int_range(pl.len()).over(_ROW) == 0
        steps = steps.with_columns(
            now.alias("now"), pl.when(first).then((pl.col("$was_in") > 0) & was_partner).otherwise(before).alias("before")
        )  # fmt: skip
        last = steps.group_by(_ROW, maintain_order=True).agg(pl.col("p").last().alias("$last"))
        stay = rows.filter(pl.col(UNTIL) == MAX_TIME).join(last, on=_ROW, how="left", maintain_order="left")
        partners = stay.get_column("$last").fill_null(stay.get_column(_PARTNERS))
        self._ledgers[side].note(stay.get_column(NUMBER), partners)
        changed = steps.filter(pl.col("now") != pl.col("before"))
        sign = pl.when(pl.col("now")).then(1).otherwise(-1).cast(pl.Int8).alias(SIGN)
        found = changed.select(_ROW, TS, sign)
        values = rows.select(_ROW, *self._names[side])
        return found.join(values, on=_ROW, how="left", maintain_order="left")

    def _padded(self, side: int, rows: pl.DataFrame) -> pl.DataFrame:
        if self._plan.kind in ("semi", "anti"):
            return rows
        if side:
            rows = rows.rename(self._right_names)
        absent = [f for f in self._plan.schema if f.name not in rows.columns]
        return rows.with_columns(pl.lit(None, f.dtype).alias(f.name) for f in absent)

    def recalls(self) -> Recall | None:
        """The rows of both relations."""
        waiting = earliest(f for frames in self._waiting for f in frames)
        return Recall(min(waiting, *(ledger.oldest for ledger in self._ledgers)))

    def on_tick(self, tick: Tick) -> Iterator[Message]:
        """Pass it on: a relation has no provisional answers."""
        yield tick


def _constant(name: str, value: int) -> pl.Expr:
    return pl.lit(value, pl.Int64).alias(name)


def _sign(value: int) -> pl.Expr:
    return pl.lit(value, pl.Int8).alias(SIGN)


def _told_once(failed: Failed) -> Failed:
    """Pairs on which the condition fails: they are told when they begin."""
    new = ~failed.frame.get_column("$both_old")
    frame = failed.frame.filter(new)
    own = [c for c in frame.columns if not c.startswith("$") or c == TS]
    return Failed(frame.select(own), failed.reasons.filter(new))


__all__ = ["RelationJoin"]
