"""The log, written by a thread of its own: whoever tells it something takes no lock.

A handler of Python's takes its lock in a function written in Python: an exception that another thread raises just as that
function returns (a step that is given up is ended so) leaves the lock held for ever, and every thread of the process that writes
to its log afterwards stands still.
"""

from __future__ import annotations

import _thread
import atexit
import logging
import os
import queue
import sys
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, TypeAlias

_AT_EXIT: Final = 2.0
"""Seconds in which what was told is written when the process ends."""

ExcInfo: TypeAlias = (
    bool
    | BaseException
    | tuple[type[BaseException], BaseException, TracebackType | None]
    | tuple[None, None, None]
    | None
)


class Log(logging.LoggerAdapter[logging.Logger]):
    """A logger whose records are made where something is told, and go through its handlers in the thread that writes the log."""

    def log(
        self, level: int, msg: object, *args: object,
        exc_info: ExcInfo = None, extra: Mapping[str, object] | None = None, **_: Any,
    ) -> None:  # fmt: skip
        """Tell something; that thread asks whether somebody wants to know. `stack_info` and `stacklevel` do nothing."""
        if isinstance(exc_info, BaseException):
            exc_info = (type(exc_info), exc_info, exc_info.__traceback__)
        elif isinstance(exc_info, bool):
            exc_info = sys.exc_info() if exc_info else None
        caller = sys._getframe(1)
        while caller.f_back is not None and caller.f_code.co_filename == logging.__file__:  # `exception`, `error`
            caller = caller.f_back
        at = caller.f_code
        record = self.logger.makeRecord(
            self.logger.name, level, at.co_filename, caller.f_lineno, msg, args, exc_info, at.co_name, extra
        )
        _told.put((self.logger, record))
        _see_to_it()


_Told: TypeAlias = "tuple[logging.Logger, logging.LogRecord] | queue.SimpleQueue[None]"
_told: queue.SimpleQueue[_Told] = queue.SimpleQueue()
_begun = False


def of(name: str) -> Log:
    """The log of a module."""
    return Log(logging.getLogger(name), {})


def flush(timeout: float = 100.0) -> bool:
    """Wait, so many seconds at most, until what was told so far is written. Returns whether it is."""
    if not _begun:
        return True
    written: queue.SimpleQueue[None] = queue.SimpleQueue()
    _told.put(written)
    try:
        written.get(timeout=timeout)
    except queue.Empty:
        return False
    return True


def _see_to_it() -> None:
    """See to it that the thread is there. It is begun as C code does it: `Thread.start` waits at a lock."""
    global _begun
    if not _begun:
        _begun = True  # at once: neither another thread nor an exception can come before the next call
        try:
            _thread.start_new_thread(_write, (_told,))
        except RuntimeError:  # there is none to be had now: it is written when the next one tells something
            _begun = False


def _write(told: queue.SimpleQueue[_Told]) -> None:
    while True:
        each = told.get()
        with suppress(BaseException):  # what handlers raise
            if isinstance(each, tuple):
                _handle(*each)
            else:
                each.put(None)
        del each  # while it waits it holds on to nothing


def _handle(logger: logging.Logger, record: logging.LogRecord) -> None:
    if logger.isEnabledFor(record.levelno):
        logger.handle(record)


def _forked() -> None:
    global _told, _begun
    _told, _begun = queue.SimpleQueue(), False


atexit.register(flush, _AT_EXIT)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)

__all__ = ["Log", "flush", "of"]
