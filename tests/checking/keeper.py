"""A run of tests leaves no kernel, browser, JVM or broker behind, also one that was killed.

All that a run starts inherits a mark in its environment. A keeper, in a session of its own, waits at a pipe for the run to
end in whatever way, and then ends what bears the mark.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

MARK = "JUPYTER_STREAM_TESTS"
"""The variable that marks what belongs to a run."""
GRACE = 10.0
"""Seconds that what is over has to end by itself, and again when it was told to."""


@contextmanager
def keeping(grace: float = GRACE) -> Iterator[dict[str, str]]:
    """Gives the variable for the environment of what is to be kept; the keeper starts here and ends with the block."""
    run = uuid.uuid4().hex
    command = [sys.executable, __file__, run, str(grace)]
    keeper = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield {MARK: run}
    finally:
        keeper.communicate()


def bearing(run: str) -> list[psutil.Process]:
    """The processes that bear the mark of a run."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == run and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.Error, OSError):  # gone meanwhile, or another user's
            continue
    return found


def end(run: str, grace: float) -> list[str]:
    """End what bears the mark and does not end by itself; gives what it was."""
    until = time.monotonic() + grace
    while (left := bearing(run)) and time.monotonic() < until:
        time.sleep(0.2)
    names = []
    for process in left:
        try:
            names.append(f"{process.pid} {' '.join(process.cmdline())[:100]}")
            process.terminate()
        except psutil.Error:
            continue
    for process in psutil.wait_procs(left, timeout=grace)[1]:
        try:
            process.kill()
        except psutil.Error:
            continue
    return names


if __name__ == "__main__":
    os.environ.pop(MARK, None)
    sys.stdin.buffer.read()  # until the other end is closed, by whomever
    if left := end(sys.argv[1], float(sys.argv[2])):
        print("\nLeft running by the tests, and ended:", *left, sep="\n  ", file=sys.stderr)
