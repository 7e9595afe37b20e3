"""Where a read of followed files goes on in each of them: what a checkpoint keeps of it."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from jupyter_stream.sources.counted import Given

Key: TypeAlias = tuple[int, int]
"""Device and inode of a file."""


class BegunFile(NamedTuple):
    """A file read when it was whole, of which some was handed over.

    Attributes:
        size: its bytes.
        changed: when it was written last, nanoseconds since 1970.
        given: what of it was handed over.
    """

    size: int
    changed: int
    given: Given


class Places:
    """The place in each file, pickled when it changes: a parser goes on with it.

    Args:
        before: what a former read left; checked before it is given here, since it is unpickled.
    """

    def __init__(self, before: Mapping[Key, bytes]) -> None:
        self._found = dict(before)

    def note(self, key: Key, place: object) -> None:
        """A file has been read up to there."""
        self._found[key] = pickle.dumps(place, protocol=5)

    def forget(self, keys: Iterable[Key]) -> None:
        """Files are gone."""
        for key in keys:
            self._found.pop(key, None)

    def all(self) -> dict[Key, Any]:
        """The place in each file."""
        return {key: pickle.loads(data) for key, data in self._found.items()}

    def now(self) -> Mapping[Key, bytes]:
        """All of them, for a chunk."""
        return dict(self._found)
