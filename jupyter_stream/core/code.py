"""What a function or a class of a user's does, as far as its code says: the same in every process."""

from __future__ import annotations

import datetime as dt
import dis
import hashlib
import inspect
import types
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Final

_PLAIN: Final = (bool, int, float, complex, str, bytes, Decimal, dt.date, dt.time, dt.timedelta, types.NoneType)
_SHOWN: Final = 60
"""Characters of a value that are shown; of a longer one a digest says the rest."""


def source_of(made: type | Callable[..., object]) -> str | None:
    """Its text; None where that isn't known, as of what was `exec`uted."""
    try:
        return inspect.getsource(made)
    except (OSError, TypeError):
        return None


def code_digest(made: type | Callable[..., object]) -> str:
    """A digest of its text; of its code where the text isn't known."""
    text = source_of(made)
    if text is None:
        text = _of_class(made) if isinstance(made, type) else _code(made)
    return hashlib.sha256(text.encode()).hexdigest()


class Code:
    """What a user's function or class does: its text as it was when this was made, and the values it takes from around it now.

    Args:
        head: how it is called, for people.
        made: the function or class.
    """

    def __init__(self, head: str, made: type | Callable[..., object]) -> None:
        self._made = made
        self._text = f"{head}, {code_digest(made)}"

    @property
    def digest(self) -> str:
        """The same for the same, in every process."""
        values = values_read(self._made)
        return self._text + (f", where {values}" if values else "")


def values_read(made: type | Callable[..., object]) -> str:
    """The values it takes from around it, in words: of its module or cell, of functions it stands in, and its helpers.

    What can change in itself, as a list can, isn't among them, nor what it sets itself: that is state, not what it says.
    """
    told: dict[str, str] = {}
    seen: set[int] = set()
    rest: list[object] = [made]
    while rest:
        for function in _functions(rest.pop()):
            if id(function) in seen:
                continue
            seen.add(id(function))
            for name, value in _taken(function):
                if isinstance(value, types.FunctionType | type) and value.__module__ == function.__module__:
                    if id(value) not in seen:
                        told[name] = code_digest(value)[:16]
                        rest.append(value)
                elif _is_plain(value):
                    told[name] = _shown(value)
    return ", ".join(f"{name} = {value}" for name, value in sorted(told.items()))


def _functions(made: object) -> Iterator[types.FunctionType]:
    """A function, or the methods of a class and of those it is made of."""
    values = [made] if not isinstance(made, type) else [v for c in made.__mro__[:-1] for v in vars(c).values()]
    for value in values:
        plain = value.__func__ if isinstance(value, staticmethod | classmethod | types.MethodType) else value
        plain = inspect.unwrap(plain) if callable(plain) else plain
        if isinstance(plain, types.FunctionType):
            yield plain


def _taken(function: types.FunctionType) -> Iterator[tuple[str, object]]:
    """Names that a function reads from around it, with their values now."""
    codes, own = [function.__code__], set[str]()
    for code in codes:
        codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
        own |= {
            i.argval for i in dis.get_instructions(code) if i.opname.startswith("STORE_") and i.opname != "STORE_FAST"
        }
    read = {i.argval for code in codes for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    for name in sorted(read - own):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if name not in own:
            try:
                yield name, cell.cell_contents
            except ValueError:  # it has none yet
                continue


def _is_plain(value: object) -> bool:
    return all(map(_is_plain, value)) if isinstance(value, tuple | frozenset) else isinstance(value, _PLAIN)


def _shown(value: object) -> str:
    text = _text(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({hashlib.sha256(text.encode()).hexdigest()[:16]})"


def _text(value: object) -> str:
    """A plain value as Python writes it; the members of a set in an order of their own, which is the same in every process."""
    if isinstance(value, frozenset):
        return f"frozenset({{{', '.join(sorted(map(_text, value)))}}})"
    return f"({', '.join(map(_text, value))})" if isinstance(value, tuple) else repr(value)


def _of_class(made: type) -> str:
    """Its methods and values, and those of the classes it is made of."""
    return "\n".join(f"{name} {_code(value)}" for c in made.__mro__[:-1] for name, value in sorted(vars(c).items()))


def _code(value: object) -> str:
    if isinstance(value, staticmethod | classmethod):
        value = value.__func__
    if isinstance(value, types.FunctionType):
        return f"{_code(value.__code__)} {_code(value.__defaults__)} {value.__kwdefaults__}"
    if isinstance(value, types.CodeType):
        return f"{value.co_code.hex()} {value.co_names} {_code(value.co_consts)}"
    if isinstance(value, tuple | frozenset):
        parts = map(_code, value)
        return str([*parts] if isinstance(value, tuple) else sorted(parts))
    return repr(value) if isinstance(value, int | float | str | bytes | None) else type(value).__name__


__all__ = ["Code", "code_digest", "source_of", "values_read"]
