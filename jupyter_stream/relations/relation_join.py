"""Joins of relations: at every instant the pairs of rows that are in both; outer, semi and anti joins likewise.

Rows alive are found by key: a change costs what it meets. What a retroactive table holds is one of the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.arrays.rows import columns_of, frame_of, rows_at, rows_if, together, values_at
from jupyter_stream.arrays.runs import begins_run, ends_run
from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import SIGN, TS, UNTIL, Batch, Bools, Failed, Int64s, Message, ints
from jupyter_stream.core.table import TableRows
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.flow.at_instants import AtInstants
from jupyter_stream.flow.evaluate import Evaluator
from jupyter_stream.flow.protocol import Recall
from jupyter_stream.functions.expression import Expr
from jupyter_stream.plan.logical import RelationJoin, TableRelation
from jupyter_stream.relations.ledger import NOTE, NUMBER, OLD, Ledger

_ROWS: Final = ("$row", "$row_r")
"""Of a pair, the numbers of its rows among those of the step."""
_BOTH_OLD: Final = "$both_old"
"""Of a pair, whether both of its rows were there before."""
_PARTNERS = NOTE
"""How many partners a row has is kept with it."""

_Changes: TypeAlias = tuple[pl.DataFrame, Int64s, NDArray[np.int8]]
"""Rows of the join, when each enters or leaves, and which of both."""


class RelationJoinOperator(AtInstants):
    """Changes of the join, by instant; leaving rows before entering ones.

    Args:
        plan: what is joined.
        by_values: of each side, whether rows that leave are found by all their values, rather than among those of their key.
        read: gives the rows a table holds now.
    """

    def __init__(
        self,
        plan: RelationJoin,
        by_values: tuple[bool, ...] = (True, True),
        read: Callable[[TableRows], pl.DataFrame] = lambda table: table.frame,
    ) -> None:
        super().__init__(f"{plan.kind} join of relations", 2)
        self._read = read
        self.by_values = by_values
        self.synopses = [ControlTable("left rows"), ControlTable("right rows")]
        self._plan = plan
        self._on = [f"$k{i}" for i in range(len(plan.keys))]
        self._keys = [Evaluator([pair[side] for pair in plan.keys]) for side in (0, 1)]
        self._residual = None if plan.residual is None else Evaluator([plan.residual])
        self._names = (plan.left.schema.names, plan.right.schema.names)
        self._right_names = dict(zip(plan.right.schema.names, plan.right_names, strict=True))
        self._counted = (plan.kind != "inner" and plan.kind != "right", plan.kind in ("right", "full"))
        self._ledgers = tuple(
            Ledger(
                {**part.schema.polars(), **{n: e.dtype for n, e in zip(self._on, exprs, strict=True)}}, self._on, also
            )
            for part, exprs, also in zip((plan.left, plan.right), self._expressions(plan), by_values, strict=True)
        )
        self.table: TableRows | None = None
        """The table that is one of the two, if one is: its changes are told by `changed`."""
        self._table_port = 1
        self._holds = pl.DataFrame()
        for port, part in enumerate((plan.left, plan.right)):
            if isinstance(part, TableRelation):
                assert part.table.table is not None
                self.table, self._table_port = part.table.table, port
                self._promised[port] = MAX_TIME
                self._holds = read(self.table)
                self.take(port, self._holds.with_columns(_constant(TS, MIN_TIME), _sign(1)))

    @property
    def table_rows(self) -> pl.DataFrame:
        """What the table held when this was last told."""
        return self._holds

    @staticmethod
    def _expressions(plan: RelationJoin) -> tuple[list[Expr], list[Expr]]:
        return [one for one, _ in plan.keys], [other for _, other in plan.keys]

    # -- what comes --------------------------------------------------------------------------------------------------

    def head(self, most: int) -> pl.DataFrame:
        """The oldest rows of each side, half each, with the side they are of."""
        sides = zip(("left", "right"), self._ledgers, strict=True)
        rows = [ledger.head(most // 2).select(pl.lit(name).alias("side"), pl.all()) for name, ledger in sides]
        return pl.concat(rows, how="diagonal_relaxed")

    def take(self, port: int, frame: pl.DataFrame) -> Iterable[Message]:
        """With their keys."""
        frame, keys, failed = self._keys[port].evaluate(columns_of(frame, [*self._names[port], TS, SIGN]))
        self.keep(port, frame.hstack([k.alias(n) for k, n in zip(keys, self._on, strict=True)]))
        return () if failed is None else (failed,)

    def changed(self, at: int) -> None:
        """The table has changed, at that time: what it holds now replaces what it held."""
        assert self.table is not None
        self.holds_now(self._read(self.table), at)

    def holds_now(self, now: pl.DataFrame, at: int) -> None:
        """These rows of the table replace what it held, at that time."""
        before, self._holds = self._holds, now
        names = list(before.columns)
        numbered = [f.with_columns(pl.int_range(pl.len()).over(names).alias("$nth")) for f in (before, now)]
        gone = numbered[0].join(numbered[1], on=[*names, "$nth"], how="anti", nulls_equal=True)
        come = numbered[1].join(numbered[0], on=[*names, "$nth"], how="anti", nulls_equal=True)
        at = max(at, self._reached)
        for frame, sign in ((gone, -1), (come, 1)):
            self.take(self._table_port, frame.select(names).with_columns(_constant(TS, at), _sign(sign)))

    def report(self) -> None:
        """And of each side how many rows it has."""
        for ledger, synopsis in zip(self._ledgers, self.synopses, strict=True):
            synopsis.holds(ledger.bytes)
            synopsis.extra["rows"] = ledger.rows
            synopsis.extra["rows_looked_at"] = ledger.looked
        self.holds(sum(ledger.bytes for ledger in self._ledgers))

    # -- what is given -----------------------------------------------------------------------------------------------

    def step(self, due: Sequence[pl.DataFrame | None], until: int) -> Iterator[Message]:
        """Give the pairs that come and go, and the rows that lose or find their only partner."""
        if all(changes is None for changes in due):
            return
        left, right = (
            ledger.advance(changes, others)
            for ledger, changes, others in zip(self._ledgers, due, due[::-1], strict=True)
        )
        pairs = self._pairs(left, right)
        if self._residual is not None and pairs.height:
            pairs, (true,), failed = self._residual.evaluate(pairs)
            if failed is not None:
                yield _failed_at_begin(failed)
            pairs = rows_if(pairs, true.fill_null(False))
        made: list[_Changes] = []
        kind = self._plan.kind
        if kind not in ("semi", "anti"):
            ends = ints(pairs.get_column(UNTIL))
            new, over = np.flatnonzero(~_mask(pairs, _BOTH_OLD)), np.flatnonzero(ends < MAX_TIME)
            joined = columns_of(pairs, self._plan.schema.names)
            made.append(_changes(rows_at(joined, new), ints(pairs.get_column(TS)).take(new), 1))
            made.append(_changes(rows_at(joined, over), ends.take(over), -1))
        for side, rows in ((0, left), (1, right)):
            if self._counted[side]:
                made.append(self._alone(side, rows, pairs, wanted=kind == "semi"))
        made = [changes for changes in made if changes[1].size]
        if made:
            times, signs = (np.concatenate([changes[i] for changes in made]) for i in (1, 2))
            frame = together([changes[0] for changes in made]).hstack([pl.Series(TS, times), pl.Series(SIGN, signs)])
            yield Batch(rows_at(frame, np.lexsort((signs, times))))

    def _pairs(self, left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
        """Pairs in which a row enters or leaves: the joined columns, `$ts` and `$until` of the pair, the rows' numbers."""
        sides = left, right
        touched = [(ints(side.get_column(UNTIL)) < MAX_TIME) | ~_mask(side, OLD) for side in sides]
        lefts, rights = self._equal(sides, np.flatnonzero(touched[0]), np.arange(right.height))
        more, others = self._equal(sides, np.flatnonzero(~touched[0]), np.flatnonzero(touched[1]))
        at = np.concatenate([lefts, more]), np.concatenate([rights, others])
        times = [ints(side.get_column(TS)).take(rows) for side, rows in zip(sides, at, strict=True)]
        ends = [ints(side.get_column(UNTIL)).take(rows) for side, rows in zip(sides, at, strict=True)]
        since, until = np.maximum(*times), np.minimum(*ends)
        some = np.flatnonzero(since < until)
        at = at[0].take(some), at[1].take(some)
        old = [_mask(side, OLD).take(rows) for side, rows in zip(sides, at, strict=True)]
        columns = [values_at(left.get_column(n), at[0]) for n in self._names[0]]
        columns += [values_at(right.get_column(n), at[1]).alias(name) for n, name in self._right_names.items()]
        return frame_of(
            [
                *columns,
                pl.Series(TS, since.take(some)),
                pl.Series(UNTIL, until.take(some)),
                pl.Series(_BOTH_OLD, old[0] & old[1]),
                *(pl.Series(n, rows) for n, rows in zip(_ROWS, at, strict=True)),
            ]
        )

    def _equal(self, sides: tuple[pl.DataFrame, pl.DataFrame], lefts: Int64s, rights: Int64s) -> tuple[Int64s, Int64s]:
        """Those of the left and right rows, by number, that are equal in their keys."""
        if not lefts.size or not rights.size:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        if not self._on:
            return np.repeat(lefts, rights.size), np.tile(rights, lefts.size)
        one, other = (
            rows_at(columns_of(side, self._on), rows).hstack([pl.Series(name, rows)])
            for side, rows, name in zip(sides, (lefts, rights), _ROWS, strict=True)
        )
        found = one.join(other, on=self._on, how="inner")
        return ints(found.get_column(_ROWS[0])), ints(found.get_column(_ROWS[1]))

    def _alone(self, side: int, rows: pl.DataFrame, pairs: pl.DataFrame, wanted: bool) -> _Changes:
        """Changes of the rows that have no partner (or, where `wanted`, that have one)."""
        number, since, until = (ints(pairs.get_column(n)) for n in (_ROWS[side], TS, UNTIL))
        old, partners, ends = _mask(rows, OLD), ints(rows.get_column(_PARTNERS)), ints(rows.get_column(UNTIL))
        new, over = np.flatnonzero(~_mask(pairs, _BOTH_OLD)), np.flatnonzero(until < MAX_TIME)
        came, left = np.flatnonzero(~old), np.flatnonzero(ends < MAX_TIME)
        # a partner comes, a partner goes, the row comes, the row goes
        row = np.concatenate([number.take(new), number.take(over), came, left])
        at = np.concatenate([since.take(new), until.take(over), ints(rows.get_column(TS)).take(came), ends.take(left)])
        met = np.repeat([1, -1, 0, 0], [new.size, over.size, came.size, left.size])
        alive = np.repeat([0, 0, 1, -1], [new.size, over.size, came.size, left.size])
        order = np.lexsort((at, row))
        row, at, met, alive = (a.take(order) for a in (row, at, met, alive))
        first = begins_run(row)
        last = np.flatnonzero(ends_run(row, at))  # of a row's events of one instant
        have = _running(met, first, partners.take(row)).take(last)
        there = _running(alive, first, old.take(row).astype(np.int64)).take(last)
        row, at = row.take(last), at.take(last)
        first = begins_run(row)
        now = (there > 0) & ((have > 0) == wanted)
        before = np.append(False, now[:-1])[: row.size]
        before = np.where(first, old.take(row) & ((partners.take(row) > 0) == wanted), before)
        partners = partners.copy()
        partners[row] = have  # the last instant's stays
        stay = np.flatnonzero(ends == MAX_TIME)
        self._ledgers[side].note(ints(rows.get_column(NUMBER)).take(stay), partners.take(stay))
        changed = np.flatnonzero(now != before)
        found = rows_at(columns_of(rows, self._names[side]), row.take(changed))
        return self._padded(side, found), at.take(changed), np.where(now.take(changed), 1, -1).astype(np.int8)

    def _padded(self, side: int, rows: pl.DataFrame) -> pl.DataFrame:
        if self._plan.kind in ("semi", "anti"):
            return rows
        names = self._right_names if side else {n: n for n in self._names[0]}
        own = {names[n]: n for n in self._names[side]}
        return frame_of(
            [
                rows.get_column(own[f.name]).alias(f.name)
                if f.name in own
                else pl.Series(f.name, [None], dtype=f.dtype).new_from_index(0, rows.height)
                for f in self._plan.schema
            ]
        )

    def recalls(self) -> Recall | None:
        """The rows of both relations."""
        return Recall(min(self.since, *(ledger.oldest for ledger in self._ledgers)))


def _constant(name: str, value: int) -> pl.Expr:
    return pl.lit(value, pl.Int64).alias(name)


def _sign(value: int) -> pl.Expr:
    return pl.lit(value, pl.Int8).alias(SIGN)


def _mask(frame: pl.DataFrame, name: str) -> Bools:
    return frame.get_column(name).to_numpy()


def _changes(rows: pl.DataFrame, at: Int64s, sign: int) -> _Changes:
    return rows, at, np.full(at.size, sign, np.int8)


def _running(steps: Int64s, first: Bools, before: Int64s) -> Int64s:
    """Sums of steps from the `first` of each row on, added to what was before."""
    total = np.cumsum(steps)
    begin = np.flatnonzero(first)
    sizes = np.diff(np.append(begin, steps.size))
    return total - np.repeat(total.take(begin) - steps.take(begin), sizes) + before


def _failed_at_begin(failed: Failed) -> Failed:
    """Pairs on which the condition fails: they are told when they begin."""
    new = ~failed.frame.get_column(_BOTH_OLD)
    frame = failed.frame.filter(new)
    own = [c for c in frame.columns if not c.startswith("$") or c == TS]
    return Failed(frame.select(own), failed.reasons.filter(new))


__all__ = ["RelationJoinOperator"]
