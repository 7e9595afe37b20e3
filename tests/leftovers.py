"""What a test leaves behind: threads, child processes, descriptors, files in the temporary folder. Named; in `--all` a failure.

Looked at around the test and its own fixtures; what fixtures of a module or of the whole run hold is theirs.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

GRACE = 1.0
"""Seconds in which what is ending may end."""
LASTING = (
    "ThreadPoolExecutor", "asyncio_", "IPythonHistory", "Tornado", "zmq", "py4j", "pyspark", "Thread-", "Dummy-",
    "jupyter-stream supervisor", "jupyter-stream beside", "jupyter-stream memory",
)  # fmt: skip
"""Beginnings of names of threads that a process keeps once they have begun."""
SHARED = ("spark", "interpreting", "lab", "chromium", "profile")
"""Fixtures of the whole run that open and keep sockets while tests use them."""


def children() -> set[str]:
    """Child processes of this one, by number and name."""
    found = set()
    for task in Path("/proc/self/task").glob("*/children"):
        try:
            for pid in task.read_text().split():
                found.add(f"process {pid} {Path(f'/proc/{pid}/comm').read_text().strip()}")
        except OSError:  # it ended meanwhile
            continue
    return found


def descriptors() -> set[str]:
    """Open files and sockets, by what they lead to."""
    found = set()
    for link in Path("/proc/self/fd").iterdir():
        try:
            if not (leads := str(link.readlink())).startswith("anon_inode:"):  # event loops of libraries
                found.add(f"descriptor {link.name} {leads}")
        except OSError:
            continue
    return found


def seen() -> set[str]:
    """All that could be left behind, as it is now."""
    threads = {f"thread {t.name}" for t in threading.enumerate() if not t.name.startswith(LASTING)}
    files = {f"file {p}" for p in Path(tempfile.gettempdir()).iterdir() if not p.name.startswith("pytest-of-")}
    return threads | children() | descriptors() | files


@pytest.fixture(autouse=True)
def left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Names what the test leaves behind."""
    before = seen()
    yield
    until = time.monotonic() + GRACE
    shared = not set(SHARED).isdisjoint(request.fixturenames)

    def remaining() -> set[str]:
        return {what for what in seen() - before if not (shared and what.startswith("descriptor"))}

    while (left := remaining()) and time.monotonic() < until:
        time.sleep(0.02)
    if left:
        request.node.user_properties.append(("left", sorted(left)))
