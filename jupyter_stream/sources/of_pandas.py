"""Which values are pandas', without importing it: that takes a third of a second, and before it no value of its own exists."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    import pandas as pd


def is_pandas_frame(value: object) -> TypeGuard[pd.DataFrame]:
    """Whether it is a `pandas.DataFrame`."""
    return isinstance(value, _known("DataFrame"))


def is_pandas_column(value: object) -> bool:
    """Whether it is a `pandas.Series` or an index."""
    return isinstance(value, (*_known("Series"), *_known("Index")))


def is_pandas_null(value: object) -> bool:
    """Whether it is one of the two values that stand for none, `NaT` and `NA`."""
    if type(value).__name__ not in ("NaTType", "NAType"):  # asked of every value of Python objects
        return False
    return any(value is null for null in (*_known("NaT"), *_known("NA")))


def _known(name: str) -> tuple[Any, ...]:
    """What pandas calls so; nothing where it isn't there, or not yet whole."""
    found = getattr(sys.modules.get("pandas"), name, None)
    return () if found is None else (found,)
