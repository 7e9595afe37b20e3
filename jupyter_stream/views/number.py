"""The newest row's numbers, large."""

from __future__ import annotations

from typing import Final

from jupyter_stream.core.snapshot import Snapshot
from jupyter_stream.views import words
from jupyter_stream.views.colours import Colours
from jupyter_stream.views.picture import Picture, Table
from jupyter_stream.views.points import label_of
from jupyter_stream.views.roles import Roles

MOST_NUMBERS: Final = 6


class Number:
    """One large number, or a few."""

    name: Final = "number"

    def picture(self, snapshot: Snapshot, roles: Roles, colours: Colours) -> Picture:
        """The last row, and under it the time it is about."""
        row = snapshot.rows.tail(1)
        names = [n for n in roles.y if n in row.columns][:MOST_NUMBERS]
        light = bool(len(snapshot.final)) and not bool(snapshot.final[-1])
        note = None
        if snapshot.time_column in row.columns and row.height:
            assert snapshot.time_column is not None
            note = f"{snapshot.time_column} {words.cells(row.get_column(snapshot.time_column))[0]}"
        cells: list[list[str]] = []
        for name in names:
            value = row.get_column(name)
            cells.append([words.number(v) for v in value] if value.dtype.is_numeric() else words.cells(value))
        labels = tuple(label_of(n, snapshot, row) for n in names)
        return Picture("number", Table(labels, tuple(cells), (True,) * len(names), (light,) * row.height), note=note)
