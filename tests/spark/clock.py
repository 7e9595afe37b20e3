"""A clock that speaks for silent streams when a test says so: how long rows take to be read makes no difference then."""

from __future__ import annotations

import threading

import pytest

from jupyter_stream.engine.feed import Feed


class HeldClock:
    """The clock of all feeds, which says nothing of them until it is let speak.

    Args:
        monkeypatch: undoes it at the end of the test.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._speaks = threading.Event()
        says = Feed.enabling_time
        monkeypatch.setattr(Feed, "enabling_time", lambda feed: says(feed) if self._speaks.is_set() else None)

    def hold(self) -> None:
        """Say nothing from now on."""
        self._speaks.clear()

    def speak(self) -> None:
        """Say what time it is where a stream is silent."""
        self._speaks.set()
