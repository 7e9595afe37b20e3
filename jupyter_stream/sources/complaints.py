"""What a client library says of a broker out of reach, many times a second: told once, and again after things went well."""

from __future__ import annotations

import logging
from collections.abc import Hashable

from jupyter_stream.core.logs import Log


class Complaints:
    """Writes the first of each kind to a log as a warning, those that follow for who looks closely.

    Args:
        log: where to.
        of: who says them.
    """

    def __init__(self, log: Log, of: str) -> None:
        self._log, self._of = log, of
        self._told: set[Hashable] = set()

    def heard(self, kind: Hashable, text: str) -> None:
        """There is one."""
        self._log.log(logging.DEBUG if kind in self._told else logging.WARNING, "%s %s", self._of, text)
        self._told.add(kind)

    def over(self) -> None:
        """All goes well."""
        self._told.clear()


__all__ = ["Complaints"]
