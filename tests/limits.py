"""Every try of a test has its limits, and so has its end.

pytest-timeout sets its limit once for a test, and the first failure takes it away: a second try, and the end of the fixtures of
what has failed, could go on for ever. A test that even its limit can't end, within a library, is told with all stacks, and its
worker ends; another takes its place. pytest begins a thread for that, for every test: here it is one for the tests of a minute.
"""

from __future__ import annotations

import faulthandler
import math
import signal
import time

import pytest
import pytest_timeout
from _pytest.faulthandler import fault_handler_stderr_fd_key

BEYOND, ANEW = 1_900.0, 60.0
"""Seconds after which a worker is ended, and how old that limit may be when a test begins: above the longest limit of a test."""

_begun = -math.inf


def set_again(item: pytest.Item) -> None:
    """Set the limits of a try that has none any more."""
    global _begun
    settings = pytest_timeout.get_env_settings(item.config)
    if marker := item.get_closest_marker("timeout"):
        settings = settings._replace(timeout=marker.args[0])
    if settings.timeout and not signal.getitimer(signal.ITIMER_REAL)[0]:
        item.ihook.pytest_timeout_set_timer(item=item, settings=settings)
    if time.monotonic() - _begun >= ANEW:
        _begun = time.monotonic()
        faulthandler.dump_traceback_later(BEYOND, file=item.config.stash[fault_handler_stderr_fd_key], exit=True)


def pytest_exception_interact() -> None:
    """pytest takes the limit of a worker away where a test has failed: the next thing that begins sets it again."""
    global _begun
    _begun = -math.inf


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    set_again(item)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    set_again(item)


def pytest_sessionfinish() -> None:
    faulthandler.cancel_dump_traceback_later()  # what ends now ends with the run
