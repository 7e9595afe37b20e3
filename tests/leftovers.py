"""What a test leaves behind: threads, processes, descriptors, servers, temporary files. Named; in `--all` a failure.

Looked at around the test and its own fixtures; what fixtures of a module or of the whole run hold is theirs. What several tests
share and the first one starts is begun in `shared`, and the end of the run ends it: then no process is left, and nothing listens.
Connections are not looked at: libraries close theirs in their own time.
"""

from __future__ import annotations

import os
import socket
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Final, TypeVar

import psutil
import pytest

from jupyter_stream.core import logs
from tests.tiers import ALL

GRACE = 20.0 if ALL else 1.0
"""Seconds in which what is ending may end."""
LASTING = (
    "ThreadPoolExecutor", "asyncio_", "IPythonHistory", "Tornado", "zmq", "py4j", "pyspark", "Dummy-",
    "jupyter-stream supervisor", "jupyter-stream beside", "jupyter-stream memory", "jupyter-stream-views", "MainThread - runner",
)  # fmt: skip
"""Beginnings of names of threads that a process keeps once they have begun."""
REPLACED = ("jupyter-stream engine",)
"""Names of threads of which another takes the place beside a step that takes long."""
LIBRARIES = ("py4j.", "pyspark.")
"""Beginnings of names of modules whose threads go by no name of their own, and last as long as Spark."""
FOLDERS = ("pytest-of-", "k-")
"""Beginnings of names of folders that several tests share."""
WORKER: Final = "JUPYTER_STREAM_TESTS_WORKER"
"""The variable that marks what a worker has started, and what that has started."""

T = TypeVar("T")
Seen = Counter[Hashable]


def contents(path: str) -> bytes:
    """What a file of `/proc` says, read without the layers of `open`: tens of them are read before and after every test."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, 1 << 16)
    finally:
        os.close(descriptor)


def command(process: str) -> str:
    """What was started: none of a process that has ended, and one that is just being started has it in a moment."""
    for _ in range(10_000):
        words = contents(f"{process}/cmdline")
        if words or contents(f"{process}/stat").rpartition(b")")[2].split()[0] == b"Z":
            break
        os.sched_yield()
    return words.replace(b"\0", b" ").decode(errors="replace")


def has_children() -> bool:
    """Whether any child of this process is there, one that has ended too: a question of one call, and mostly there is none."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def children() -> Seen:
    """Child processes of this one, by what was started: a server that was started again is the same one."""
    found: Seen = Counter()
    if not has_children():
        return found
    for task in os.scandir("/proc/self/task"):
        try:
            for pid in contents(f"{task.path}/children").split():
                process = f"/proc/{pid.decode()}"
                words, name = command(process), contents(f"{process}/comm").decode(errors="replace")
                found[f"process {name.strip()}: {words[:150].strip()}"] += 1
        except OSError:  # it ended meanwhile
            continue
    return found


def descriptors() -> Seen:
    """Open files, by what they lead to, and sockets of this process that listen."""
    found: Seen = Counter()
    for link in os.scandir("/proc/self/fd"):
        try:
            leads = os.readlink(link.path)  # noqa: PTH115 (a Path for each takes most of the time)
            if leads.startswith("/"):
                if not leads.startswith(("/dev/", "/proc/")):
                    found[f"descriptor {link.name} {leads}"] += 1
            elif leads.startswith("socket:") and (at := listens_at(int(link.name))):
                found[f"socket that listens at {at}"] += 1
        except OSError:
            continue
    return found


def listens_at(descriptor: int) -> str:
    """Where a socket listens, nothing if it doesn't. It is asked itself: reading all of the machine's takes ten times as long."""
    # of whatever family it is: naming one spares three calls that find out
    asked = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, descriptor)
    try:
        if not asked.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            return ""
    finally:
        asked.detach()  # it is somebody's: it stays open
    asked = socket.socket(fileno=descriptor)
    try:
        at = asked.getsockname()
        if isinstance(at, bytes):  # a name in no folder
            return at.replace(b"\0", b"@").decode()
        return str(at[1] if isinstance(at, tuple) else at)
    finally:
        asked.detach()


def threads() -> Seen:
    """Threads, each itself: another of the same name is another one, but for those that take each other's place."""
    there = (t for t in threading.enumerate() if not t.name.startswith(LASTING) and not of_a_library(t))
    return Counter(f"thread {t.name}" if t.name in REPLACED else t for t in there)


def of_a_library(thread: threading.Thread) -> bool:
    """Whether what a thread runs is Spark's."""
    return str(getattr(getattr(thread, "_target", None), "__module__", "")).startswith(LIBRARIES)


def files() -> Seen:
    """What lies in the temporary folder."""
    return Counter(f"file {p.path}" for p in os.scandir(tempfile.gettempdir()) if not p.name.startswith(FOLDERS))


def seen() -> Seen:
    """All that could be left behind, as it is now."""
    return threads() + children() + descriptors() + files()


def named(left: Seen) -> list[str]:
    """What was left, in words."""
    return sorted(
        f"thread {each.name}" if isinstance(each, threading.Thread) else str(each) for each in left.elements()
    )


def lasting(look: Callable[[], T]) -> T:
    """What is still there when what is ending has ended."""
    until = time.monotonic() + GRACE
    while (left := look()) and time.monotonic() < until:
        time.sleep(0.02)  # between two looks at whether it has ended
    return left


_ends = ExitStack()
_shared: Seen = Counter()


@contextmanager
def shared() -> Iterator[ExitStack]:
    """What begins in this block is of several tests. What the block adds to the stack ends with the run."""
    before = seen()
    try:
        yield _ends
    finally:
        _shared.update(seen() - before)


@contextmanager
def watching() -> Iterator[Seen]:
    """Gives what was left behind by what ran in the block and is nobody's: complete when the block is over."""
    before, shared_before = seen(), _shared.copy()
    left: Seen = Counter()
    yield left
    left.update(lasting(lambda: seen() - before - (_shared - shared_before)))


@pytest.fixture(autouse=True, scope="session")
def telling() -> Iterator[set[str]]:
    """Says whether anything was told to the log since it was last emptied."""
    told: set[str] = set()
    begins = logs._see_to_it

    def see_to_it() -> None:
        told.add("something")
        begins()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logs, "_see_to_it", see_to_it)
        yield told


@pytest.fixture(autouse=True)
def left_behind(request: pytest.FixtureRequest, telling: set[str]) -> Iterator[None]:
    """Names what the test leaves behind."""
    with watching() as left:
        yield
    if telling:  # what is told in a test is written in it
        telling.clear()
        if not logs.flush():
            left["a handler of the log that is stuck"] += 1
    if left:
        request.node.user_properties.append(("left", named(left)))
        if ALL:
            pytest.fail(f"left behind: {named(left)}")


def begun(mark: str) -> list[psutil.Process]:
    """Processes that a worker has started, and theirs, wherever they hang by now."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(WORKER) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.Error, OSError):  # gone meanwhile, or another user's
            continue
    return found


def told(process: psutil.Process) -> str:
    """What a process is, in words."""
    with suppress(psutil.Error):
        return f"process {process.pid} {' '.join(process.cmdline())[:150]}"
    return f"process {process.pid}"


@contextmanager
def ending(mark: str, ends: ExitStack) -> Iterator[list[str]]:
    """Ends what tests share, and then what they have left running. Gives that in words: complete when the block is over."""
    names: list[str] = []
    outer, os.environ[WORKER] = os.environ.get(WORKER, ""), mark
    before = descriptors()
    try:
        yield names
    finally:
        os.environ[WORKER] = outer
        ends.close()
    left = lasting(lambda: begun(mark))
    names += [told(process) for process in left]
    names += [str(each) for each in descriptors() - before if "listens" in str(each)]
    for process in left:
        with suppress(psutil.Error):
            process.kill()


@pytest.fixture(autouse=True, scope="session")
def left_by_the_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """After a worker's last test nothing that it started runs on, and nothing in it listens: each has a fixture that ends it."""
    with ending(str(tmp_path_factory.getbasetemp()), _ends) as left:
        yield
    if left and ALL:
        pytest.fail(f"left by the run: {left}")
