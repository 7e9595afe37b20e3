"""What operators keep, taken out of them as they stand and put into others that a text has made anew.

A query's operators are Python objects: what the plan says (closures, compiled expressions, locks) and what rows have left
(arrays, frames, dictionaries). A text makes the first part again, the same each time. So before the first row `Anchors` numbers
every object that can be reached from the operators. A snapshot then holds, for each of these, what its attributes or elements
are: what is numbered is written as its number, what came with rows as it is. To restore is to make the operators from the text,
to number them, and to give each its attributes: in place, so that whoever knows an object goes on knowing it.

Nothing here knows what an operator is: one that is added tomorrow is walked like all others. What has arrays with much room to
spare says so (`Roomy`).
"""

from __future__ import annotations

import copyreg
import io
import pickle
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial
from types import BuiltinFunctionType, CellType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable
from uuid import UUID

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.checkpoints.arena import Arena

Data: TypeAlias = "pl.DataFrame | pl.Series"

_VALUES: Final = (
    *(type(None), bool, int, float, complex, str, bytes, bytearray, range, slice, type, ModuleType, Enum, np.generic),
    *(np.dtype, pl.DataType, date, datetime, time, timedelta, Decimal, UUID, BuiltinFunctionType),
)
"""What has no parts that change, and is the same wherever it is met."""
_MANY: Final = (list, dict, set, deque)


class Unsaved(Exception):
    """Something of an operator's state can't be written. Its text is a sentence for people."""


class OtherState(Exception):
    """A state is of operators that are made otherwise."""


@runtime_checkable
class Roomy(Protocol):
    """What has arrays that are longer than what is in them, by far."""

    def without_room(self) -> tuple[Mapping[str, object], Sequence[tuple[NDArray[Any], NDArray[Any]]]]:
        """What its attributes are, where they are others, if it has no room to spare, and in place of which arrays then which."""


class Anchors:
    """The objects that operators have before the first row, numbered.

    Args:
        roots: the operators, and what else belongs to a query's state.
        outside: types of objects that belong to others, such as tables and sources: they are numbered, and not looked into.
    """

    def __init__(self, roots: Sequence[object], outside: tuple[type, ...] = ()) -> None:
        self._outside = outside
        self.objects: list[object] = []
        self.numbers: dict[int, int] = {}
        """The number of each, by its identity."""
        self._note(list(roots))  # a list of our own: the roots keep their order
        todo = [iter([self.objects[0]])]
        while todo:
            found = next(todo[-1], _END)
            if found is _END:
                todo.pop()
                continue
            todo.append(self._new_parts(found))

    def _note(self, found: object) -> None:
        self.numbers[id(found)] = len(self.objects)
        self.objects.append(found)

    def _new_parts(self, whole: object) -> Iterator[object]:
        """Parts that have not been met before; those with parts of their own among them."""
        for part in _parts(whole):
            if id(part) in self.numbers or _is_value(part):
                continue
            if isinstance(part, tuple | frozenset | partial | MethodType):  # made of others, and never changed
                yield part
                continue
            self._note(part)
            if not isinstance(part, self._outside):
                yield part

    @property
    def layout(self) -> str:
        """What tells whether others are made alike: the type of each, in order."""
        return "\n".join(f"{type(o).__module__}.{type(o).__qualname__}" for o in self.objects)

    def holders(self) -> Iterator[tuple[int, object]]:
        """Those whose attributes or elements may change, with their numbers."""
        for number, found in enumerate(self.objects):
            if not isinstance(found, self._outside) and (isinstance(found, _MANY) or _has_attributes(found)):
                yield number, found


_END: Final = object()


def _is_value(part: object) -> bool:
    """Whether it is written as it is wherever it is met."""
    if isinstance(part, FunctionType):
        return _importable(part)
    if isinstance(part, str) and not isinstance(part, Enum) and getattr(part, "__dict__", None):
        return False  # a name that knows what it stands for
    return isinstance(part, (*_VALUES, np.ndarray, pl.DataFrame, pl.Series))


def _importable(function: FunctionType) -> bool:
    module = sys.modules.get(function.__module__)
    return module is not None and getattr(module, function.__qualname__, None) is function


def _parts(whole: object) -> Iterable[object]:
    if isinstance(whole, dict):
        return [*whole.keys(), *whole.values()]
    if isinstance(whole, list | tuple | deque):
        return list(whole)
    if isinstance(whole, set | frozenset):
        return ()  # they have no order by which two could be numbered alike
    if isinstance(whole, partial):
        return [whole.func, whole.args, whole.keywords]
    if isinstance(whole, MethodType):
        return [whole.__self__]
    if isinstance(whole, FunctionType):
        return [*(whole.__closure__ or ()), *(whole.__defaults__ or ()), *(whole.__kwdefaults__ or {}).values()]
    if isinstance(whole, CellType):
        return _content(whole)
    return _attributes(whole).values() if _has_attributes(whole) else ()


def _content(cell: CellType) -> list[object]:
    try:
        return [cell.cell_contents]
    except ValueError:  # empty still
        return []


def _has_attributes(found: object) -> bool:
    if isinstance(found, FunctionType | MethodType | pl.Expr | partial) or callable(
        getattr(found, "cache_clear", None)
    ):
        return False
    return hasattr(found, "__dict__") or bool(_slots(type(found)))


def _slots(cls: type) -> list[str]:
    return [name for name in copyreg._slotnames(cls) if name not in ("__dict__", "__weakref__")]  # type: ignore[attr-defined]  # what pickle asks


def _attributes(found: object) -> dict[str, object]:
    """What its attributes are."""
    own = dict(getattr(found, "__dict__", {}))
    for name in _slots(type(found)):
        try:
            own[name] = getattr(found, name)
        except AttributeError:
            continue
    return own


def _state_of(found: object) -> object:
    """What is written of an object: its attributes or elements."""
    if isinstance(found, dict):
        return list(found.items())
    if isinstance(found, list | set | deque):
        return list(found)
    return _attributes(found)


def _put(found: object, state: Any) -> None:
    """Give an object its attributes or elements."""
    if isinstance(found, list):
        found[:] = state
    elif isinstance(found, dict):
        found.clear()
        found.update(dict(state))  # a Counter would count pairs
    elif isinstance(found, set):
        found.clear()
        found.update(state)
    elif isinstance(found, deque):
        found.clear()
        found.extend(state)
    else:
        for name in _attributes(found).keys() - state.keys():
            object.__delattr__(found, name)
        for name, value in state.items():
            if getattr(found, name, _END) is not value:
                object.__setattr__(found, name, value)


# -- writing ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TakenState:
    """What was taken out of operators: it is nobody else's, and can be written by any thread.

    Attributes:
        objects: pickled, but for arrays and frames.
        arrays: copies of arrays, in the memory of an `Arena`.
        frames: frames, which nobody changes.
    """

    objects: bytes
    arrays: Sequence[NDArray[Any]]
    frames: Sequence[Data]

    @property
    def bytes(self) -> int:
        """Bytes, about."""
        return (
            len(self.objects) + sum(a.nbytes for a in self.arrays) + sum(int(f.estimated_size()) for f in self.frames)
        )


class _Pickler(pickle.Pickler):
    def __init__(self, into: io.BytesIO, anchors: Anchors, arena: Arena) -> None:
        super().__init__(into, protocol=5)
        self._numbers = anchors.numbers
        self._arena = arena
        self._in_use: dict[int, NDArray[Any]] = {}
        self._known: dict[int, tuple[str, int]] = {}
        self._alive: list[object] = []
        self.arrays: list[NDArray[Any]] = []
        self.frames: list[Data] = []

    def persistent_id(self, obj: Any) -> object:
        """The number of what the text makes again; the place of an array or a frame."""
        number = self._numbers.get(id(obj))
        if number is not None:
            return number
        kind = type(obj)
        if kind is np.ndarray and not obj.dtype.hasobject:
            return self._noted(obj, "array", self.arrays, lambda: self._arena.copy(self._in_use.get(id(obj), obj)))
        if kind is pl.DataFrame or kind is pl.Series:
            return self._noted(obj, "frame", self.frames, obj.clone)
        return None

    def _noted(self, obj: object, kind: str, into: list[Any], copy: Callable[[], Any]) -> tuple[str, int]:
        known = self._known.get(id(obj))
        if known is None:
            known = self._known[id(obj)] = kind, len(into)
            into.append(copy())
            self._alive.append(obj)
        return known

    def states(self, anchors: Anchors) -> dict[int, object]:
        """What is written of each object that may change."""
        states: dict[int, object] = {}
        for number, found in anchors.holders():
            state = states[number] = _state_of(found)
            if isinstance(found, Roomy) and isinstance(state, dict):
                otherwise, arrays = found.without_room()
                state.update(otherwise)
                self._in_use.update((id(whole), part) for whole, part in arrays)
        return states

    def reducer_override(self, obj: Any) -> Any:
        """What pickle can't write by itself."""
        if isinstance(obj, GeneratorType) and obj.gi_frame is None:  # what was being said has been said
            return iter, ((),)
        return NotImplemented


def taken(anchors: Anchors, arena: Arena) -> TakenState:
    """What the objects hold now.

    Args:
        anchors: the objects.
        arena: where arrays are copied to; that of the last cut is gone then.

    Raises:
        Unsaved: something among it can't be written, such as an open file in the state of a user's aggregate.
    """
    into = io.BytesIO()
    arena.begin()
    pickler = _Pickler(into, anchors, arena)
    try:
        pickler.dump(pickler.states(anchors))
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
        raise Unsaved(f"the query's state can't be written to its checkpoint: {error}") from error
    return TakenState(into.getvalue(), pickler.arrays, pickler.frames)


class _Unpickler(pickle.Unpickler):
    def __init__(self, taken: TakenState, anchors: Anchors) -> None:
        super().__init__(io.BytesIO(taken.objects))
        self._taken = taken
        self._anchors = anchors

    def persistent_load(self, pid: Any) -> Any:
        """What stands behind a number."""
        if isinstance(pid, int):
            return self._anchors.objects[pid]
        kind, at = pid
        return (self._taken.arrays if kind == "array" else self._taken.frames)[at]


def put_back(anchors: Anchors, taken: TakenState) -> None:
    """Give objects what others, made alike, held. Only of what `signing.checked` has passed: unpickling runs code.

    Raises:
        OtherState: they are not made alike.
    """
    try:
        states = _Unpickler(taken, anchors).load()
        holders = dict(anchors.holders())
        if states.keys() != holders.keys():
            raise OtherState("the state has other parts")
        for number, state in states.items():
            _put(holders[number], state)
    except (IndexError, AttributeError, ImportError, TypeError, KeyError, pickle.UnpicklingError) as error:
        raise OtherState(f"{type(error).__name__}: {error}") from error


__all__ = ["Anchors", "OtherState", "TakenState", "Unsaved", "put_back", "taken"]
