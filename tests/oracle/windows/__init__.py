"""One window per file: which extents it has, or which lifetime it gives a row."""

from tests.oracle.windows.lifetime import Lifetime
from tests.oracle.windows.time import TimeExtents

__all__ = ["Lifetime", "TimeExtents", "Window"]

Window = TimeExtents | Lifetime
