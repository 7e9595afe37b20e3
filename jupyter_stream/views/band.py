"""A band around a line: where the exact value is in 95% of cases, for answers that were worked out from some of the rows."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from jupyter_stream.core.snapshot import Snapshot
from jupyter_stream.views.fill import Fill
from jupyter_stream.views.line_order import by_series
from jupyter_stream.views.picture import Floats, Layer
from jupyter_stream.views.points import Points, floats
from jupyter_stream.views.roles import Roles

_SIGMAS: Final = 1.96
_LIGHT: Final = 0.5
"""Opacity beside that of an area: the line is to be seen."""


def errors_of(snapshot: Snapshot, roles: Roles) -> Floats | None:
    """The standard error of each point, NaN where none is known; None where answers have none."""
    rows = snapshot.rows
    dtype = rows.schema.get("precision")
    kinds = {f.name: f.dtype for f in dtype.fields} if isinstance(dtype, pl.Struct) else {}
    errors = kinds.get("error")
    if not isinstance(errors, pl.Struct):
        return None
    known = rows.get_column("precision").struct.field("error").struct.unnest()
    if not any(name in known.columns for name in roles.y):
        return None
    nothing = np.full(rows.height, np.nan)
    return np.concatenate([floats(known.get_column(n)) if n in known.columns else nothing for n in roles.y])


def band(data: Points, errors: Floats) -> Layer:
    """The band of each series that has a colour."""
    fill = Fill()
    low, high = limits(data.y, errors)
    order, starts = by_series(data)
    for s, label in enumerate(data.labels):
        of_series = order[starts[s] : starts[s + 1]]
        of_series = of_series[~data.beyond[of_series]]
        if label in data.slots and np.any(errors[of_series] > 0):
            fill.add(data.x[of_series], low[of_series], high[of_series], data.colour(s), _LIGHT)
    return fill.layer()


def limits(y: Floats, errors: Floats) -> tuple[Floats, Floats]:
    """Where the exact values are, with 95%."""
    wide = _SIGMAS * np.nan_to_num(errors)
    return y - wide, y + wide


__all__ = ["band", "errors_of", "limits"]
