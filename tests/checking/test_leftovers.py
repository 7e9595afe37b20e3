"""The watch on what tests leave behind names each kind, and what no fixture owns is ended with the run."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests import leftovers
from tests.checking.test_check import runs
from tests.waiting import until


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "GRACE", 0.1)


@pytest.fixture
def ends() -> Iterator[ExitStack]:
    """What a test here leaves behind is ended when it has been looked at."""
    with ExitStack() as stack:
        yield stack


def thread(name: str | None, ends: ExitStack) -> None:
    over = threading.Event()
    begun = threading.Thread(target=over.wait, name=name, daemon=True)
    begun.start()
    ends.callback(begun.join)
    ends.callback(over.set)


def process(command: list[str], ends: ExitStack) -> None:
    child = subprocess.Popen(command)
    ends.callback(child.wait)
    ends.callback(child.kill)


def server(name: str, ends: ExitStack) -> None:
    """A program that bears a server's name."""
    program = Path(ends.enter_context(tempfile.TemporaryDirectory(dir=Path(tempfile.gettempdir()).parent))) / name
    shutil.copy("/bin/sleep", program)
    process([str(program), "1000"], ends)


def listener(family: socket.AddressFamily, address: object, ends: ExitStack) -> None:
    door = ends.enter_context(socket.socket(family))
    door.bind(address)
    door.listen()


def opened(ends: ExitStack) -> None:
    ends.callback(os.close, os.open(__file__, os.O_RDONLY))


def file(ends: ExitStack) -> None:
    path = Path(tempfile.mkdtemp(prefix="jupyter-stream-"))
    ends.callback(path.rmdir)


LEAVE: dict[str, Callable[[ExitStack], None]] = {
    "thread python://rows": lambda ends: thread("python://rows", ends),
    "thread jupyter-stream engine": lambda ends: thread("jupyter-stream engine", ends),
    "thread Thread-": lambda ends: thread(None, ends),
    "process sleep: sleep 1000": lambda ends: process(["sleep", "1000"], ends),
    "process redis-server": lambda ends: server("redis-server", ends),
    "process mosquitto": lambda ends: server("mosquitto", ends),
    "process postgres": lambda ends: server("postgres", ends),
    "socket that listens at ": lambda ends: listener(socket.AF_INET, ("127.0.0.1", 0), ends),
    "socket that listens at @": lambda ends: listener(socket.AF_UNIX, f"\0{os.getpid()}", ends),
    "descriptor ": opened,
    "file ": file,
}
"""How what is left is named, and a way to leave it."""


@pytest.mark.parametrize("name", LEAVE)
def test_what_is_left_behind_is_named(name: str, ends: ExitStack) -> None:
    with leftovers.watching() as left:
        LEAVE[name](ends)
    assert [each for each in leftovers.named(left) if each.startswith(name)], left
    with leftovers.watching() as after:
        ends.close()
    assert not [each for each in leftovers.named(after) if each.startswith(name)]


def test_a_second_thread_of_one_name_is_named_and_what_ends_in_time_is_not(ends: ExitStack) -> None:
    with ExitStack() as first:
        thread("python://rows", first)
        with leftovers.watching() as left:
            first.close()
            thread("python://rows", ends)
        assert leftovers.named(left).count("thread python://rows") == 1


def test_what_tests_share_is_nobodys_and_ends_with_the_run(ends: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "_ends", ends)
    with leftovers.watching() as left, leftovers.shared() as with_the_run:
        thread("python://rows", with_the_run)
    assert "thread python://rows" not in leftovers.named(left)
    with leftovers.ending("this test", ends) as running:
        pass
    assert not running and "python://rows" not in [t.name for t in threading.enumerate()]


def test_what_runs_on_when_all_tests_are_over_is_named_and_ended(ends: ExitStack) -> None:
    far = "import subprocess, sys; print(subprocess.Popen(['sleep', '1000'],"
    far += " stdout=subprocess.DEVNULL, start_new_session=True).pid)"
    with leftovers.ending("this test", ExitStack()) as left:
        pid = int(subprocess.run([sys.executable, "-c", far], stdout=subprocess.PIPE, check=True).stdout)
        listener(socket.AF_INET, ("127.0.0.1", 0), ends)
    assert any(f"process {pid} " in each for each in left), left
    assert any("socket that listens" in each for each in left), left
    until(lambda: not runs(pid))
