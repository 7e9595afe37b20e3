"""How often Python lets another thread run: more often while a step takes long beside others.

Each call into Polars or NumPy gives Python's lock up and waits for it again. Beside a step that computes in Python that takes a
whole switch interval, so a light query that makes ten such calls for a row would take fifty milliseconds for it.
"""

from __future__ import annotations

import sys
import threading
from typing import Final

SHORT: Final = 0.0001
"""Seconds after which another thread runs while somebody asks for short turns; 5 ms otherwise, which is Python's own."""

_lock = threading.Lock()
_askers = 0
_before = 0.0


class ShortTurns:
    """Asks for short turns, as long as it wants them."""

    def __init__(self) -> None:
        self._wanted = False

    def want(self, wanted: bool) -> None:
        """Ask for them, or no more."""
        global _askers, _before
        with _lock:
            if wanted == self._wanted:
                return
            self._wanted = wanted
            if not _askers:
                _before = sys.getswitchinterval()
            _askers += 1 if wanted else -1
            sys.setswitchinterval(min(SHORT, _before) if _askers else _before)
