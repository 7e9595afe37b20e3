"""What a chart kind is, and which there are. To add one: a file like `bar.py` and a place in `KINDS`."""

from __future__ import annotations

import dataclasses
from typing import Final, Protocol

from jupyter_stream.core.snapshot import Snapshot
from jupyter_stream.views.area import Area
from jupyter_stream.views.bar import Bar
from jupyter_stream.views.colours import Colours
from jupyter_stream.views.heatmap import Heatmap
from jupyter_stream.views.late import with_late_rows
from jupyter_stream.views.line import Line
from jupyter_stream.views.multiples import multiples
from jupyter_stream.views.number import Number
from jupyter_stream.views.options import ViewOptions
from jupyter_stream.views.picture import Picture
from jupyter_stream.views.points import micros
from jupyter_stream.views.roles import Roles, resolve
from jupyter_stream.views.scatter import Scatter
from jupyter_stream.views.summary_map import SummaryMap
from jupyter_stream.views.table import TableChart


class Chart(Protocol):
    """A chart kind."""

    @property
    def name(self) -> str:
        """What `--chart` calls it."""

    def picture(self, snapshot: Snapshot, roles: Roles, colours: Colours) -> Picture:
        """The chart of a snapshot that has at least one row."""


KINDS: Final[tuple[Chart, ...]] = (
    Line(),
    Bar(),
    Area(),
    Scatter(),
    Heatmap(),
    SummaryMap(),
    TableChart(),
    Number(),
)
"""Their names are also in `options.CHARTS`; a test holds the two together."""


_RANKED: Final = ("bar", "table")
"""Charts of the largest, or of so many, of all rows of a relation; others show as many as `--last` says."""


def picture(snapshot: Snapshot, options: ViewOptions, colours: Colours) -> Picture:
    """The picture of a snapshot.

    Raises:
        QueryError: the options name a column or chart that doesn't exist.
    """
    snapshot = _last(snapshot, options.span)
    roles = resolve(snapshot, options)
    if snapshot.relation and roles.chart not in _RANKED:
        kept = slice(None, options.rows) if snapshot.ordered else slice(-options.rows, None)
        snapshot = dataclasses.replace(snapshot, rows=snapshot.rows[kept], final=snapshot.final[kept])
    kind = next(k for k in KINDS if k.name == (roles.chart if roles.chart != "none" else "table"))
    drawn = multiples(kind, snapshot, roles, colours) if roles.multiples else kind.picture(snapshot, roles, colours)
    return with_late_rows(drawn, snapshot, roles) if kind.name != "summary" else drawn


def _last(snapshot: Snapshot, span: int | None) -> Snapshot:
    column = snapshot.time_column
    if span is None or column not in snapshot.rows.columns or not snapshot.rows.height:
        return snapshot
    assert column is not None
    times = micros(snapshot.rows.get_column(column))
    newest = times.max()
    assert newest is None or isinstance(newest, int)
    kept = (times > (newest or 0) - span).fill_null(True)
    final = snapshot.final.filter(kept) if len(snapshot.final) == len(kept) else snapshot.final
    return dataclasses.replace(snapshot, rows=snapshot.rows.filter(kept), final=final, total=None)
