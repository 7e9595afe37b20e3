"""What a function or a class of a user's does, as far as its code says: the same in every process."""

from __future__ import annotations

import hashlib
import inspect
import types
from collections.abc import Callable


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


__all__ = ["code_digest", "source_of"]
