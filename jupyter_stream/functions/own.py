"""Which functions of one's own a statement may call while it is bound: those of its session, then Python's.

A bound call holds the function itself (`OwnName`), not what is now registered under its name: queries that run go on with the
function they were started with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Protocol

from jupyter_stream.functions.expression import Expr
from jupyter_stream.functions.function import Function


class OwnFunction(Protocol):
    """A function of a user's own, in SQL or in Python.

    Attributes:
        name: as declared.
        signature: for people.
        description: one line.
        text: the declaration.
    """

    name: str
    signature: str
    description: str
    text: str

    def bind(self, args: Sequence[Expr]) -> Expr:
        """The call of it, typed. Raises `BadArguments`, or `QueryError` for what is wrong in its text."""


class Called(Protocol):
    """What a bound call of a user's own function holds.

    Attributes:
        name: as declared.
        token: tells it from a former function of that name.
    """

    name: str
    token: str

    @property
    def row(self) -> Function:
        """What the function table has for others."""


class OwnName(str):
    """The name of a user's own function in a bound call. Equal to names of the same function alone.

    Attributes:
        owner: the function.
    """

    owner: Called

    def __new__(cls, owner: Called) -> OwnName:
        """The name, with what it stands for."""
        made = super().__new__(cls, owner.name)
        made.owner = owner
        return made

    def __reduce__(self) -> tuple[type[OwnName], tuple[Called]]:
        return OwnName, (self.owner,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OwnName) and other.owner.token == self.owner.token

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.owner.token)


PYTHON: Final[dict[str, OwnFunction]] = {}
"""Those registered with `@jupyter_stream.function`, by name in lower case."""
_CALLED: ContextVar[Mapping[str, OwnFunction]] = ContextVar("functions a statement may call")


@contextmanager
def calling_own(session: Mapping[str, OwnFunction]) -> Iterator[None]:
    """A session's functions, by name in lower case, can be called by what is bound inside."""
    token = _CALLED.set(session)
    try:
        yield
    finally:
        _CALLED.reset(token)


def own_function(name: str) -> OwnFunction | None:
    """The user's own function of that name in any case; None if there is none."""
    lower = name.lower()
    return _CALLED.get({}).get(lower) or PYTHON.get(lower)


def own_names() -> tuple[str, ...]:
    """Names of all that can be called."""
    return tuple(f.name for f in {**PYTHON, **_CALLED.get({})}.values())


__all__ = ["PYTHON", "Called", "OwnFunction", "OwnName", "calling_own", "own_function", "own_names"]
