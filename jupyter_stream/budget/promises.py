"""What a query with a budget has still to look at, the most promising first, and what share of its answer that leaves out.

After the promising-tuples paper §4: one priority structure per query, looked through until the budget ends, and in idle time.
What is looked at, and how, is the operators' own: here are priorities, probes and what they found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import polars as pl

from jupyter_stream.arrays.rows import values_at
from jupyter_stream.arrays.runs import run_starts
from jupyter_stream.budget.time_slots import SummaryKeeper
from jupyter_stream.core.coverage import WHOLE, Coverage
from jupyter_stream.core.messages import Int64s, ints
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.flow.evaluate import Evaluator
from jupyter_stream.functions.expression import Column, Expr, columns
from jupyter_stream.plan.preference import Estimate, Preference, PreferenceItem
from jupyter_stream.summaries.hashing import items_of, mixed
from jupyter_stream.summaries.priorities import Priorities, TakenEntries
from jupyter_stream.summaries.protocol import Float64s, Items
from jupyter_stream.summaries.stream_summary import Zones

NORMAL: Final = 1.96
"""Standard deviations that hold 95% of cases."""
MEMORY: Final = 512 << 20
"""Bytes that what waits may take, unless set: beyond, the oldest is given up."""
EVERY: Final = 16
"""Of one entry in so many it is found out beforehand what it will bring, and"""
FEW: Final = 8
"""fewer than so many say nothing of the rest."""
UNKNOWN: Final = -1
"""What an entry will bring, where it was not found out."""
REST_PROBES: Final = 16_384
"""Probes made at a time of what is left, unless set."""
_PLACE: Final = "$place"
UNIFORM: Final = "a uniform sample: the query has a budget and no preference"


class Allowance(Protocol):
    """What a budget in time lets a query do: operators read no clocks, and ask."""

    def ready(self, rows: Sequence[int]) -> int:
        """Of slots that wait with so many rows, how many may have them got ready for probes now, together; 0 to wait."""

    def probes(self) -> float:
        """How many may be made now."""

    def made(self) -> None:
        """They are."""


@dataclass(frozen=True)
class QueriedValues:
    """Values asked about.

    Attributes:
        values: the columns that the preference names, each of shape (n,).
        items: their hashes by summary, each of shape (n,).
    """

    values: dict[str, pl.Series]
    items: tuple[Items, ...]


@dataclass(frozen=True)
class ZoneValues:
    """What is known of values in zones, oldest zones first.

    Attributes:
        promise: of each value there, shape (zones, n).
        counts: about how many rows, shape (zones, n).
    """

    promise: Float64s
    counts: Float64s


class Promise:
    """What the preference's expressions about one stream say of values in its zones.

    Args:
        items: the expressions about that stream.
        at: for each of the stream's columns that they name, the expression over the asking rows that has its value.
    """

    def __init__(self, items: Sequence[PreferenceItem], at: dict[str, Expr]) -> None:
        self._items = tuple(items)
        self._summaries = tuple(dict.fromkeys(e.summary for i in items for e in i.estimates))
        own = {c for i in items for c in columns(i.value)} - {e.name for i in items for e in i.estimates}
        self._columns = tuple(sorted({*own, *(c for s in self._summaries for c in s.spec.columns)}))
        self._asked = Evaluator([at[c] for c in self._columns])
        self._values = [None if isinstance(i.value, Column) else Evaluator([i.value]) for i in items]

    def ask(self, frame: pl.DataFrame) -> QueriedValues:
        """The values that rows ask about, one for each row."""
        return self._about(self._asked.evaluate(frame)[1])

    def ask_once(self, frame: pl.DataFrame) -> tuple[QueriedValues, Int64s]:
        """The distinct values that rows ask about, and which of them each row has."""
        found = self._asked.evaluate(frame)[1]
        _, first, which = np.unique(items_of(found), return_index=True, return_inverse=True)
        return self._about([values_at(c, first) for c in found]), which

    def _about(self, found: Sequence[pl.Series]) -> QueriedValues:
        values = dict(zip(self._columns, found, strict=True))
        return QueriedValues(values, tuple(items_of([values[c] for c in s.spec.columns]) for s in self._summaries))

    def zones(self, keeper: SummaryKeeper) -> Zones:
        """The zones of the first summary, oldest first."""
        return keeper[self._summaries[0]].zones()

    def by_zone(
        self, keeper: SummaryKeeper, asked: QueriedValues, low: int = MIN_TIME, high: int = MAX_TIME
    ) -> ZoneValues:
        """Of each value in each zone of `low <= ts < high`: what it promises, and how many rows it has there.

        Counts are looked for from the top of the pyramids; what they say is not there is asked no further.
        """
        first = keeper[self._summaries[0]]
        counts = first.counts(asked.items[0], low, high)
        promise: Float64s = np.ones(counts.shape)
        for item, evaluator in zip(self._items, self._values, strict=True):
            estimated = []
            for estimate in item.estimates:
                if (
                    estimate.summary is not self._summaries[0]
                ):  # zones of two summaries need not be the same: all of its own
                    found = np.broadcast_to(self._of(keeper, asked, estimate, low, high), counts.shape)
                elif estimate.measure == "count":
                    found = counts
                else:
                    numbers = first.zones(low, high).numbers
                    found = first.measured(numbers, asked.items[0], estimate.measure, estimate.column)
                estimated.append((estimate.name, found))
            promise = promise * _value(evaluator, asked.values, estimated, counts.shape)
        return ZoneValues(np.maximum(promise, 0), counts)

    def of_all(
        self, keeper: SummaryKeeper, asked: QueriedValues, low: int = MIN_TIME, high: int = MAX_TIME
    ) -> tuple[Float64s, Float64s]:
        """Of each value in the zones of `low <= ts < high` together: what it promises, and how many rows it has."""
        shape = (1, asked.items[0].size)
        promise: Float64s = np.ones(shape)
        for item, evaluator in zip(self._items, self._values, strict=True):
            estimated = [(e.name, self._of(keeper, asked, e, low, high).reshape(shape)) for e in item.estimates]
            promise = promise * _value(evaluator, asked.values, estimated, shape)
        return np.maximum(promise[0], 0), keeper[self._summaries[0]].total(asked.items[0], low, high)

    def _of(self, keeper: SummaryKeeper, asked: QueriedValues, estimate: Estimate, low: int, high: int) -> Float64s:
        """An estimate over the zones of a stretch of time."""
        summary, items = keeper[estimate.summary], asked.items[self._summaries.index(estimate.summary)]
        if estimate.measure == "count":
            return summary.total(items, low, high)
        by_zone = summary.measured(summary.zones(low, high).numbers, items, estimate.measure, estimate.column)
        return _together(estimate.measure, list(by_zone), items.size)


def _value(
    evaluator: Evaluator | None,
    values: dict[str, pl.Series],
    estimated: list[tuple[str, Float64s]],
    shape: tuple[int, ...],
) -> Float64s:
    """What an expression of a preference is, zone by zone; 0 where it is nothing, or fails."""
    if evaluator is None:  # an estimate and no more
        found = estimated[0][1]
    else:
        each = np.tile(np.arange(shape[1]), shape[0])
        columns = [values_at(column, each).alias(name) for name, column in values.items()]
        estimates = [pl.Series(name, one.ravel()) for name, one in estimated]
        place = pl.Series(_PLACE, np.arange(each.size))
        worked, (value,), _ = evaluator.evaluate(pl.DataFrame([*columns, *estimates, place]))
        flat = np.zeros(each.size)  # also where the expression fails, as in a text that is no number
        flat[ints(worked.get_column(_PLACE))] = value.cast(pl.Float64).fill_null(0.0).to_numpy()
        found = flat.reshape(shape)
    return np.nan_to_num(found, nan=0.0)


def _together(measure: str, by_zone: list[Float64s], size: int) -> Float64s:
    """An estimate over several zones."""
    if not by_zone:
        return np.zeros(size)
    if measure == "min":
        found: Float64s = np.fmin.reduce(by_zone)
    elif measure == "max":
        found = np.fmax.reduce(by_zone)
    else:
        found = np.sum(by_zone, axis=0)
    return found


def scored(preference: Preference | None, promise: Float64s, counts: Float64s, groups: Items, round_: int) -> Float64s:
    """Scores, of which the highest are looked at first.

    Args:
        preference: the query's; None for a uniform sample.
        promise: of each entry, shape (n,).
        counts: about how many rows it would find, shape (n,).
        groups: whose time it takes: WEIGHTED gives each group time by its promise, shape (n,).
        round_: number of the round; with the group it decides where sampling begins.
    """
    if preference is not None and preference.order == "desc":
        return promise
    if preference is not None and preference.order == "asc":
        return 1 / (1 + promise)
    # Time by the ratio of the estimates: a value's entries are as many as it has rows, so where the promise is the count itself
    # all entries weigh the same. Systematic sampling with a start by chance, so that values with few entries get their share too:
    # each group's entries, which stand zone by zone, are taken far apart first, so that however many are taken they are spread
    # evenly over zones and rows (van der Corput, 1935).
    weight = np.ones(promise.size) if preference is None else promise / np.maximum(counts, 1)
    if preference is not None:
        weight = np.where(counts <= 0, 1.0, weight)
    order = np.argsort(groups, kind="stable")
    begins = run_starts(groups[order])
    sizes = np.diff(np.r_[begins, groups.size])
    drawn = groups[order][begins] ^ mixed(np.full(begins.size, round_ % (1 << 63), np.uint64))
    start, turn = mixed(drawn) / 2.0**64, mixed(~drawn) / 2.0**64
    of = np.repeat(np.arange(begins.size), sizes)
    place = np.arange(groups.size) - begins[of]
    turned = (place + np.floor(turn * sizes).astype(np.int64)[of]) % sizes[of]
    order = order[np.lexsort((_bits_reversed(turned), of))]
    scores = np.empty(groups.size)
    scores[order] = sizes[of] / (place + np.maximum(start, 1e-9)[of])
    return scores * weight


def _bits_reversed(numbers: Int64s) -> Int64s:
    """Numbers of at most 32 bits with their bits in the other order."""
    found = numbers
    for width, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF), (16, 0x0000FFFF)):
        found = ((found >> width) & mask) | ((found & mask) << width)
    return found


def sampled(many: int, round_: int) -> Int64s:
    """Places of a few of many entries, each with the chance of one in `EVERY`, by chance but the same each time."""
    drawn = mixed(np.arange(many, dtype=np.uint64) ^ mixed(np.full(many, round_, np.uint64)))
    return np.flatnonzero(drawn < np.uint64(2**64 // EVERY))


@dataclass
class _Few:
    """Sums over entries left of which it is known what they will bring: `e` is what was expected, `t` what is true."""

    n: float = 0.0
    e: float = 0.0
    t: float = 0.0
    ee: float = 0.0
    et: float = 0.0
    tt: float = 0.0

    def add(self, expected: Float64s, true: Int64s, sign: int) -> None:
        known = true != UNKNOWN
        e, t = expected[known], true[known].astype(np.float64)
        self.n += sign * e.size
        self.e += sign * float(e.sum())
        self.t += sign * float(t.sum())
        self.ee += sign * float(e @ e)
        self.et += sign * float(e @ t)
        self.tt += sign * float(t @ t)

    def of(self, many: int, expected: float) -> tuple[float, float]:
        """What `many` entries bring of which so much was expected, by regression on those known, and the variance of that.

        The estimator of survey sampling (Cochran, "Sampling techniques", §7): whatever the summary errs by, alike or not, is seen
        in the entries known, so that there is no bias but of a higher order.
        """
        if self.n < FEW:
            return expected, float(max(expected, many)) ** 2
        slope = self.et / self.ee if self.ee > 0 else 0.0
        rest = max(0.0, slope * expected + many * (self.t - slope * self.e) / self.n)
        mean = (self.t - slope * self.e) / self.n
        squares = max(0.0, self.tt - 2 * slope * self.et + slope * slope * self.ee) / self.n - mean * mean
        share_unknown = max(0.0, 1 - self.n / max(many, self.n))
        # of as few as these the error is Student's, whose variance is greater
        return rest, max(0.0, squares) * many * many / (self.n - 3) * share_unknown


class Promises:
    """The entries of one query that wait, and what those looked at have brought.

    Args:
        preference: the query's; None for a uniform sample.
    """

    def __init__(self, preference: Preference | None) -> None:
        self.preference = preference
        self._waiting = Priorities()
        self._expected_left = 0.0
        self._entries_left = 0
        self._few = _Few()
        self.left = 0
        self.probes = 0
        self.found = 0
        self._found_of = 0
        self.let_go = 0

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return self._waiting.bytes

    @property
    def _note(self) -> str:
        return UNIFORM if self.preference is None else f"preferred: {self.preference}"

    def push(
        self, scores: Float64s, expected: Float64s, columns: dict[str, Int64s], probes: Float64s | None = None
    ) -> None:
        """Entries to be looked at.

        Args:
            scores: the highest come first.
            expected: how many answers each may bring.
            columns: what they say. `$found` is how many answers an entry will bring, of `sampled` ones; `UNKNOWN` of the others.
            probes: how many each takes: one unless given.
        """
        self._waiting.push(scores, {**columns, "$expected": expected}, probes)
        self.left += scores.size if probes is None else int(probes.sum())
        self._count(expected, columns["$found"], 1)

    def _count(self, expected: Float64s, found: Int64s, sign: int) -> None:
        self._entries_left += sign * expected.size
        self._expected_left += sign * float(expected.sum())
        self._few.add(expected, found, sign)

    def take(self, probes: float) -> TakenEntries | None:
        """The most promising entries, as many as the probes."""
        if probes < 1:
            return None
        taken = self._waiting.take(min(probes, float(self.left)))
        if taken is not None:
            made = int(taken.cost.sum())
            self.left -= made
            self.probes += made
            self._count(taken.columns["$expected"], taken.columns["$found"], -1)
        return taken

    def take_in_time(self, allowance: Allowance) -> tuple[float, TakenEntries | None]:
        """The most promising entries, as many as there is time for, and how many probes that was for.

        A lookup of many rows takes many probes: where so few were allowed that none could be made, more are asked for.
        """
        probes = allowance.probes()
        taken = self.take(probes)
        while taken is None and probes >= 1 and self.left:
            allowance.made()
            before, probes = probes, allowance.probes()
            if probes <= before:
                break
            taken = self.take(probes)
        return probes, taken

    def let_go_of_oldest(self, name: str) -> tuple[Int64s, Int64s]:
        """Give the older half of what waits up. Its answers are missing for good, and coverage says so.

        Args:
            name: the column by whose numbers, which grow with time, entries are older or younger.

        Returns:
            The numbers, each once, and how many probes of each are gone.
        """
        taken = self._waiting.take(float(self.left))
        assert taken is not None
        numbers = taken.columns[name]
        old = numbers <= np.median(numbers)
        gone, stay = taken.only(old), taken.only(~old)
        self._waiting.push(stay.score, stay.columns, stay.cost)
        distinct, which = np.unique(gone.columns[name], return_inverse=True)
        many = np.bincount(which, gone.cost).astype(np.int64)
        self.left -= int(many.sum())
        self.let_go += int(many.sum())
        return distinct, many

    def brought(self, found: int, of: int) -> None:
        """Say how many answers entries taken have brought, and out of how many that `$found` would count, in all so far."""
        self.found += found
        self._found_of = of

    def coverage(self, unseen: float = 0.0) -> Coverage:
        """The share of the exact answer given: what was found, beside what the few entries known say of the rest.

        Args:
            unseen: the share of the rows that came of which nothing has been pushed yet. Their answers are taken to be as many
                as others', and possibly twice as many or none.
        """
        if unseen:
            seen = self.coverage()
            low = seen.low * (1 - unseen) / (1 + unseen)
            note = seen.note or self._note
            return Coverage(seen.share * (1 - unseen), low, seen.high, note)
        if not self.left and not self.let_go:
            return WHOLE
        note = self._note
        rest, variance = self._few.of(self._entries_left, max(0.0, self._expected_left))
        kept = (self.found + 1) / (self._found_of + 1)  # by the rest of the condition
        rest, off = rest * kept, NORMAL * float(np.sqrt(variance)) * kept + 1
        if not self.found:
            return Coverage(0.0 if rest > 0 else 1.0, 0.0, 1.0, note)
        found = float(self.found)
        return Coverage(
            found / (found + rest), found / (found + rest + off), found / (found + max(0.0, rest - off)), note
        )
