"""Policy: every input that has something is served once before any is served again. None starves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from jupyter_stream.schedulers.protocol import Choice


class RoundRobin:
    """Serves inputs in turn."""

    name: ClassVar[str] = "round robin"

    def __init__(self) -> None:
        self._served: dict[int, int] = {}
        self._turn = 0

    def choose(self, ready: Sequence[Choice]) -> Choice:
        """The one served longest ago."""
        self._turn += 1
        chosen = min(ready, key=lambda i: self._served.get(id(i), -1))
        self._served[id(chosen)] = self._turn
        if len(self._served) > 2 * len(ready) + 64:
            present = {id(i) for i in ready}
            self._served = {k: v for k, v in self._served.items() if k in present}
        return chosen
