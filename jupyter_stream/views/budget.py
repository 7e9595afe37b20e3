"""How much may be sent to pages, over all views together: the server drops what is beyond 1,000 messages or 1 MB a second."""

from __future__ import annotations

from typing import Final

BYTES: Final = 500_000.0
MESSAGES: Final = 120.0
"""A second, of ours; the page's questions and the kernel's own answers to them come on top."""


class ViewBudget:
    """Bytes and messages left, at most a second's worth of each."""

    def __init__(self) -> None:
        self._bytes, self._messages = BYTES, MESSAGES

    @property
    def left(self) -> bool:
        """Whether another message may go."""
        return self._bytes > 0 and self._messages >= 1

    def refill(self, seconds: float) -> None:
        """Time has gone by."""
        self._bytes = min(BYTES, self._bytes + seconds * BYTES)
        self._messages = min(MESSAGES, self._messages + seconds * MESSAGES)

    def spend(self, sent: int) -> None:
        """A message of so many bytes has gone; 0 for none."""
        self._bytes -= sent
        self._messages -= sent > 0
