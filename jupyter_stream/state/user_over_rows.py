"""The rows of OVER windows for user-defined aggregates, which take them one by one: in the order of times, ties by arrival.

The same verbs as `OverRows`: take rows in any order, release those before a time. A window version goes on from row to row, those
that leave expiring first (ESL, §5.4); a base version is run afresh over the rows of each window, or goes on where none leaves.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.aggregates.user import UserCall
from jupyter_stream.aggregates.user.answers import attempt, returned
from jupyter_stream.aggregates.user.rows import ERROR, VALUES
from jupyter_stream.core.messages import TS, ints
from jupyter_stream.core.order import order_of
from jupyter_stream.core.rows import shown
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.functions.scalar import RowError
from jupyter_stream.state.group_aggregate import GroupAggregate
from jupyter_stream.state.over_folds import Answers
from jupyter_stream.state.over_rows import NUMBER, SLOT, OverRows, Released
from jupyter_stream.windows import OverWindow

_ROW_BYTES = 120
_Outcome = tuple[list[Any] | None, str | None]
"""What was returned (None: the aggregate has no rows), or why nothing was."""


class _KeptOn:
    """A run that goes on."""

    def __init__(self, call: UserCall) -> None:
        self._program = call.program
        self._run = call.program.start()

    @property
    def rows(self) -> int:
        return self._run.alive if self._program.expires else 0

    @property
    def bytes(self) -> int:
        return self._run.bytes

    def step(self, tag: int, before: int | None, row: tuple[Any, ...] | None, asked: bool) -> _Outcome:
        """Take a row (None: FILTER leaves it out) after those before `before` have left."""
        try:
            if before is not None:
                self._run.expire(before)
            last = self._run.take(tag, row) if row is not None else []
            if not self._program.blocking:
                return last, None
            if not asked:
                return [], None
            return (self._run.answer() if self._run.alive else None), None
        except RowError as error:
            return None, str(error)

    def leave(self, tag: int) -> _Outcome:
        """The oldest row leaves. Nothing is returned for one the body has deleted."""
        try:
            found = self._run.expire(tag + 1)
        except RowError as error:
            return None, str(error)
        return (found[-1] if found else []), None


class _Afresh:
    """Rows of the window, run from the beginning."""

    def __init__(self, call: UserCall) -> None:
        self._program = call.program
        self._held: deque[tuple[int, tuple[Any, ...]]] = deque()

    @property
    def rows(self) -> int:
        return len(self._held)

    @property
    def bytes(self) -> int:
        return _ROW_BYTES * len(self._held)

    def step(self, tag: int, before: int | None, row: tuple[Any, ...] | None, asked: bool) -> _Outcome:
        """Take a row (None: FILTER leaves it out) after those before `before` have left."""
        held = self._held
        while before is not None and held and held[0][0] < before:
            held.popleft()
        if row is not None:
            held.append((tag, row))
        if not asked or (row is None and not self._program.blocking):
            return [], None
        return self._over()

    def leave(self, tag: int) -> _Outcome:
        """The oldest row leaves: the answer over those that stay."""
        if not self._held or self._held[0][0] > tag:
            return [], None
        self._held.popleft()
        return self._over()

    def _over(self) -> _Outcome:
        rows = [row for _, row in self._held]
        return attempt(lambda: self._program.over(rows)) if rows else (None, None)


class _Partition:
    """What one partition keeps."""

    def __init__(self, calls: Sequence[UserCall]) -> None:
        self.states = [_KeptOn(c) if c.how in ("delta", "running") else _Afresh(c) for c in calls]
        self.count = 0
        self.newest = 0
        self.leaving: deque[tuple[int, int, int]] = (
            deque()
        )  # ACTIVE EXPIRATION: (time, place, id) of rows in the window


class UserOverRows(OverRows):
    """Rows of one OVER window.

    Args:
        window: which rows each looks back on.
        aggregates: arguments and FILTER of the calls, by index of the inputs.
        calls: what is run.
    """

    def __init__(self, window: OverWindow, aggregates: Sequence[GroupAggregate], calls: Sequence[UserCall]) -> None:
        super().__init__(window, ())
        self._specs = tuple(aggregates)
        self._calls = tuple(calls)
        self._partitions: dict[int, _Partition] = {}
        self._pool: pl.DataFrame | None = None  # ACTIVE EXPIRATION: rows that have not left
        self._ids = np.empty(0, np.int64)
        self._next_id = 0
        self._heap: list[tuple[int, int]] = []  # (time the oldest row leaves, partition)

    @property
    def kept(self) -> int:
        """Rows later ones can look back on, the most of any aggregate's."""
        return sum(max((s.rows for s in p.states), default=0) for p in self._partitions.values())

    @property
    def bytes(self) -> int:
        """Bytes held, those of runs roughly."""
        frames = self._waiting if self._pool is None else [*self._waiting, self._pool]
        held = sum(s.bytes for p in self._partitions.values() for s in p.states)
        return held + sum(int(f.estimated_size()) for f in frames)

    def head(self, most: int) -> pl.DataFrame:
        """The first of the rows held."""
        return shown(self._waiting if self._pool is None else [self._pool, *self._waiting], most)

    def live(self, capacity: int) -> NDArray[np.bool_] | None:
        """Which partitions have rows; None where every partition seen is remembered for ever."""
        if self._window.range is None or self._window.every > 1:
            return None
        live = np.zeros(capacity, np.bool_)
        live[list(self._partitions)] = True
        for frame in self._waiting:
            live[ints(frame.get_column(SLOT))] = True
        return live

    def release(self, until: int) -> Released | None:
        """Rows before a time, with their answers; no rows before it may come any more."""
        due = self._due(until)
        if due is not None:
            order = order_of(ints(due.get_column(TS)), ints(due.get_column(NUMBER)))
            due = due[pl.Series(order)]
        if self._window.on_expiry:
            return self._release_leaving(due, until)
        released = None if due is None else self._release_coming(due)
        self._prune(until)
        return released

    def _release_coming(self, due: pl.DataFrame) -> Released:
        window = self._window
        slots = ints(due.get_column(SLOT))
        rows = self._arguments(due)
        outcomes: list[list[_Outcome]] = [[] for _ in self._calls]
        positions: list[int] = []
        for i, (slot, time) in enumerate(zip(slots.tolist(), ints(due.get_column(TS)).tolist(), strict=True)):
            partition = self._partition(slot)
            partition.count += 1
            partition.newest = time
            place = partition.count
            positions.append(place)
            tag, before = time, None
            if window.rows is not None:
                tag, before = place, place - window.rows
            elif window.range is not None:
                before = time - window.range
            asked = place % window.every == 0
            for made, state, own in zip(outcomes, partition.states, rows, strict=True):
                made.append(state.step(tag, before, own[i], asked))
        return Released(self._shown(due), slots, np.array(positions, np.int64), self._answers(outcomes))

    def _release_leaving(self, due: pl.DataFrame | None, until: int) -> Released | None:
        """Rows that leave the window before a time, with what that returned."""
        length = self._window.range
        assert length is not None
        fired: list[tuple[int, int, int]] = []  # (when, id, partition)
        outcomes: list[list[_Outcome]] = [[] for _ in self._calls]

        def leave(slot: int, before: int | None) -> None:
            partition = self._partitions[slot]
            while partition.leaving and (before is None or partition.leaving[0][0] + length < before):
                time, place, number = partition.leaving.popleft()
                fired.append((time + length, number, slot))
                for made, state in zip(outcomes, partition.states, strict=True):
                    made.append(state.leave(place))

        if due is not None:
            rows = self._arguments(due)
            ids = np.arange(self._next_id, self._next_id + due.height)
            self._next_id += due.height
            self._ids = np.concatenate([self._ids, ids])
            self._pool = due if self._pool is None else pl.concat([self._pool, due])
            slots, times = ints(due.get_column(SLOT)).tolist(), ints(due.get_column(TS)).tolist()
            for i, (slot, time) in enumerate(zip(slots, times, strict=True)):
                partition = self._partition(slot)
                leave(slot, time)  # rows of this same instant leave after it
                partition.count += 1
                partition.newest = time
                for state, own in zip(partition.states, rows, strict=True):
                    state.step(partition.count, None, own[i], False)
                if not partition.leaving:
                    heapq.heappush(self._heap, (time + length, slot))
                partition.leaving.append((time, partition.count, int(ids[i])))
        while self._heap and (until == MAX_TIME or self._heap[0][0] < until):
            _, slot = heapq.heappop(self._heap)
            if slot in self._partitions:
                leave(slot, None if until == MAX_TIME else until)
                if left := self._partitions[slot].leaving:
                    heapq.heappush(self._heap, (left[0][0] + length, slot))
                else:
                    del self._partitions[slot]
        if not fired:
            return None
        return self._fired(fired, outcomes)

    def _fired(self, fired: list[tuple[int, int, int]], outcomes: list[list[_Outcome]]) -> Released:
        assert self._pool is not None
        order = sorted(range(len(fired)), key=lambda i: fired[i][:2])
        outcomes = [[made[i] for i in order] for made in outcomes]
        when = np.array([fired[i][0] for i in order], np.int64)
        ids = np.array([fired[i][1] for i in order], np.int64)
        slots = np.array([fired[i][2] for i in order], np.int64)
        at = np.searchsorted(self._ids, ids)
        gone = self._shown(self._pool[pl.Series(at)]).with_columns(pl.Series(TS, when))
        stays = np.ones(self._ids.size, np.bool_)
        stays[at] = False
        self._pool, self._ids = self._pool.filter(pl.Series(stays)), self._ids[stays]
        return Released(gone, slots, None, self._answers(outcomes))

    def _partition(self, slot: int) -> _Partition:
        found = self._partitions.get(slot)
        if found is None:
            found = self._partitions[slot] = _Partition(self._calls)
        return found

    def _prune(self, until: int) -> None:
        """Forget what no row to come can look back on."""
        if until == MAX_TIME:
            self._partitions.clear()
        elif self._window.range is not None and self._window.every == 1:
            old = until - self._window.range
            for slot in [s for s, p in self._partitions.items() if p.newest < old]:
                del self._partitions[slot]

    def _arguments(self, due: pl.DataFrame) -> list[list[tuple[Any, ...] | None]]:
        """For each call the arguments of each row; None where FILTER leaves it out."""
        found: list[list[tuple[Any, ...] | None]] = []
        for spec in self._specs:
            columns = [due.get_column(f"${i}").to_list() for i in spec.inputs[1:]]  # the first is the number
            rows: list[tuple[Any, ...] | None] = list(zip(*columns, strict=True)) if columns else [()] * due.height
            if spec.where is not None:
                chosen = due.get_column(f"${spec.where}").to_list()
                rows = [r if c else None for r, c in zip(rows, chosen, strict=True)]
            found.append(rows)
        return found

    def _shown(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.drop(SLOT, NUMBER, *(f"${i}" for i in range(self._inputs)))

    def _answers(self, outcomes: Sequence[Sequence[_Outcome]]) -> list[Answers]:
        made = []
        for call, own in zip(self._calls, outcomes, strict=True):
            values, wrong = returned([v for v, _ in own], call.dtype)
            errors = [e or w for (_, e), w in zip(own, wrong, strict=True)]
            columns = [values.alias(VALUES), pl.Series(ERROR, errors, dtype=pl.String())]
            made.append(Answers(pl.DataFrame(columns).to_struct(call.column), None))
        return made


__all__ = ["UserOverRows"]
