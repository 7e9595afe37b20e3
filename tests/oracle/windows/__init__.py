"""One window per file: which extents it has, or which lifetime it gives a row."""

from tests.oracle.windows.cumulate import Growing
from tests.oracle.windows.lifetime import Lifetime
from tests.oracle.windows.newest import NewestRows
from tests.oracle.windows.rows import RowExtents
from tests.oracle.windows.session import Sessions
from tests.oracle.windows.time import TimeExtents
from tests.oracle.windows.tuples import TupleExtents

__all__ = ["Growing", "Lifetime", "NewestRows", "RowExtents", "Sessions", "TimeExtents", "TupleExtents", "Window"]

Window = TimeExtents | TupleExtents | Lifetime | RowExtents | Sessions
