"""The rows of OVER windows for user-defined aggregates, which take them one by one: in the order of times, ties by arrival.

The same verbs as `OverRows`: take rows in any order, release those before a time. A window version goes on from row to row, those
that leave expiring first (ESL, §5.4); a base version is run afresh over the rows of each window, or goes on where none leaves.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.aggregates.user import UserCall
from jupyter_stream.aggregates.user.answers import returned
from jupyter_stream.aggregates.user.rows import ERROR, VALUES
from jupyter_stream.aggregates.user.segments import Outcome
from jupyter_stream.aggregates.user.stepping import RowSteps
from jupyter_stream.arrays.order import order_of
from jupyter_stream.arrays.rows import bytes_of, shown, together
from jupyter_stream.arrays.runs import run_starts
from jupyter_stream.core.axis import plus
from jupyter_stream.core.messages import TS, Int64s, ints
from jupyter_stream.core.stint import SECONDS
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.partials.over_folds import OverAnswers
from jupyter_stream.partials.released import Released
from jupyter_stream.partials.user_over_states import state_of
from jupyter_stream.partials.waiting_rows import NUMBER, SLOT, WaitingRows
from jupyter_stream.windows import OverWindow

MOST_AT_ONCE = 65_536


class _PartitionStates:
    """What one partition keeps."""

    def __init__(self, calls: Sequence[UserCall], window: OverWindow) -> None:
        self.states = [state_of(call, window) for call in calls]
        self.count = 0
        self.newest = 0
        self.leaving: deque[tuple[int, int, int]] = (
            deque()
        )  # ACTIVE EXPIRATION: (time, place, id) of rows in the window


class UserOverRows(WaitingRows):
    """Rows of one OVER window.

    Args:
        window: which rows each looks back on.
        aggregates: arguments and FILTER of the calls, by index of the inputs.
        calls: what is run.
    """

    def __init__(self, window: OverWindow, aggregates: Sequence[GroupAggregate], calls: Sequence[UserCall]) -> None:
        super().__init__(window)
        self._specs = tuple(aggregates)
        self._calls = tuple(calls)
        self._partitions: dict[int, _PartitionStates] = {}
        self._pool: pl.DataFrame | None = None  # ACTIVE EXPIRATION: rows that have not left
        self._ids = np.empty(0, np.int64)
        self._next_id = 0
        self._at_once = 4  # rows taken at a time: more where they turn out to be fast
        self._under_way = 0  # bytes of rows that are due and have not been given
        self._heap: list[tuple[int, int]] = []  # (time the oldest row leaves, partition)

    @property
    def kept(self) -> int:
        """Rows later ones can look back on, the most of any aggregate's."""
        return sum(max((s.rows for s in p.states), default=0) for p in self._partitions.values())

    @property
    def oldest(self) -> int:
        """The earliest time of rows that wait; what states go by nobody knows."""
        return self.first_waiting

    @property
    def bytes(self) -> int:
        """Bytes held, those of runs roughly."""
        frames = self._waiting if self._pool is None else [*self._waiting, self._pool]
        held = sum(s.bytes for p in self._partitions.values() for s in p.states)
        return held + bytes_of(frames) + self._under_way

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

    def pieces(self, until: int) -> Iterator[Released]:
        """Rows before a time, with their answers, as many at a time as take some milliseconds."""
        due = self.due(until)
        if due is not None:
            order = order_of(ints(due.get_column(TS)), ints(due.get_column(NUMBER)))
            due = due[pl.Series(order)]
        if self._window.on_expiry:
            released = self._release_leaving(due, until)
            if released is not None:
                yield released
            return
        if due is not None:
            yield from self._release_coming(due)
        self._prune(until)

    def _release_coming(self, due: pl.DataFrame) -> Iterator[Released]:
        """As many rows at a time as take some milliseconds."""
        slots, times = ints(due.get_column(SLOT)), ints(due.get_column(TS))
        rows = self._arguments(due)
        start = 0
        while start < due.height:
            begun = perf_counter()
            piece = slice(start, min(due.height, start + self._at_once))
            start = piece.stop
            positions, outcomes = self._taken(slots[piece], times[piece], [own[piece] for own in rows])
            taken = perf_counter() - begun
            if taken > 4 * SECONDS:  # not a busy machine alone
                self._at_once = max(1, int(self._at_once * SECONDS / taken))
            elif taken < SECONDS / 4:
                self._at_once = min(MOST_AT_ONCE, 4 * self._at_once)
            self._under_way = int(due.estimated_size() * (due.height - start) / due.height)
            yield Released(self.shown(due[piece]), slots[piece], positions, self._answers(outcomes))

    def _taken(
        self, slots: Int64s, times: Int64s, rows: list[list[tuple[Any, ...] | None]]
    ) -> tuple[Int64s, list[list[Outcome]]]:
        """Take rows, partition by partition: their places, and what each made each aggregate return."""
        window = self._window
        outcomes: list[list[Outcome]] = [[([], None)] * slots.size for _ in self._calls]
        positions = np.empty(slots.size, np.int64)
        order = order_of(slots)
        heads = run_starts(slots[order]).tolist()
        for start, stop in zip(heads, [*heads[1:], slots.size], strict=True):
            which = order[start:stop]
            partition = self._partition(int(slots[which[0]]))
            own = times[which]
            places = np.arange(partition.count + 1, partition.count + 1 + which.size)
            partition.count, partition.newest = partition.count + which.size, int(own[-1])
            positions[which] = places
            tags: list[int] = own.tolist()
            befores: Sequence[int | None] = [None] * which.size
            if window.rows is not None:
                tags, befores = places.tolist(), (places - window.rows).tolist()
            elif window.range is not None:
                befores = plus(own, -window.range).tolist()
            asked = (places % window.every == 0).tolist()
            at = which.tolist()
            for made, state, given in zip(outcomes, partition.states, rows, strict=True):
                found = state.steps(RowSteps(tags, befores, [given[i] for i in at], asked))
                for i, outcome in zip(at, found, strict=True):
                    made[i] = outcome
        return positions, outcomes

    def _release_leaving(self, due: pl.DataFrame | None, until: int) -> Released | None:
        """Rows that leave the window before a time, with what that returned."""
        length = self._window.range
        assert length is not None
        fired: list[tuple[int, int, int]] = []  # (when, id, partition)
        outcomes: list[list[Outcome]] = [[] for _ in self._calls]

        def leave(slot: int, before: int | None) -> None:
            partition = self._partitions[slot]
            while partition.leaving and (before is None or plus(partition.leaving[0][0], length) < before):
                time, place, number = partition.leaving.popleft()
                fired.append((plus(time, length), number, slot))
                for made, state in zip(outcomes, partition.states, strict=True):
                    made.append(state.leave(place))

        if due is not None:
            rows = self._arguments(due)
            ids = np.arange(self._next_id, self._next_id + due.height)
            self._next_id += due.height
            self._ids = np.concatenate([self._ids, ids])
            self._pool = due if self._pool is None else together([self._pool, due])
            slots, times = ints(due.get_column(SLOT)).tolist(), ints(due.get_column(TS)).tolist()
            for i, (slot, time) in enumerate(zip(slots, times, strict=True)):
                partition = self._partition(slot)
                leave(slot, time)  # rows of this same instant leave after it
                partition.count += 1
                partition.newest = time
                for state, own in zip(partition.states, rows, strict=True):
                    state.steps(RowSteps([partition.count], [None], [own[i]], [False]))
                if not partition.leaving:
                    heapq.heappush(self._heap, (plus(time, length), slot))
                partition.leaving.append((time, partition.count, int(ids[i])))
        while self._heap and (until == MAX_TIME or self._heap[0][0] < until):
            _, slot = heapq.heappop(self._heap)
            if slot in self._partitions:
                leave(slot, None if until == MAX_TIME else until)
                if left := self._partitions[slot].leaving:
                    heapq.heappush(self._heap, (plus(left[0][0], length), slot))
                else:
                    del self._partitions[slot]
        if not fired:
            return None
        return self._fired(fired, outcomes)

    def _fired(self, fired: list[tuple[int, int, int]], outcomes: list[list[Outcome]]) -> Released:
        assert self._pool is not None
        order = sorted(range(len(fired)), key=lambda i: fired[i][:2])
        outcomes = [[made[i] for i in order] for made in outcomes]
        when = np.array([fired[i][0] for i in order], np.int64)
        ids = np.array([fired[i][1] for i in order], np.int64)
        slots = np.array([fired[i][2] for i in order], np.int64)
        at = np.searchsorted(self._ids, ids)
        gone = self.shown(self._pool[pl.Series(at)]).with_columns(pl.Series(TS, when))
        stays = np.ones(self._ids.size, np.bool_)
        stays[at] = False
        self._pool, self._ids = self._pool.filter(pl.Series(stays)), self._ids[stays]
        return Released(gone, slots, None, self._answers(outcomes))

    def _partition(self, slot: int) -> _PartitionStates:
        found = self._partitions.get(slot)
        if found is None:
            found = self._partitions[slot] = _PartitionStates(self._calls, self._window)
        return found

    def _prune(self, until: int) -> None:
        """Forget what no row to come can look back on."""
        if until == MAX_TIME:
            self._partitions.clear()
        elif self._window.range is not None and self._window.every == 1:
            old = plus(until, -self._window.range)
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

    def _answers(self, outcomes: Sequence[Sequence[Outcome]]) -> list[OverAnswers]:
        made = []
        for call, own in zip(self._calls, outcomes, strict=True):
            values, wrong = returned([v for v, _ in own], call.dtype)
            errors = [e or w for (_, e), w in zip(own, wrong, strict=True)]
            columns = [values.alias(VALUES), pl.Series(ERROR, errors, dtype=pl.String())]
            made.append(OverAnswers(pl.DataFrame(columns).to_struct(call.column), None))
        return made


__all__ = ["UserOverRows"]
