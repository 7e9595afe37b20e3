"""Which user-defined aggregates a statement may call while it is bound: those of its session, then Python's.

A name is looked up where a statement is bound and nowhere else: plans hold programs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from jupyter_stream.aggregates.user.protocol import UserAggregate


@dataclass(frozen=True)
class Declared:
    """The versions of one aggregate (ESL, §4): the base version, and the one for windows; one of them at least."""

    name: str
    base: UserAggregate | None
    window: UserAggregate | None

    @property
    def versions(self) -> tuple[UserAggregate, ...]:
        """Those there are."""
        return tuple(v for v in (self.base, self.window) if v is not None)

    def with_version(self, version: UserAggregate) -> Declared:
        """A version declared, in place of a former one."""
        if version.windowed:
            return Declared(version.name, self.base, version)
        return Declared(version.name, version, self.window)


_CALLED: ContextVar[Mapping[str, Declared]] = ContextVar("aggregates a statement may call")
PYTHON: dict[str, Declared] = {}
"""Those registered with `@jupyter_stream.aggregate`, by name in lower case."""


@contextmanager
def calling(session: Mapping[str, Declared]) -> Iterator[None]:
    """A session's aggregates, by name in lower case, can be called by what is bound inside."""
    token = _CALLED.set(session)
    try:
        yield
    finally:
        _CALLED.reset(token)


def declared(name: str) -> Declared | None:
    """The user-defined aggregate of that name in any case; None if there is none."""
    lower = name.lower()
    return _CALLED.get({}).get(lower) or PYTHON.get(lower)


def declared_names() -> tuple[str, ...]:
    """Names of all that can be called."""
    return tuple(dict.fromkeys([*_CALLED.get({}), *PYTHON]))
