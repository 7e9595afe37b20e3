"""Every try of a test has its limits, and so has its end.

pytest-timeout and pytest's faulthandler set theirs once for a test, and its first failure takes them away: a second try, and the
end of the fixtures of what has failed, could go on for ever.
"""

from __future__ import annotations

import faulthandler
import signal

import pytest
import pytest_timeout
from _pytest.faulthandler import fault_handler_stderr_fd_key


def set_again(item: pytest.Item) -> None:
    """Set the limits of a try that has none any more."""
    settings = pytest_timeout.get_env_settings(item.config)
    if marker := item.get_closest_marker("timeout"):
        settings = settings._replace(timeout=marker.args[0])
    spent = not signal.getitimer(signal.ITIMER_REAL)[0]
    if spent and settings.timeout:
        item.ihook.pytest_timeout_set_timer(item=item, settings=settings)
    beyond = float(item.config.getini("faulthandler_timeout") or 0)
    if beyond and (spent or getattr(item, "execution_count", 1) > 1):
        faulthandler.dump_traceback_later(beyond, file=item.config.stash[fault_handler_stderr_fd_key], exit=True)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    set_again(item)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    set_again(item)
