"""Aggregates written in Python: a class with the states of ESL as methods, or with array functions (ESL, §5.4).

Row by row: `initialize(*args)` for the first row (without it, `iterate`), `iterate(*args)`, `terminate()`, `expire(*args)`.
By arrays: `update(*arrays)` gives a partial result of rows in order, `merge(a, b)` one of two, `subtract(a, b)` takes b, which
came first, back out of a, `finish(partial)` the value. A class is made anew for each group and run.
"""

from __future__ import annotations

import inspect
import threading
import types
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar, overload

import numpy as np
import polars as pl

from jupyter_stream.aggregates.user.declared import PYTHON, Declared
from jupyter_stream.aggregates.user.protocol import GroupRun, Program, check_count
from jupyter_stream.aggregates.user.segments import Outcome, as_tuples
from jupyter_stream.aggregates.user.stepping import RowSteps, one_by_one
from jupyter_stream.core.annotations import found_type, hints, meant, sample
from jupyter_stream.core.code import Code, source_of
from jupyter_stream.core.messages import Array, Int64s
from jupyter_stream.core.schema import type_name
from jupyter_stream.errors import QueryError
from jupyter_stream.functions.python import function_called
from jupyter_stream.functions.scalar import RowError
from jupyter_stream.functions.types import admitted

Class = TypeVar("Class", bound=type)
_STATES = ("initialize", "iterate", "terminate", "expire")
_BY_ARRAYS = ("update", "merge", "subtract", "finish")
_BYTES = 200


@overload
def aggregate(cls: Class, /) -> Class: ...


@overload
def aggregate(
    *,
    name: str | None = None,
    arguments: Sequence[object] | None = None,
    returns: object = None,
    algebraic: bool = False,
) -> Callable[[Class], Class]: ...


def aggregate(
    cls: Any = None,
    /,
    *,
    name: str | None = None,
    arguments: Sequence[object] | None = None,
    returns: object = None,
    algebraic: bool = False,
) -> Any:
    """Register a class as an aggregate that queries can call, under its name in any case.

    Args:
        cls: the class, where the decorator stands without arguments.
        name: another name than the class's.
        arguments: types of the arguments: SQL names, Python or Polars types, None for any. Default: annotations, else any.
        returns: type of the result; a dict of types for a STRUCT. Default: annotations, else what a trial on two rows gives.
        algebraic: whether answers of panes may be aggregated further (ESL, §5.1).

    Raises:
        TypeError: the class has neither `iterate` nor `update` and `finish`, or a type is none.
    """

    def register(made: Any) -> Any:
        own = PythonAggregate(made, name or made.__name__, arguments, returns, algebraic)
        PYTHON[own.name.lower()] = Declared(own.name, own, own if own.windowed else None)
        return made

    return register if cls is None else register(cls)


class PythonAggregate:
    """A registered class."""

    def __init__(
        self, made: type, name: str, arguments: Sequence[object] | None, returns: object, algebraic: bool
    ) -> None:
        self._made = made
        self.name = name
        self.algebraic = algebraic
        self.by_arrays = hasattr(made, "update") and hasattr(made, "finish")
        if not self.by_arrays and not hasattr(made, "iterate"):
            raise TypeError(f"{name} has neither iterate (row by row) nor update and finish (by arrays)")
        self.windowed = hasattr(made, "expire") and not self.by_arrays
        taking = _method(made, "update" if self.by_arrays else "iterate")
        annotated = hints(taking)
        parameters = list(inspect.signature(taking).parameters.values())[1:]
        if any(p.kind is p.VAR_POSITIONAL for p in parameters):
            self._types: list[pl.DataType | None] | None = None
            shown = "..."
        else:
            self._types = [None if self.by_arrays else meant(annotated.get(p.name)) for p in parameters]
            shown = ", ".join(p.name for p in parameters)
        if arguments is not None:
            self._types = [meant(t) for t in arguments]
        self._returns = meant(returns)
        if self._returns is None:
            for method in ("finish",) if self.by_arrays else ("terminate", "iterate", "expire"):
                if self._returns is None and hasattr(made, method):
                    self._returns = meant(hints(_method(made, method)).get("return"))
        self.signature = f"{name}({shown})" + (f" -> {type_name(self._returns)}" if self._returns is not None else "")
        words = inspect.getdoc(made)
        methods = [m for m in (_BY_ARRAYS if self.by_arrays else _STATES) if hasattr(made, m)]
        first = words.split("\n")[0] if words else ""
        self.description = f"{first} User-defined aggregate in Python: {', '.join(methods)}.".strip()
        self.text = source_of(made) or f"class {name}: ..."
        self.code = Code(f"class {name}", made)
        self._programs: dict[tuple[str, ...], Program] = {}

    def program(self, types: Sequence[pl.DataType]) -> Program:
        """The aggregate for these types. Raises `BadArguments` for a wrong number."""
        wanted = [admitted(t) for t in types]
        if self._types is not None:
            check_count(self.name, len(self._types), len(types))
            wanted = [w if own is None else own for w, own in zip(wanted, self._types, strict=True)]
        key = tuple(str(t) for t in wanted)
        found = self._programs.get(key)
        if found is None:
            kind = ArrayProgram if self.by_arrays else PythonProgram
            found = self._programs[key] = kind(self.name, self._made, tuple(wanted), self._returns)
        return found


class PythonProgram:
    """A class with states, for given types of arguments."""

    numbered = False

    def __init__(self, name: str, made: type, arguments: tuple[pl.DataType, ...], returns: pl.DataType | None) -> None:
        self.name = name
        self.arguments = arguments
        self.made = made
        self.blocking = hasattr(made, "terminate")
        self.expires = hasattr(made, "expire")
        self.dtype: pl.DataType = returns if returns is not None else _tried(self)

    def start(self) -> GroupRun:
        """A run without rows."""
        return PythonRun(self)

    def over(self, rows: Sequence[Sequence[Any]]) -> list[Any]:
        """The answer over some rows, from the beginning."""
        run = PythonRun(self, keeps_rows=False)
        last: list[Any] = []
        for row in rows:
            last = run.take(0, row)
        return run.answer() if self.blocking else last

    def slices(self, columns: Sequence[pl.Series], height: int) -> Callable[[int, int], list[Any]]:
        """A function that runs over rows of some columns, from one number to another."""
        rows = as_tuples(columns, height)
        return lambda start, stop: self.over(rows[start:stop])

    def at_once(self, columns: Sequence[pl.Series], lengths: Int64s) -> None:
        """Groups are run over one by one."""


class PythonRun:
    """One group's object, and the rows that will expire."""

    def __init__(self, program: PythonProgram, keeps_rows: bool = True) -> None:
        self._program = program
        self._keeps = keeps_rows and program.expires
        self._rows: deque[tuple[int, Sequence[Any]]] = deque()
        self._taken = 0
        self._object: Any = None

    @property
    def alive(self) -> int:
        """Rows in the window, or rows taken where none is kept."""
        return len(self._rows) if self._keeps else self._taken

    @property
    def bytes(self) -> int:
        """Bytes held, roughly: what the object holds isn't known."""
        return _BYTES * (1 + len(self._rows))

    def take(self, tag: int, row: Sequence[Any]) -> list[Any]:
        """The state `initialize`, or `iterate`."""
        if self._object is None:
            self._object = _called(self._program.made)
            first = getattr(self._object, "initialize", self._object.iterate)
        else:
            first = self._object.iterate
        found = _values(lambda: first(*row), empty=[])
        self._taken += 1
        if self._keeps:
            self._rows.append((tag, row))
        return found

    def steps(self, steps: RowSteps) -> list[Outcome]:
        """Many rows, before each of which others may leave."""
        return one_by_one(self._program, self, steps)

    def expire(self, before: int) -> list[list[Any]]:
        """The state `expire` for each row that has left; the last one's leaving frees the object."""
        found = []
        while self._rows and self._rows[0][0] < before:
            _, row = self._rows.popleft()
            found.append(_values(partial(self._object.expire, *row), empty=[]))
        if not self._rows and self._keeps:
            self._object, self._taken = None, 0
        return found

    def answer(self) -> list[Any]:
        """The state `terminate`."""
        return _values(self._object.terminate, empty=[None])


class ArrayProgram:
    """A class with array functions, for given types of arguments.

    Attributes:
        merges: whether partial results can be merged: then panes are.
        subtracts: whether they can be taken back.
    """

    blocking = True
    expires = False
    numbered = False

    def __init__(self, name: str, made: type, arguments: tuple[pl.DataType, ...], returns: pl.DataType | None) -> None:
        self.name = name
        self.arguments = arguments
        self.merges = hasattr(made, "merge")
        self.subtracts = self.merges and hasattr(made, "subtract")
        self._own: Any = _called(made)
        self.dtype: pl.DataType = returns if returns is not None else _tried(self)

    def start(self) -> GroupRun:
        """Never: rows are not taken one by one."""
        raise TypeError(f"{self.name} works by arrays")

    def over(self, rows: Sequence[Sequence[Any]]) -> list[Any]:
        """The answer over some rows, given one by one."""
        columns = list(zip(*rows, strict=True))
        series = [pl.Series(c, dtype=t) for c, t in zip(columns, self.arguments, strict=True)]
        return self.finish(self.partial([s.to_numpy() for s in series]))

    def slices(self, columns: Sequence[pl.Series], height: int) -> Callable[[int, int], list[Any]]:
        """A function that runs over rows of some columns, from one number to another, as arrays."""
        arrays = [c.to_numpy() for c in columns]
        return lambda start, stop: self.finish(self.partial([a[start:stop] for a in arrays]))

    def at_once(self, columns: Sequence[pl.Series], lengths: Int64s) -> None:
        """Groups are run over one by one."""

    def partial(self, arrays: Sequence[Array]) -> Any:
        """A partial result of rows. Raises `RowError`."""
        return _called(self._own.update, *arrays)

    def merge(self, a: Any, b: Any) -> Any:
        """Both; the rows of b come after those of a. Raises `RowError`."""
        return _called(self._own.merge, a, b)

    def subtract(self, a: Any, b: Any) -> Any:
        """What is left of a without b, its first rows. Raises `RowError`."""
        return _called(self._own.subtract, a, b)

    def finish(self, partial: Any) -> list[Any]:
        """The value. Raises `RowError`."""
        return _values(lambda: self._own.finish(partial), empty=[None])


def _called(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except Exception as error:
        raise RowError(_failure(error)) from error
    except (SystemExit, KeyboardInterrupt) as error:
        _leave(error)
        raise


def _failure(error: Exception) -> str:
    """What a method of the user's raised, and where: the method, and its line."""
    at = error.__traceback__
    while at is not None and at.tb_frame.f_code.co_filename == __file__:
        at = at.tb_next
    code = None if at is None else at.tb_frame.f_code
    place = (
        ""
        if at is None or code is None
        else f"in {code.co_name}, line {at.tb_lineno - code.co_firstlineno + 1} of it: "
    )
    return f"{place}{type(error).__name__}: {error}"


def _leave(error: BaseException) -> None:
    """Raise what would end Python itself as what ends the query, unless it is an interrupt of the user's."""
    if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
        return
    told = f"{type(error).__name__}: {error}".rstrip(": ")
    hint = "Raise a subclass of Exception instead: it is then an error of one row, and the query goes on."
    raise QueryError(f"a Python aggregate raised {told}", hint=hint) from error


def inside(frame: types.FrameType | None) -> str | None:
    """The name of the Python aggregate or function a thread is in; None if it is in none.

    Args:
        frame: what that thread runs now.
    """
    while frame is not None:
        called = function_called(frame)
        if called is not None:
            return called
        program = frame.f_locals.get("self") if frame.f_code.co_filename == __file__ else None
        program = getattr(program, "_program", program)
        if isinstance(program, PythonProgram | ArrayProgram):
            return program.name
        frame = frame.f_back
    return None


def _values(call: Callable[[], Any], empty: list[Any]) -> list[Any]:
    """What a method returns: nothing for None, all that a generator yields, else the value itself."""
    try:
        value = call()
        if isinstance(value, types.GeneratorType):
            return [_plain(v) for v in value]
    except Exception as error:
        raise RowError(_failure(error)) from error
    except (SystemExit, KeyboardInterrupt) as error:
        _leave(error)
        raise
    return empty if value is None else [_plain(value)]


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return value.tolist() if isinstance(value, np.ndarray) else value


def _method(made: type, name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(made, name)
    return found


def _tried(program: PythonProgram | ArrayProgram) -> pl.DataType:
    """The type of what two rows give; DOUBLE where that says nothing."""
    samples = [sample(t) for t in program.arguments]
    try:
        values = program.over([[s[0] for s in samples], [s[1] for s in samples]])
        return found_type(values)
    except (RowError, TypeError, pl.exceptions.PolarsError):
        return pl.Float64()
