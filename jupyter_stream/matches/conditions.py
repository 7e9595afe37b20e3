"""Conditions of DEFINE: what they read of rows is computed by columns, what they read of the match so far, step by step.

A condition is a conjunction. Parts over the current row and those near it (`price < PREV(price)`) are columns: one byte a row
says whether they are true. The rest (`price < avg(A.price)`) is a function of the search's place, and is called where that byte
doesn't say no. Not for the search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.arrays.rows import computed_of, frame_of
from jupyter_stream.core.messages import Int64s
from jupyter_stream.functions import compile_kernel
from jupyter_stream.functions.expression import Call, Expr, columns
from jupyter_stream.functions.scalar import Scalar, compile_scalar
from jupyter_stream.functions.steps import with_steps
from jupyter_stream.matches.automaton import Automaton
from jupyter_stream.matches.totals import StepTotal, total_of
from jupyter_stream.plan.logical import MatchAggregate, MatchRows, RowReference

NO, YES, FAILS, UNKNOWN = 0, 1, 2, 255
"""What the byte of a row says. Nothing is known while rows behind it are missing that it looks ahead to."""
Flags: TypeAlias = NDArray[np.uint8]


@dataclass
class SearchPlace:
    """Where a search is: what conditions read beside columns.

    Attributes:
        lists: values of rows, by number of the argument, of all rows at hand.
        low: the place in these of the first row of the partition.
        high: one past its last one.
        offset: added to a row's number in its partition it is its place in these.
        start: the number of the match's first row.
        path: the codes of its rows so far, without the current one.
        totals: of each aggregate its state after each row of the path, as far as it was asked for.
    """

    lists: dict[int, list[Any]] = field(default_factory=dict)
    low: int = 0
    high: int = 0
    offset: int = 0
    start: int = 0
    path: bytearray = field(default_factory=bytearray)
    totals: list[list[Any]] = field(default_factory=list)


class Conditions:
    """The conditions of a pattern.

    Args:
        plan: the pattern with what its variables mean.
        automaton: the codes of its variables.
        arguments: the expressions of rows that are computed beforehand, by number.

    Attributes:
        columnar: for each code the number of its byte; None where every row goes.
        stepwise: for each code what else is asked; None for nothing.
        read: numbers of the arguments whose values `SearchPlace.lists` needs.
        totals: how many aggregates there are.
        may_fail: whether what is asked step by step can fail on a row.
        back, ahead: how many rows before and behind the current one are read, matched or not.
    """

    def __init__(self, plan: MatchRows, automaton: Automaton, arguments: Mapping[Expr, int]) -> None:
        self._arguments = arguments
        self._automaton = automaton
        self._references = {r.name: r for r in plan.references}
        self._aggregates = {a.call.name: a for a in plan.aggregates}
        self._totals: dict[str, int] = {}
        self.read: list[int] = []
        self.columnar: list[int | None] = []
        self.stepwise: list[Scalar | None] = []
        self.back = self.ahead = 0
        self.may_fail = False
        self._parts: list[_Columnar] = []
        conditions = dict(plan.definitions)
        known: dict[str, tuple[int | None, Scalar | None]] = {}
        for name, _ in automaton.symbols:
            if name not in known:
                known[name] = self._split(name, conditions.get(name))
            number, scalar = known[name]
            self.columnar.append(number)
            self.stepwise.append(scalar)
        self.totals = len(self._totals)

    @property
    def columns(self) -> int:
        """How many bytes a row has."""
        return len(self._parts)

    def _split(self, variable: str, condition: Expr | None) -> tuple[int | None, Scalar | None]:
        here: list[Expr] = []
        rest: list[Expr] = []
        for part in [] if condition is None else _conjuncts(condition):
            (here if all(self._is_here(c, variable) for c in columns(part)) else rest).append(part)
        self.may_fail = self.may_fail or any(map(self._fails, rest))
        number = None
        if here:
            number = len(self._parts)
            self._parts.append(_Columnar(_all(here), [self._references[c] for c in sorted(columns(_all(here)))]))
            self._look(self._parts[-1].references)
        if not rest:
            return number, None
        whole = _all(rest)
        self._look([self._references[c] for c in columns(whole) if c in self._references])
        return number, compile_scalar(whole, {c: self._read_by(c, variable) for c in columns(whole)})

    def _fails(self, part: Expr) -> bool:
        """Whether what is asked step by step can fail on a row."""
        summed = (self._aggregates.get(c) for c in columns(part))
        return bool(compile_kernel(part).failures) or any(
            a is not None and a.call.function == "sum" and a.call.dtype.is_integer() for a in summed
        )

    def _is_here(self, column: str, variable: str) -> bool:
        """Whether it is a value of the current row, or of one so many rows from it."""
        found = self._references.get(column)
        if found is None or found.first or found.offset:
            return False
        return not found.variables or variable in found.variables

    def _look(self, references: Sequence[RowReference]) -> None:
        self.back = max([self.back, *(-r.shift for r in references)])
        self.ahead = max([self.ahead, *(r.shift for r in references)])

    # -- by columns

    def flags(self, arguments: Sequence[pl.Series], partitions: Int64s) -> list[tuple[Flags, dict[int, str]]]:
        """For each column what its bytes are, and why rows fail that do, of rows in the order of their partitions."""
        return [part.flags(arguments, partitions, self._arguments) for part in self._parts]

    # -- step by step

    def _read_by(self, column: str, variable: str) -> Scalar:
        aggregate = self._aggregates.get(column)
        if aggregate is not None:
            return self._total(aggregate, variable)
        return self._value(self._references[column], variable)

    def _argument(self, value: Expr) -> int:
        number = self._arguments[value]
        if number not in self.read:
            self.read.append(number)
        return number

    def _value(self, reference: RowReference, variable: str) -> Scalar:
        """The value of a row, counted from the beginning or the end of the match so far, the current row among them."""
        number = self._argument(reference.value)
        codes = self._automaton.codes(reference.variables)
        current = not reference.variables or variable in reference.variables
        find = _first if reference.first else _last
        offset, shift = reference.offset, reference.shift

        def value(env: Any) -> Any:
            place: SearchPlace = env
            at = find(place.path, codes, offset, current)
            if at is None:
                return None
            row = place.offset + place.start + at + shift
            return place.lists[number][row] if place.low <= row < place.high else None

        return value

    def _total(self, aggregate: MatchAggregate, variable: str) -> Scalar:
        """An aggregate over rows of the match so far, the current row among them."""
        total = total_of(aggregate.call)
        number = self._totals.setdefault(aggregate.call.name, len(self._totals))
        args = [self._argument(a) for a in aggregate.call.args]
        where = None if aggregate.call.where is None else self._argument(aggregate.call.where)
        codes = self._automaton.codes(aggregate.variables)
        current = not aggregate.variables or variable in aggregate.variables

        def value(env: Any) -> Any:
            place: SearchPlace = env
            states, base = place.totals[number], place.offset + place.start
            for at in range(len(states) - 1, len(place.path)):
                counts = place.path[at] in codes
                states.append(_added(total, states[-1], place.lists, args, where, base + at) if counts else states[-1])
            state = states[len(place.path)]
            if current:
                state = _added(total, state, place.lists, args, where, base + len(place.path))
            return total.answer(state)

        return value


@dataclass(frozen=True)
class _Columnar:
    """The part of a condition that is over rows near the current one.

    Attributes:
        condition: the condition.
        references: what it reads.
    """

    condition: Expr
    references: list[RowReference]

    def flags(
        self, arguments: Sequence[pl.Series], partitions: Int64s, numbers: Mapping[Expr, int]
    ) -> tuple[Flags, dict[int, str]]:
        """The byte of each row, and why rows fail that do."""
        shown = [moved(arguments[numbers[r.value]], r.shift, partitions).alias(r.name) for r in self.references]
        compiled = compile_kernel(self.condition)
        if not shown:  # a constant
            shown = [pl.Series("$none", np.zeros(partitions.size, np.bool_))]
        failures = [f.condition.alias(f"{i}") for i, f in enumerate(compiled.failures)]
        said = [f.said.alias(f"said{i}") for i, f in enumerate(compiled.failures) if f.said is not None]
        asked = [compiled.value.alias("value"), *failures, *said]
        found = computed_of(with_steps(frame_of(shown), compiled.steps, asked), asked)
        if found.height != partitions.size:
            found = found.select(pl.all().gather(pl.Series(np.zeros(partitions.size, np.uint32))))
        flags = found.get_column("value").fill_null(False).to_numpy().astype(np.uint8)
        reasons: dict[int, str] = {}
        for i, failure in reversed(list(enumerate(compiled.failures))):
            failed = np.flatnonzero(found.get_column(f"{i}").fill_null(False).to_numpy())
            flags[failed] = FAILS
            told = None if failure.said is None else found.get_column(f"said{i}")
            for row in failed.tolist():
                reasons[row] = failure.reason if told is None else str(told[row])
        return flags, reasons


def moved(values: pl.Series, shift: int, partitions: Int64s) -> pl.Series:
    """The values of rows so many places further on in the same partition; NULL where there is none."""
    if not shift:
        return values
    at = np.arange(partitions.size) + shift
    inside = np.clip(at, 0, max(0, partitions.size - 1))
    there = (at == inside) & (partitions[inside] == partitions)
    return values.gather(pl.Series(inside)).zip_with(
        pl.Series(there), pl.Series([None], dtype=values.dtype).new_from_index(0, partitions.size)
    )


def _conjuncts(condition: Expr) -> list[Expr]:
    if isinstance(condition, Call) and condition.function == "and":
        return [part for arg in condition.args for part in _conjuncts(arg)]
    return [condition]


def _all(parts: Sequence[Expr]) -> Expr:
    whole = parts[0]
    for part in parts[1:]:
        whole = Call("and", (whole, part), part.dtype)
    return whole


def _last(path: bytearray, codes: bytes, offset: int, current: bool) -> int | None:
    """The place of the last row that has one of the codes, so many of them passed over; the current one is behind the path."""
    if current:
        if not offset:
            return len(path)
        offset -= 1
    at = len(path)
    while True:
        at = path.rfind(codes, 0, at) if len(codes) == 1 else _before(path, codes, at)
        if at < 0:
            return None
        if not offset:
            return at
        offset -= 1


def _before(path: bytearray, codes: bytes, stop: int) -> int:
    return next((at for at in range(stop - 1, -1, -1) if path[at] in codes), -1)


def _next_place(path: bytearray, codes: bytes, at: int) -> int:
    return next((i for i in range(at + 1, len(path)) if path[i] in codes), -1)


def _first(path: bytearray, codes: bytes, offset: int, current: bool) -> int | None:
    at = -1
    while True:
        at = path.find(codes, at + 1) if len(codes) == 1 else _next_place(path, codes, at)
        if at < 0:
            return len(path) if current and not offset else None
        if not offset:
            return at
        offset -= 1


def _added(
    total: StepTotal, state: Any, lists: Mapping[int, list[Any]], args: Sequence[int], where: int | None, row: int
) -> Any:
    """The state of an aggregate with one row more."""
    if where is not None and not lists[where][row]:
        return state
    return total.add(state, lists[args[0]][row] if args else 1)


__all__ = ["FAILS", "NO", "UNKNOWN", "YES", "Conditions", "Flags", "SearchPlace", "moved"]
