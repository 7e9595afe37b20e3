"""Policy: the input whose punctuation is furthest behind is served first, so that unions and joins hold least.

A replay of old data would starve a live input under it: for queries over one time axis only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from jupyter_stream.schedulers.fifo import FirstCome
from jupyter_stream.schedulers.protocol import Choice


class LeastProgress(FirstCome):
    """Serves the input that is furthest behind; each batch goes to completion."""

    name: ClassVar[str] = "least progress"
    description: ClassVar[str] = "the source furthest behind in time is served first, each batch to completion"

    def choose(self, ready: Sequence[Choice]) -> Choice:
        """The one with the least punctuation."""
        return min(ready, key=lambda i: i.low_watermark)
