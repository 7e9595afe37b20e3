"""`python://name`: a generator, async generator, callable or list in the notebook.

A thread of its own pulls items; a read takes whatever has come in since it last asked. So single rows have a latency below a
millisecond, a flood makes large batches, and a generator that is faster than the query is held back. Without a read nothing is
pulled.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import weakref
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from jupyter_stream.core import threads
from jupyter_stream.core.schema import Schema
from jupyter_stream.errors import SourceError, StreamError
from jupyter_stream.sources.casting import TICKS
from jupyter_stream.sources.conform import check_castable, conform, match_names
from jupyter_stream.sources.late_fields import of_read
from jupyter_stream.sources.options import choice, did_you_mean
from jupyter_stream.sources.protocol import (
    BATCH_ROWS,
    PEEKED_ROWS,
    Chunk,
    Context,
    Request,
    Source,
    SourceConnector,
    wanted,
)
from jupyter_stream.sources.tabular import declared, is_frame, raw_schema, slices
from jupyter_stream.sources.values import infer, rows_to_chunk

_ROOM = 2 * BATCH_ROWS
"""Items held at most before the generator is made to wait."""
_ROOM_FRAMES = 4
"""The same when the items are frames."""
_LOOK = 0.1
"""Seconds between looks at `stop` while waiting."""
_HOLD = 0.002
"""Seconds an async generator is made to wait at a time."""


class PythonSource:
    """The items of a variable, in the order they come.

    A list, another re-iterable or a callable is replayable: each read iterates anew. A bare iterator or generator is live: it
    runs once, and a later read goes on where an earlier one stopped (or takes up the variable's new generator).

    Raises:
        SourceError: when it is made: no such variable, nothing to iterate, or columns that neither the statement nor the
            first items tell.
    """

    units: Mapping[str, str]

    def __init__(self, context: Context) -> None:
        self._uri = context.uri
        self._name = context.path
        self._namespace = context.namespace
        unit = choice(context.options, "timestamp_unit", TICKS, "us")
        self._tick = TICKS[unit] if "timestamp_unit" in context.options else None
        value = self._value()
        self.replayable = not isinstance(value, Iterator | AsyncIterator)
        self.schema: Schema = context.schema or self._inferred(value)
        self._is_found = context.schema is None
        self.units = {}
        self._live: _Pull | None = None
        self._lock = threading.Lock()

    def read(self, request: Request) -> Iterator[Chunk]:
        """Whatever has come in, at most `BATCH_ROWS` items at a time; ends with the generator.

        Raises:
            SourceError: what the generator raised.
        """
        pull, queue = self._started()
        try:
            while not request.stop.is_set():
                items = pull.take(request.stop, queue)
                if items is None:
                    return
                yield from self._chunks(items, request)
        finally:
            pull.leave(queue)

    def peek(self) -> pl.DataFrame:
        """The first items of a list; nothing else is run to be looked at."""
        value = self._value()
        items = list(value[:PEEKED_ROWS]) if isinstance(value, list | tuple) else []
        return next(self._chunks(items, Request()), Chunk(self.schema.empty())).frame

    def _started(self) -> tuple[_Pull, deque[object]]:
        """A new pull, or the one there is already where the generator is live and still the same; and what comes for one read."""
        value = self._value()
        with self._lock:
            pull = self._live
            if pull is None or pull.value is not value:
                if pull is not None:
                    pull.retire()
                pull = _Pull(value, self._uri, lasting=not self.replayable)
                if not self.replayable:
                    self._live = pull
                    weakref.finalize(self, pull.retire).atexit = False
            return pull, pull.join()

    def _chunks(self, items: list[object], request: Request) -> Iterator[Chunk]:
        fields = wanted(self.schema, request)
        if self._is_found:
            of_read(request.remarks, self.schema).look_at(items)
        rows: list[object] = []
        for item in items:
            if type(item) in _ROWS or not is_frame(item):
                rows.append(item)
                continue
            if rows:
                yield rows_to_chunk(rows, self.schema, fields, self._tick)
                rows = []
            raw = raw_schema(item, self._uri)
            names = match_names(fields, raw.names, f"A frame from {self._uri}")
            check_castable(fields, raw, names, self._tick, f"a frame from {self._uri}")
            back = {name: field for field, name in names.items() if name != field}
            for piece in slices(item, [names[f.name] for f in fields]):
                yield conform(piece.rename(back), fields, self._tick)
        if rows:
            yield rows_to_chunk(rows, self.schema, fields, self._tick)

    def _value(self) -> Any:
        if self._name not in self._namespace:
            names = [n for n, v in self._namespace.items() if not n.startswith("_") and _iterates(v)]
            exist = "Define it in a cell first: a generator, a list or a function."
            raise SourceError(f"There is no variable '{self._name}'.", hint=did_you_mean(self._name, names, exist))
        value = self._namespace[self._name]
        if not _iterates(value):
            raise SourceError(
                f"The variable '{self._name}' is a {type(value).__name__}, which can't be iterated.",
                hint="Use a generator, an async generator, a list, or a function that returns one of these.",
            )
        return value

    def _inferred(self, value: Any) -> Schema:
        found: Schema | None = None
        if is_frame(value):
            found = declared(raw_schema(value, self._uri))
        elif isinstance(value, list | tuple) and value:
            found = declared(raw_schema(value[0], self._uri)) if is_frame(value[0]) else infer(value)
        if found is None:
            raise SourceError(
                f"The columns of {self._uri} are not known before it runs.",
                hint=f"Declare them: CREATE STREAM name (price DOUBLE, ts TIMESTAMP) ORDER BY ts SOURCE '{self._uri}'.",
            )
        return found


class _Pull:
    """A thread that takes items out of an iterable and holds them until a read asks.

    Reads of a replayable source have one each, which ends with them. Those of a live one share it: each gets all that comes
    while it reads; while there are none nothing is pulled, and the next goes on with the next item.

    Args:
        value: what is iterated.
        uri: what it is called.
        lasting: whether more reads may come when there are none, until `retire`.
    """

    def __init__(self, value: Any, uri: str, lasting: bool) -> None:
        self.value = value
        self._uri = uri
        self._lasting = lasting
        # one for each read; without any, one that waits for the next
        self._queues: tuple[deque[object], ...] = (deque(),)
        self._lock = threading.RLock()  # taken itself: entering a condition, an interrupt could leave it held
        self._changed = threading.Condition(self._lock)
        self._reads = 0
        self._pulls = False  # whether there is a thread
        self._reader_waits = False
        self._ended = False
        self._error: BaseException | None = None
        self._cancel_async: Callable[[], object] | None = None
        self._wake_async: Callable[[], object] | None = None
        threads.on_fork(self._forked)

    def join(self) -> deque[object]:
        """A read begins: pull, if nobody did. Gives the place where its items come."""
        with self._lock:
            self._reads += 1
            if self._reads > 1:
                self._queues = (*self._queues, deque())
            queue = self._queues[-1]
            if self._wake_async is not None:
                self._wake_async()
            if self._pulls or self._ended:
                return queue
            self._pulls = True
        threads.begin(self._uri, self._run, self._died)
        return queue

    def leave(self, queue: deque[object]) -> None:
        """A read ends. A generator that is waiting for something when the last one does goes on waiting until that comes."""
        with self._lock:
            self._reads -= 1
            if self._reads:
                self._queues = tuple(q for q in self._queues if q is not queue)
                self._changed.notify_all()
            self._look()

    def retire(self) -> None:
        """No read begins any more."""
        with self._lock:
            self._lasting = False
            self._look()

    def _look(self) -> None:
        """Whether anybody wants more, or may yet."""
        if self._reads:
            return
        self._changed.notify_all()
        if self._cancel_async is not None and not self._lasting:
            self._cancel_async()

    def _forked(self) -> None:
        """This is a process forked from the one that reads it, and it has no thread here."""
        self._lock = threading.RLock()  # taken itself: entering a condition, an interrupt could leave it held
        self._changed = threading.Condition(self._lock)
        if not self._ended:
            self._error = SourceError(f"{self._uri} is read by the process from which this one was forked.")
            self._queues = (deque(),)
            self._ended = True

    def _died(self, error: BaseException | None) -> None:
        """Its thread ended in the middle of its work."""
        self._error = self._error or error or RuntimeError("its thread ended")
        self._ended = True

    def take(self, stop: threading.Event, items: deque[object]) -> list[object] | None:
        """What has come in for a read, in order; None at the end or when told to stop.

        Raises:
            SourceError: once everything that came before it is taken, what the generator raised.
        """
        with self._lock:
            self._reader_waits = True
            while not items and not self._ended:
                if stop.is_set():
                    self._reader_waits = False
                    return None
                self._changed.wait(_LOOK)
            self._reader_waits = False
            taken = [items.popleft() for _ in range(min(len(items), BATCH_ROWS))]
            self._changed.notify_all()
        if taken:
            return taken
        if self._error is None:
            return None
        if isinstance(self._error, StreamError):
            raise self._error
        told = f"{self._uri} raised {type(self._error).__name__}: {self._error}"
        raise SourceError(told.rstrip(": ")) from self._error

    def _run(self) -> None:
        rests = False
        try:
            value = self.value() if _is_function(self.value) else self.value
            if isinstance(value, AsyncIterable) or inspect.isawaitable(value):
                asyncio.run(self._drive(value))
            else:
                rests = self._drain(value)
        except BaseException as error:  # whatever a user's code raises ends the stream, and must be told
            self._error = error
        finally:
            if not rests:
                with self._lock:
                    self._ended = True
                    self._changed.notify_all()

    def _drain(self, items: Any) -> bool:
        """Pull; whether a later read is to go on with it."""
        if is_frame(items):
            self._put(items)
            return False
        if not isinstance(items, Iterable) or isinstance(items, str | bytes | Mapping):
            told = f"{self._uri} returned a {type(items).__name__}, which can't be iterated."
            raise SourceError(told, hint="Let it yield rows, or return a list, a generator or a frame.")
        iterator = iter(items)
        for item in iterator:
            self._put(item)
            if self._room_for(item):
                continue
            with self._lock:
                while self._reads and not self._room_for(item):
                    self._changed.wait(_LOOK)
                if self._reads:
                    continue
                if self._lasting:
                    self._pulls = False
                    return True
            close = getattr(iterator, "close", None)
            if close is not None:
                close()
            break
        return False

    async def _drive(self, value: Any) -> None:
        loop, task, wanted = asyncio.get_running_loop(), asyncio.current_task(), asyncio.Event()
        assert task is not None, "a coroutine of asyncio.run is a task"
        with self._lock:
            if not self._reads and not self._lasting:
                return
            self._cancel_async = lambda: loop.call_soon_threadsafe(task.cancel)
            self._wake_async = lambda: loop.call_soon_threadsafe(wanted.set)
        try:
            if inspect.isawaitable(value):
                value = await value
            if not isinstance(value, AsyncIterable):
                self._drain(value)
                return
            async for item in value:
                self._put(item)
                while not self._room_for(item):
                    await (asyncio.sleep(_HOLD) if self._reads else self._until_wanted(wanted))
        except asyncio.CancelledError:
            if self._reads or self._lasting:
                raise
        finally:
            with self._lock:
                self._cancel_async = self._wake_async = None

    async def _until_wanted(self, wanted: asyncio.Event) -> None:
        """Wait for the next read. What the generator has open, such as a connection, is kept alive by its loop meanwhile."""
        with self._lock:
            if self._reads:
                return
            wanted.clear()
        await wanted.wait()

    def _put(self, item: object) -> None:
        # No lock for each item: deques are safe to use from two threads, and a reader says that it waits before it looks
        # once more.
        for queue in self._queues:
            queue.append(item)
        if self._reader_waits:
            with self._lock:
                self._changed.notify_all()

    def _room_for(self, item: object) -> bool:
        """Whether the next item may be fetched, when this is the kind of items there are."""
        if not self._reads:
            return False
        return max(map(len, self._queues)) < (_ROOM if type(item) in _ROWS or not is_frame(item) else _ROOM_FRAMES)


_ROWS = frozenset((dict, tuple, list, int, float, str))
"""Kinds of items that are surely no frame, so that most items need no closer look."""


def _is_function(value: object) -> bool:
    return callable(value) and not isinstance(value, Iterable | AsyncIterable) and not is_frame(value)


def _iterates(value: object) -> bool:
    if isinstance(value, str | bytes | Mapping | type):
        return False
    return is_frame(value) or isinstance(value, Iterable | AsyncIterable) or callable(value)


def _open(context: Context) -> Source:
    return PythonSource(context)


PYTHON = SourceConnector(
    scheme="python",
    example="python://ticks",
    options={"timestamp_unit": "what numbers in TIMESTAMP columns count since 1970: 's', 'ms', 'us' or 'ns'"},
    open=_open,
)
