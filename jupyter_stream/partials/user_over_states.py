"""What one partition of an OVER window keeps for one user-defined aggregate, by how it is run (ESL, §5 and figure 2).

Kept on, rows that leave taken back by EXPIRE; afresh over the rows of each window; by arrays, rows taken back by `subtract`; and
`SLIDE n` of what is ALGEBRAIC as tumbles, whose answers the aggregate is run over (example 15).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

import polars as pl

from jupyter_stream.aggregates.user.protocol import Program, UserCall
from jupyter_stream.aggregates.user.python import ArrayProgram
from jupyter_stream.aggregates.user.segments import Outcome, attempt
from jupyter_stream.aggregates.user.stepping import RowSteps, Step
from jupyter_stream.core.messages import Array
from jupyter_stream.functions.scalar import RowError
from jupyter_stream.partials.pane_rows import LOT
from jupyter_stream.windows import OverWindow

_ROW_BYTES = 120


class State(Protocol):
    """One aggregate over one partition."""

    @property
    def rows(self) -> int:
        """Rows later ones can look back on."""

    @property
    def bytes(self) -> int:
        """Bytes held, roughly."""

    def steps(self, steps: RowSteps) -> list[Outcome]:
        """Take rows, each after those before it have left: what each one's window gives."""

    def leave(self, tag: int) -> Outcome:
        """The oldest row leaves, for ACTIVE EXPIRATION."""


def state_of(call: UserCall, window: OverWindow) -> State:
    """What a call keeps in one partition."""
    program = call.program
    if call.how == "paned" and window.rows is not None:
        return Tumbles(call, window)
    if isinstance(program, ArrayProgram):
        return TakenBack(program) if program.subtracts and not window.on_expiry else Afresh(program)
    return KeptOn(program) if call.how in ("delta", "running") else Afresh(program)


class KeptOn:
    """A run that goes on."""

    def __init__(self, program: Program) -> None:
        self._expires = program.expires
        self._run = program.start()

    @property
    def rows(self) -> int:
        """Rows in the window."""
        return self._run.alive if self._expires else 0

    @property
    def bytes(self) -> int:
        """Bytes held, roughly."""
        return self._run.bytes

    def steps(self, steps: RowSteps) -> list[Outcome]:
        """Rows leave and come."""
        return self._run.steps(steps)

    def leave(self, tag: int) -> Outcome:
        """The oldest row leaves. Nothing is returned for one the body has deleted."""
        try:
            found = self._run.expire(tag + 1)
        except RowError as error:
            return None, str(error)
        return (found[-1] if found else []), None


class Afresh:
    """Rows of the window, run from the beginning."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._tags: list[int] = []
        self._rows: list[Sequence[Any]] = []

    @property
    def rows(self) -> int:
        """Rows in the window."""
        return len(self._rows)

    @property
    def bytes(self) -> int:
        """Bytes held, roughly."""
        return _ROW_BYTES * len(self._rows)

    def steps(self, steps: RowSteps) -> list[Outcome]:
        """Run over the window of each row that is asked for."""
        program, tags = self._program, self._tags
        known = len(tags)
        came = [(tag, row) for tag, row in zip(steps.tags, steps.rows, strict=True) if row is not None]
        tags += [tag for tag, _ in came]
        self._rows += [row for _, row in came]
        run = program.slices(_columns(self._rows, program), len(tags)) if self._rows else None
        out: list[Outcome] = []
        start, stop = 0, known
        for _, before, row, asked in steps:
            while before is not None and start < stop and tags[start] < before:
                start += 1
            stop += row is not None
            if not asked or (row is None and not program.blocking):
                out.append(([], None))
            elif start == stop or run is None:
                out.append((None, None))
            else:
                try:
                    out.append((run(start, stop), None))
                except RowError as error:
                    out.append((None, str(error)))
        del self._rows[:start], tags[:start]
        return out

    def leave(self, tag: int) -> Outcome:
        """The oldest row leaves: the answer over those that stay."""
        if not self._rows or self._tags[0] > tag:
            return [], None
        del self._rows[0], self._tags[0]
        return attempt(lambda: self._program.over(self._rows)) if self._rows else (None, None)


class TakenBack:
    """A partial result by arrays: each row's is merged when it comes, and subtracted when it leaves."""

    def __init__(self, program: ArrayProgram) -> None:
        self._program = program
        self._held: deque[tuple[int, Any]] = deque()  # tag, partial result of the row
        self._whole: Any = None

    @property
    def rows(self) -> int:
        """Rows in the window."""
        return len(self._held)

    @property
    def bytes(self) -> int:
        """Bytes held, roughly."""
        return _ROW_BYTES * (1 + len(self._held))

    def steps(self, steps: RowSteps) -> list[Outcome]:
        """Rows leave and come."""
        came = [row for row in steps.rows if row is not None]
        arrays = [c.to_numpy() for c in _columns(came, self._program)]
        out: list[Outcome] = []
        at = 0
        for step in steps:
            try:
                out.append(self._step(step, arrays, at))
            except RowError as error:
                out.append((None, str(error)))
            at += step[2] is not None
        return out

    def _step(self, step: Step, arrays: Sequence[Array], at: int) -> Outcome:
        program, held = self._program, self._held
        tag, before, row, asked = step
        while before is not None and held and held[0][0] < before:
            _, gone = held.popleft()
            self._whole = program.subtract(self._whole, gone) if held else None
        if row is not None:
            partial = program.partial([a[at : at + 1] for a in arrays])
            self._whole = program.merge(self._whole, partial) if held else partial
            held.append((tag, partial))
        if not asked:
            return [], None
        return (program.finish(self._whole) if held else None), None

    def leave(self, tag: int) -> Outcome:
        """Never: ACTIVE EXPIRATION runs afresh."""
        raise TypeError("rows leave when others come")


@dataclass
class _Tumble:
    """Rows of one tumble.

    Attributes:
        end: the place of its last row.
        answer: what they gave; for arrays a partial result, for rows the rows the aggregate is run over again.
        reason: why they gave nothing.
    """

    end: int
    answer: Any
    reason: str | None = None


class _Open(Protocol):
    """The rows so far of a tumble that is under way."""

    @property
    def rows(self) -> int:
        """Rows held."""

    @property
    def bytes(self) -> int:
        """Bytes held, roughly."""

    def take(self, rows: Sequence[Sequence[Any]]) -> None:
        """More of them, in order."""

    def answer(self) -> tuple[Any, str | None]:
        """What they gave, or why nothing."""


class _OpenByRows:
    """A run that goes on."""

    def __init__(self, program: Program) -> None:
        self._blocking = program.blocking
        self._keeps_rows = program.expires
        self._run = program.start()
        self._last: Outcome = [], None
        self._wrong: str | None = None

    @property
    def rows(self) -> int:
        return self._run.alive if self._keeps_rows else 0

    @property
    def bytes(self) -> int:
        return self._run.bytes

    def take(self, rows: Sequence[Sequence[Any]]) -> None:
        count = len(rows)
        outcomes = self._run.steps(RowSteps([0] * count, [None] * count, rows, [False] * count))
        self._last = outcomes[-1]
        self._wrong = self._wrong or next((reason for _, reason in outcomes if reason is not None), None)

    def answer(self) -> tuple[Any, str | None]:
        if self._wrong is not None:
            return None, self._wrong
        return attempt(self._run.answer) if self._blocking else self._last


class _OpenByArrays:
    """Rows that wait for others, and a partial result of those before them."""

    def __init__(self, program: ArrayProgram) -> None:
        self._program = program
        self._rows: list[Sequence[Any]] = []
        self._whole: tuple[Any] | None = None
        self._wrong: str | None = None

    @property
    def rows(self) -> int:
        return len(self._rows)

    @property
    def bytes(self) -> int:
        return _ROW_BYTES * (1 + len(self._rows))

    def take(self, rows: Sequence[Sequence[Any]]) -> None:
        self._rows += rows
        while len(self._rows) >= LOT:
            self._fold(LOT)

    def _fold(self, count: int) -> None:
        some, self._rows = self._rows[:count], self._rows[count:]
        try:
            made = self._program.partial([c.to_numpy() for c in _columns(some, self._program)])
            self._whole = (made if self._whole is None else self._program.merge(self._whole[0], made),)
        except RowError as error:
            self._wrong = self._wrong or str(error)

    def answer(self) -> tuple[Any, str | None]:
        if self._rows:
            self._fold(len(self._rows))
        return (None, self._wrong) if self._wrong is not None or self._whole is None else (self._whole[0], None)


class Tumbles:
    """`ROWS n PRECEDING SLIDE m` as tumbles of gcd(n + 1, m) rows, over whose answers the aggregate is run again.

    Args:
        call: paned: with what is run over the answers.
        window: how many rows, and how far apart the answers are.
    """

    def __init__(self, call: UserCall, window: OverWindow) -> None:
        assert window.rows is not None
        self._program = call.program
        self._combine = call.combine
        self._length, self._every = window.rows + 1, window.every
        self._size = window.tumble
        self._open: _Open | None = None
        self._place = 0
        self._closed: deque[_Tumble] = deque()

    @property
    def rows(self) -> int:
        """Rows the open tumble holds, and answers of the others."""
        return (0 if self._open is None else self._open.rows) + len(self._closed)

    @property
    def bytes(self) -> int:
        """Bytes held, roughly."""
        return _ROW_BYTES * len(self._closed) + (0 if self._open is None else self._open.bytes)

    def steps(self, steps: RowSteps) -> list[Outcome]:
        """Rows come."""
        size = self._size
        out: list[Outcome] = []
        rows = iter(steps.rows)
        left = len(steps)
        while left:
            some = min(left, size - self._place % size)
            if came := [row for row in islice(rows, some) if row is not None]:
                self._take(came)
            self._place += some
            left -= some
            out += [([], None)] * (some - 1)
            if self._place % size == 0:
                self._close()
            out.append(self._answer() if self._place % self._every == 0 else ([], None))
        return out

    def _take(self, rows: list[Sequence[Any]]) -> None:
        if self._open is None:
            program = self._program
            self._open = _OpenByArrays(program) if isinstance(program, ArrayProgram) else _OpenByRows(program)
        self._open.take(rows)

    def _close(self) -> None:
        """The open tumble has all its rows. One that no window holds is left out."""
        into = (self._place - 1) % self._every + 1  # its last row's place in its slot
        if self._open is not None and into > self._every - self._length:
            answer, reason = self._open.answer()
            if self._combine is not None and reason is None:
                several = len(self._combine.arguments)
                answer = [_arguments(v, several) for v in answer]
            self._closed.append(_Tumble(self._place, answer, reason))
        self._open = None

    def _answer(self) -> Outcome:
        """Over the tumbles of the last n + 1 rows."""
        closed = self._closed
        while closed and closed[0].end <= self._place - self._length:
            closed.popleft()
        wrong = next((t.reason for t in closed if t.reason is not None), None)
        if wrong is not None:
            return None, wrong
        if isinstance(self._program, ArrayProgram):
            return self._merged(self._program)
        assert self._combine is not None
        combine, rows = self._combine, [row for t in closed for row in t.answer]
        return attempt(lambda: combine.over(rows)) if rows else (None, None)

    def _merged(self, program: ArrayProgram) -> Outcome:
        if not self._closed:
            return None, None

        def run() -> list[Any]:
            whole = self._closed[0].answer
            for other in islice(self._closed, 1, None):
                whole = program.merge(whole, other.answer)
            return program.finish(whole)

        return attempt(run)

    def leave(self, tag: int) -> Outcome:
        """Never: ACTIVE EXPIRATION has no SLIDE."""
        raise TypeError("tumbles don't fire when rows leave")


def _columns(rows: Sequence[Sequence[Any]], program: Program) -> list[pl.Series]:
    """Rows as columns; none of no rows."""
    if not rows:
        return []
    return [pl.Series(c, dtype=t) for c, t in zip(zip(*rows, strict=True), program.arguments, strict=True)]


def _arguments(value: Any, count: int) -> tuple[Any, ...]:
    """A returned value as arguments."""
    if count == 1:
        return (value,)
    return tuple(value.values()) if value is not None else (None,) * count


__all__ = ["Afresh", "KeptOn", "State", "TakenBack", "Tumbles", "state_of"]
