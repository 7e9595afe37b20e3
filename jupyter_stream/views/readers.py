"""Which pages show a view, as they say themselves, and how often it is worth sending to them. Not for what is sent."""

from __future__ import annotations

from typing import Any, Final

SILENCE: Final = 130.0
"""Seconds without a word from a page (they speak every 20, hidden ones every 60) after which it is presumed closed."""
OFF_SCREEN_EVERY: Final = 3.0
"""Seconds between frames for pages that have the view somewhere off the screen: of twenty views a reader sees three."""
CLOSED_EVERY: Final = 10.0
"""Seconds between frames where all pages are presumed closed: the server keeps every message for a page that may come back."""


class Readers:
    """The pages of one view.

    Attributes:
        heard: whether any page ever spoke. With ipykernel 6 none can while a cell runs, so a silent page is presumed to look on.
    """

    def __init__(self) -> None:
        self.heard = False
        self._pages: dict[str, tuple[float, bool]] = {}
        self._served = float("-inf")

    def hear(self, said: dict[str, Any], now: float) -> None:
        """Note what a page says of itself: `page`, its name, and `seen`, whether it has the view on its screen. Any thread."""
        self._pages[str(said.get("page", ""))] = (now, bool(said.get("seen", True)))
        self.heard = True

    def due(self, now: float) -> bool:
        """Whether a frame is worth sending now; if so it is counted as sent. `now` is `time.monotonic()`."""
        if now - self._served < self._pause(now):
            return False
        self._served = now
        return True

    def _pause(self, now: float) -> float:
        there = [seen for at, seen in list(self._pages.values()) if now - at < SILENCE]
        if not self.heard or any(there):
            return 0.0
        return OFF_SCREEN_EVERY if there else CLOSED_EVERY
