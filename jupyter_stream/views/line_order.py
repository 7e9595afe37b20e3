"""Points in the order in which a line goes through them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jupyter_stream.views.points import Points


def by_series(data: Points) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The points series by series, from left to right, and where each series begins among them."""
    order = np.lexsort((data.x, data.series)).astype(np.int64)
    return order, np.searchsorted(data.series[order], np.arange(len(data.labels) + 1)).astype(np.int64)


__all__ = ["by_series"]
