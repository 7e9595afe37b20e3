"""Rows as they are: the newest of a stream, newest first; a relation's state in its own order."""

from __future__ import annotations

from typing import Final

from jupyter_stream.core.snapshot import Snapshot
from jupyter_stream.views.colours import Colours
from jupyter_stream.views.picture import Picture
from jupyter_stream.views.points import table_of
from jupyter_stream.views.roles import Roles

MOST_ROWS: Final = 100
"""Rows in a table that changes while it is read."""


class TableChart:
    """A table."""

    name: Final = "table"

    def picture(self, snapshot: Snapshot, roles: Roles, colours: Colours) -> Picture:
        """At most `MOST_ROWS` rows."""
        final = snapshot.final
        if snapshot.relation:
            rows, final = snapshot.rows.head(MOST_ROWS), final.head(MOST_ROWS)
        else:
            rows, final = snapshot.rows.tail(MOST_ROWS).reverse(), final.tail(MOST_ROWS).reverse()
        over = snapshot.rows.height - rows.height
        note = f"{over:,} more rows" if over else None
        return Picture("table", table_of(snapshot, rows, final), note=note)
