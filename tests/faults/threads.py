"""Threads that began within a test: others may have been left running by tests before it, in the same process."""

from __future__ import annotations

import threading

_before: set[threading.Thread] = set()


def begin() -> None:
    """A test begins."""
    _before.clear()
    _before.update(threading.enumerate())


def begun() -> list[threading.Thread]:
    """What has begun since, and goes on."""
    return [t for t in threading.enumerate() if t not in _before]
