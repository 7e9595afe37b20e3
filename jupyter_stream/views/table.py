"""Rows as they are: the newest of a stream, newest first; a relation's state in its own order; or the largest of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from jupyter_stream.core.snapshot import Snapshot
from jupyter_stream.views.colours import Colours
from jupyter_stream.views.picture import Picture
from jupyter_stream.views.points import floats, table_of
from jupyter_stream.views.roles import Roles

_WINDOW: Final = ("window_start", "window_end", "window_id")
MOST_ROWS: Final = 100
"""Rows in a table that changes while it is read."""


class TableChart:
    """A table."""

    name: Final = "table"

    def picture(self, snapshot: Snapshot, roles: Roles, colours: Colours) -> Picture:
        """At most `MOST_ROWS` rows; with `top`, so many of the largest first number."""
        frame = snapshot.rows
        ranked = ""
        if roles.top is not None and roles.y:
            size = floats(frame.get_column(roles.y[0]))
            order = np.argsort(np.where(np.isnan(size), np.inf, -size), kind="stable")[: min(roles.top, MOST_ROWS)]
            ranked = f", those with the largest {roles.y[0]}"
        elif snapshot.relation:
            order = np.arange(min(MOST_ROWS, frame.height))
        else:
            order = np.arange(frame.height)[::-1][:MOST_ROWS]
        rows, final = (
            frame[order],
            snapshot.final.gather(order) if len(snapshot.final) == frame.height else snapshot.final,
        )
        total = frame.height if snapshot.total is None else max(snapshot.total, frame.height)
        if ranked and total > frame.height:
            ranked += f" of the newest {frame.height:,}"
        when = tuple(i for i, name in enumerate(rows.columns) if name in (*_WINDOW, snapshot.time_column))
        keys = tuple(i for i, name in enumerate(rows.columns) if name in snapshot.key_columns)
        one_each = bool(keys) and not rows.select(rows.columns[i] for i in keys).is_duplicated().any()
        drawn = Picture("table", table_of(snapshot, rows, final), total=total, ranked=ranked, steady=when)
        return replace(drawn, note=drawn.foot(rows.height), keys=keys if one_each else ())
