"""What a test leaves behind: threads, child processes, descriptors, files in the temporary folder. Named; in `--all` a failure.

Looked at around the test and its own fixtures; what fixtures of a module or of the whole run hold is theirs. So are servers that
several tests share and the first one starts. Sockets are not looked at: libraries close theirs in their own time.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tiers import ALL

GRACE = 20.0 if ALL else 1.0
"""Seconds in which what is ending may end."""
LASTING = (
    "ThreadPoolExecutor", "asyncio_", "IPythonHistory", "Tornado", "zmq", "py4j", "pyspark", "Thread-", "Dummy-",
    "jupyter-stream supervisor", "jupyter-stream beside", "jupyter-stream memory", "jupyter-stream-views", "MainThread - runner",
    "python://",
)  # fmt: skip
"""Beginnings of names of threads that a process keeps once they have begun, or that wait in a generator of the test's own."""
SERVERS = ("redis-server", "mosquitto", "nats-server", "postgres")
SHARED = ("pytest-of-", "takers-", "k-")
"""Beginnings of names of folders that several tests share."""


def children() -> set[str]:
    """Child processes of this one, by number and name."""
    found = set()
    for task in Path("/proc/self/task").glob("*/children"):
        try:
            for pid in task.read_text().split():
                if (name := Path(f"/proc/{pid}/comm").read_text().strip()) not in SERVERS:
                    found.add(f"process {pid} {name}")
        except OSError:  # it ended meanwhile
            continue
    return found


def descriptors() -> set[str]:
    """Open files, by what they lead to."""
    found = set()
    for link in Path("/proc/self/fd").iterdir():
        try:
            if (leads := str(link.readlink())).startswith("/") and not leads.startswith(("/dev/", "/proc/")):
                found.add(f"descriptor {link.name} {leads}")
        except OSError:
            continue
    return found


def seen() -> set[str]:
    """All that could be left behind, as it is now."""
    threads = {f"thread {t.name}" for t in threading.enumerate() if not t.name.startswith(LASTING)}
    files = {f"file {p}" for p in Path(tempfile.gettempdir()).iterdir() if not p.name.startswith(SHARED)}
    return threads | children() | descriptors() | files


@pytest.fixture(autouse=True)
def left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Names what the test leaves behind."""
    before = seen()
    yield
    until = time.monotonic() + GRACE
    while (left := seen() - before) and time.monotonic() < until:
        time.sleep(0.02)
    if left:
        request.node.user_properties.append(("left", sorted(left)))
        if ALL:
            pytest.fail(f"left behind: {sorted(left)}")
