"""One window per file: which extents it has, or which lifetime it gives a row."""

from tests.oracle.windows.lifetime import Lifetime
from tests.oracle.windows.time import TimeExtents
from tests.oracle.windows.tuples import TupleExtents

__all__ = ["Lifetime", "TimeExtents", "TupleExtents", "Window"]

Window = TimeExtents | TupleExtents | Lifetime
