"""How much memory a session may take, and which part of it goes to what is kept for people: in bytes."""

from __future__ import annotations

import ctypes
import gc
import re
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil
import pyarrow as pa

from jupyter_stream.core import threads

_UNITS: Final = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
}
_SIZE: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")
_CGROUP: Final = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))

RESULTS: Final = 8
"""The part of a session's memory, one in so many, that the answers kept of a query may take."""
HELD_BACK: Final = 16
"""That of the rows which wait for a query that is paused, or that is held up by its callbacks."""
QUEUED: Final = 32
"""That of the rows which wait for the engine, of each source."""
CALLED_BACK: Final = 64
"""That of the answers which wait for callbacks of a query."""
SPILLED: Final = 10 * 10**9
"""Bytes of rows on disk that wait for a query which is paused, unless it was said how many."""
ASIDE: Final = 64 * 2**20
"""Bytes of late rows, and of records that could not be used, which are kept of a query, or of a stream."""
_WORTH: Final = 50 * 10**6
"""Bytes by which the process has grown since the last look, or which was let go of since, from which on one more is worth it."""
LEAST: Final = 64 * 10**6
"""Bytes below which no session works."""

_PAUSES: Final = (0.0, 1.0, 4.0)
"""Seconds before each look for memory to give back: on a busy machine it takes threads a while to let go of a query."""


def machine() -> int:
    """Bytes of memory that this machine, or the container we are in, has."""
    found = int(psutil.virtual_memory().total)
    for path in _CGROUP:
        try:
            text = path.read_text().strip()
        except OSError:
            continue
        if text.isdecimal():
            found = min(found, int(text))
    return found


def default() -> int:
    """Bytes a session may take unless something else is said: a quarter of the machine's."""
    return max(LEAST, machine() // 4)


class GivingBack:
    """Gives memory that nobody uses any more back to the machine: now, and what other threads let go of in the next seconds.

    Looking for it takes some tenths of a second, so it is done only where there may be much, and by one thread at a time, which
    begins anew for whoever asks meanwhile. That the process hasn't grown since the last look says little alone: what it had then
    may be what is let go of now.

    Args:
        look: looks for it.
        resident: bytes of memory the process has just now.
        pauses: seconds before each look.
    """

    def __init__(
        self, look: Callable[[], None], resident: Callable[[], int], pauses: Sequence[float] = _PAUSES
    ) -> None:
        self._look = look
        self._resident = resident
        self._pauses = tuple(pauses)
        self._giving = threading.Lock()
        self._again = threads.Event()
        self._floor = self._let_go = 0

    def after(self, held: int = 0) -> None:
        """Give back what there is after about so many bytes were let go of."""
        self._let_go += held
        if self._let_go < _WORTH and self._resident() < self._floor + _WORTH:
            return
        self._let_go = 0
        self._again.set()
        while self._again.is_set() and self._giving.acquire(blocking=False):
            try:
                self._give()
            finally:
                self._giving.release()

    def _give(self) -> None:
        pauses = iter(self._pauses)
        while (pause := next(pauses, None)) is not None:
            time.sleep(pause)
            if self._again.is_set():
                self._again.clear()
                pauses = iter(self._pauses[1:])
            self._look()
        self._floor = self._resident()


def _collect() -> None:
    gc.collect()
    pa.default_memory_pool().release_unused()
    with suppress(OSError, AttributeError):  # glibc alone has it
        ctypes.CDLL(None).malloc_trim(0)


def resident() -> int:
    """Bytes of memory this process has just now."""
    return int(psutil.Process().memory_info().rss)


give_back: Final = GivingBack(_collect, resident).after
"""That of this process."""


def parse(text: str) -> int | None:
    """Bytes of a size such as `2 GB` or `512 MiB`; None if it is none, or less than `LEAST`."""
    size = size_of(text)
    return size if size is not None and size >= LEAST else None


def size_of(text: str) -> int | None:
    """Bytes of a size such as `100 kB`, however small; None if it is none."""
    match = _SIZE.fullmatch(text)
    unit = None if match is None else _UNITS.get(match[2].upper())
    return None if match is None or unit is None else int(float(match[1]) * unit)
