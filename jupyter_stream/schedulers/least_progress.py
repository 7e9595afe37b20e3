"""Policy: the input whose punctuation is furthest behind is served first, so that unions and joins hold least.

A replay of old data would starve a live input under it: for queries over one time axis only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from jupyter_stream.schedulers.protocol import Choice


class LeastProgress:
    """Serves the input that is furthest behind."""

    name: ClassVar[str] = "least progress"

    def choose(self, ready: Sequence[Choice]) -> Choice:
        """The one with the least punctuation."""
        return min(ready, key=lambda i: i.low_watermark)
