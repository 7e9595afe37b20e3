"""What is told of matches: values of their rows and aggregates over them, for all matches at once.

Rows of matches lie one match after the other, each as a code; where a variable's rows are is a running count. So a reference or
an aggregate, as of any row of its match, is a place in an array. Not for how matches are found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from jupyter_stream.arrays.exact import BEYOND
from jupyter_stream.arrays.rows import columns_of, frame_of, values_at
from jupyter_stream.core.messages import TS, Bools, Failed, Int64s
from jupyter_stream.flow.evaluate import Evaluator
from jupyter_stream.functions.expression import columns
from jupyter_stream.matches.automaton import Automaton
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.partials.over_folds import OrderedRows, over_ranges
from jupyter_stream.plan.logical import CLASSIFIER, MATCH_NUMBER, MatchRows, RowReference


@dataclass(frozen=True)
class FoundMatch:
    """A match.

    Attributes:
        first: the place of its first row among those at hand.
        path: the codes of its rows.
        number: its number in its partition, from 1.
    """

    first: int
    path: bytes
    number: int


@dataclass(frozen=True)
class RowsAtHand:
    """Rows at hand, in the order of their partitions and of their times.

    Attributes:
        frame: the columns that are shown, and `$ts`.
        partitions: of each.
        arguments: what was computed of each, by number.
    """

    frame: pl.DataFrame
    partitions: Int64s
    arguments: Sequence[pl.Series]


class FoundRows:
    """Matches as rows.

    Args:
        plan: what is told of them.
        automaton: the codes.
        numbers: of each reference, the number of its argument.
        aggregates: each over arguments by number.
        kept: columns of the rows that are shown, or told of where a measure has no value.
    """

    def __init__(
        self,
        plan: MatchRows,
        automaton: Automaton,
        numbers: Sequence[int],
        aggregates: Sequence[GroupAggregate],
        kept: Sequence[str],
    ) -> None:
        self._all_rows = plan.all_rows
        self._references = list(zip(plan.references, numbers, strict=True))
        self._aggregates = list(zip(plan.aggregates, aggregates, strict=True))
        measured = {name for name, _ in plan.measures}
        self._own = [name for name in kept if name not in measured]
        self._names = [name for name, _ in plan.measures]
        self._schema = plan.schema.names
        self._evaluator = Evaluator([expr for _, expr in plan.measures])
        read = {c for _, expr in plan.measures for c in columns(expr)}
        self._references = [(r, n) for r, n in self._references if r.name in read]
        self._aggregates = [(m, a) for m, a in self._aggregates if a.name in read]
        self._codes = {
            v: _set(automaton.codes(v))
            for v in {r.variables for r in plan.references} | {m.variables for m in plan.aggregates}
        }
        self._variables = pl.Series([name for name, _ in automaton.symbols])
        self._shown = np.array([shown for _, shown in automaton.symbols])
        self._classifies = CLASSIFIER in read

    def rows(self, matches: Sequence[FoundMatch], held: RowsAtHand) -> tuple[pl.DataFrame, list[Failed]]:
        """The rows that are given of matches, and those whose measures have no value."""
        codes = np.frombuffer(b"".join(m.path for m in matches), np.uint8)
        sizes = np.array([len(m.path) for m in matches], np.int64)
        of = np.repeat(np.arange(sizes.size), sizes)
        begins = np.cumsum(sizes) - sizes
        places = np.array([m.first for m in matches], np.int64)[of] + np.arange(of.size) - begins[of]
        asked = np.flatnonzero(self._shown[codes]) if self._all_rows else begins + sizes - 1
        if not asked.size:
            return pl.DataFrame(), []
        spread = _MatchedRows(codes, places, begins[of[asked]], (begins + sizes - 1)[of[asked]], asked)
        own = [c.gather(pl.Series(places[asked])) for c in columns_of(held.frame, [*self._own, TS]).get_columns()]
        made = [self._value(r, n, spread, held).alias(r.name) for r, n in self._references]
        beyond = np.zeros(asked.size, np.bool_)
        for measured, aggregate in self._aggregates:
            within = self._codes[measured.variables][codes]
            values, over = _aggregated(aggregate, spread, within, measured.final, held)
            made.append(values.alias(aggregate.name))
            beyond |= over
        numbers = np.array([m.number for m in matches], np.int64)[of[asked]]
        made.append(pl.Series(MATCH_NUMBER, numbers))
        if self._classifies:
            made.append(self._variables.gather(pl.Series(codes[asked].astype(np.uint32))).alias(CLASSIFIER))
        return self._measured(frame_of([*own, *made]), beyond)

    def _measured(self, frame: pl.DataFrame, beyond: Bools) -> tuple[pl.DataFrame, list[Failed]]:
        failed: list[Failed] = []
        if beyond.any():
            failed.append(Failed.all(frame.filter(pl.Series(beyond)), BEYOND))
            frame = frame.filter(pl.Series(~beyond))
        frame, values, bad = self._evaluator.evaluate(frame)
        if bad is not None:
            failed.append(bad)
        named = dict(zip(self._names, values, strict=True))
        shown = [(named[n] if n in named else frame.get_column(n)).alias(n) for n in self._schema]
        return frame_of([*shown, frame.get_column(TS)]), failed

    def _value(self, reference: RowReference, number: int, spread: _MatchedRows, held: RowsAtHand) -> pl.Series:
        """The value of a row, as of each row that is asked."""
        within = self._codes[reference.variables][spread.codes]
        before, until = spread.counts(within, reference.final)
        rows = np.flatnonzero(within)
        at = before + reference.offset if reference.first else until - 1 - reference.offset
        there = (at >= before) & (at < until)
        places = spread.places[rows[np.where(there, at, 0)]] if rows.size else np.zeros(at.size, np.int64)
        moved = places + reference.shift
        inside = np.clip(moved, 0, held.partitions.size - 1)
        there &= (inside == moved) & (held.partitions[inside] == held.partitions[places])
        found = values_at(held.arguments[number], inside)
        return found if there.all() else found.zip_with(pl.Series(there), found.clear(there.size))


@dataclass(frozen=True)
class _MatchedRows:
    """Rows of matches, one match after the other, and which of them are asked.

    Attributes:
        codes: of each row.
        places: of each row among those at hand.
        begins: of each row that is asked, where its match begins.
        ends: of each, its match's last row.
        asked: these rows.
    """

    codes: np.ndarray
    places: Int64s
    begins: Int64s
    ends: Int64s
    asked: Int64s

    def counts(self, within: Bools, final: bool) -> tuple[Int64s, Int64s]:
        """How many rows of some variables lie before the match of each row that is asked, and up to it, or to the match's end."""
        counted = np.append(0, np.cumsum(within))
        return counted[self.begins], counted[(self.ends if final else self.asked) + 1]


def _aggregated(
    aggregate: GroupAggregate, spread: _MatchedRows, within: Bools, final: bool, held: RowsAtHand
) -> tuple[pl.Series, Bools]:
    """An aggregate over rows of some variables, as of each row that is asked, and where it is beyond BIGINT."""
    rows = spread.places[np.flatnonzero(within)]
    first, stop = spread.counts(within, final)
    if not rows.size:  # one row that no range holds: over none, an aggregate has its value too
        rows = spread.places[:1]
    inputs = [values_at(c, rows) for c in held.arguments] or [pl.Series(rows)]
    nothing = np.zeros(rows.size, np.int64)
    found = over_ranges(aggregate, OrderedRows(nothing, np.arange(rows.size), inputs, nothing), first, stop)
    beyond = np.zeros(first.size, np.bool_) if found.beyond is None else found.beyond
    return found.values, beyond


def _set(codes: bytes) -> Bools:
    found = np.zeros(256, np.bool_)
    found[list(codes)] = True
    return found


__all__ = ["FoundMatch", "FoundRows", "RowsAtHand"]
