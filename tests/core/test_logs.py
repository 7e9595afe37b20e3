"""The log: whoever tells it something waits for nobody, and it has what was told, in order, with where that was."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import textwrap
import threading
import weakref

import pytest

from jupyter_stream.core import logs
from tests.waiting import until

log = logs.of(__name__)


def test_it_has_what_was_told_in_order_with_where_and_by_whom(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, __name__):
        log.debug("nobody wants to know")
        for i in range(100):
            log.info("%d of %s", i, "many")
        try:
            raise ValueError("why")
        except ValueError as error:
            log.exception("failed")
            log.error("failed before", exc_info=error, extra={"more": "it"})
        assert logs.flush()
    told = [record.getMessage() for record in caplog.records]
    assert told == [*(f"{i} of many" for i in range(100)), "failed", "failed before"]
    last = caplog.records[-2]
    assert (last.filename, last.funcName, last.threadName) == (
        "test_logs.py",
        test_it_has_what_was_told_in_order_with_where_and_by_whom.__name__,
        threading.current_thread().name,
    )
    assert "ValueError: why" in caplog.text and all(record.exc_info for record in caplog.records[-2:])
    assert vars(caplog.records[-1])["more"] == "it"


def test_a_handler_that_is_held_holds_up_nobody_and_what_was_told_is_written_later() -> None:
    class Keeps(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            kept.append(record.getMessage())

    kept: list[str] = []
    handler = Keeps()
    logger = logging.getLogger(__name__)
    logger.addHandler(handler)
    try:
        handler.acquire()  # as if its thread had been hit just there
        try:
            for i in range(3):
                log.error("%d", i)
            assert not logs.flush(0.05)
        finally:
            handler.release()
        assert logs.flush()
        assert kept == ["0", "1", "2"]
    finally:
        logger.removeHandler(handler)


def test_what_a_handler_raises_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Raises(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise SystemExit

    handler = Raises()
    logger = logging.getLogger(__name__)
    logger.addHandler(handler)
    log.error("first")
    assert logs.flush()
    logger.removeHandler(handler)
    log.error("second")
    assert logs.flush()
    assert "second" in caplog.text


PROGRAM = """
    import logging, os, sys
    from jupyter_stream.core import logs

    logging.basicConfig(stream=sys.stdout, format="%(message)s")
    log = logs.of("here")
    log.error("before")
    assert logs.flush()
    if not (child := os.fork()):
        log.error("in the child")
        assert logs.flush()
        os._exit(0)
    os.waitpid(child, 0)
    log.error("at the end")
"""


def test_it_is_whole_when_a_process_ends_and_goes_on_in_a_fork() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=200, env=environment, check=True)
    assert ended.stdout.split("\n") == ["before", "in the child", "at the end", ""]


def test_it_holds_on_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Thing:
        pass

    monkeypatch.setattr(log.logger, "propagate", False)
    monkeypatch.setattr(log.logger, "handlers", [logging.NullHandler()])
    thing = Thing()
    weak = weakref.ref(thing)
    log.error("%s", thing)
    del thing
    until(lambda: weak() is None)
