"""See a data stream: continuous SQL with live charts in a notebook, in the kernel or on Spark."""

from __future__ import annotations

__version__ = "0.1.0"
