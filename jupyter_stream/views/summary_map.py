"""The summary behind a query: value buckets over time, coloured by rows in a time; lines where zones and granularities begin."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from jupyter_stream.core.far import shown
from jupyter_stream.core.snapshot import Snapshot
from jupyter_stream.views import words
from jupyter_stream.views.colours import Colours
from jupyter_stream.views.heatmap import SHADES
from jupyter_stream.views.picture import Axis, Column, Floats, Layer, Picture, Table
from jupyter_stream.views.points import table_of
from jupyter_stream.views.roles import Roles

_ZONE, _GRANULARITY = "#ffffff", "#d62728"
_UNITS: Final = (("rows/s", 1.0), ("rows/min", 60.0), ("rows/h", 3600.0), ("rows/day", 86400.0))
"""The first in which the busiest cell has one row or more."""
_THIN: Final = 1 / 700
"""Of the width: about a pixel."""


class SummaryMap:
    """A heat map of the cells of the query's first summary."""

    name: Final = "summary"

    def picture(self, snapshot: Snapshot, roles: Roles, colours: Colours) -> Picture:
        """The cells; the rows as a table while the query keeps no summary."""
        cells = snapshot.cells
        if cells is None or not cells.height:
            return Picture("table", table_of(snapshot), note="no summary is kept for this query")
        start, end = (cells.get_column(c).to_numpy() / 1_000.0 for c in ("zone_start", "zone_end"))
        bucket = cells.get_column("bucket").to_numpy().astype(np.float64)
        rate = cells.get_column("rows").to_numpy() / np.maximum((end - start) / 1_000, 1e-6)
        high = float(rate.max())
        # a few values have most of the rows: on a linear scale all others would look alike
        level = np.log1p(rate / high * 99) / np.log(100) if high else np.zeros_like(rate)
        shade = (level * (len(SHADES) - 1)).astype(np.int64)
        first, last = float(start.min()), float(end.max())
        boxes: dict[str, Column] = {
            "left": start, "right": end, "bottom": bucket, "top": bucket + 1, "row": np.arange(cells.height, dtype=np.float64),
            "color": [SHADES[s] for s in shade], "alpha": np.ones(cells.height),
        }  # fmt: skip
        buckets = float(bucket.max()) + 1
        unit, seconds = next((u for u in _UNITS if high * u[1] >= 1), _UNITS[-1])
        legend = (
            (f"0 {unit}", SHADES[0]),
            (f"{words.number(float(f'{high * seconds:.3g}'))} {unit}", SHADES[-1]),
            ("a granularity begins", _GRANULARITY),
        )
        return Picture(
            "plot",
            _table(cells, rate * seconds, unit),
            Axis("event time", "time", first, last),
            Axis("value bucket", "number", 0.0, buckets),
            (Layer("boxes", boxes), _borders(cells, last - first, buckets)),
            legend,
            note=f"{cells.get_column('zone_start').n_unique()} zones, {cells.get_column('granularity').n_unique()} granularities",
        )


def _borders(cells: pl.DataFrame, width: float, buckets: float) -> Layer:
    """A line at the start of each zone but the first; another colour where the granularity is another than before."""
    zones = cells.select("zone_start", "granularity").unique().sort("zone_start")
    at: Floats = zones.get_column("zone_start").to_numpy()[1:] / 1_000.0
    new = np.diff(zones.get_column("granularity").to_numpy()) != 0
    half = np.where(new, 1.5, 0.75) * _THIN * width
    nothing = np.full(at.size, -1.0)  # no row to show
    return Layer(
        "boxes",
        {"left": at - half, "right": at + half, "bottom": np.zeros(at.size), "top": np.full(at.size, buckets), "row": nothing,
         "color": [_GRANULARITY if n else _ZONE for n in new], "alpha": np.ones(at.size)},
    )  # fmt: skip


def _table(cells: pl.DataFrame, rate: Floats, unit: str) -> Table:
    """What a pointer over a cell shows."""
    times = [
        shown(cells.get_column(c).cast(pl.Datetime("us")), "%Y-%m-%d %H:%M:%S") for c in ("zone_start", "zone_end")
    ]
    columns = (
        [f"G{g}" for g in cells.get_column("granularity")],
        times[0].to_list(),
        times[1].to_list(),
        [str(b) for b in cells.get_column("bucket")],
        [words.number(n) for n in cells.get_column("rows")],
        [words.number(r) for r in rate.tolist()],
    )
    names = ("granularity", "from", "to", "bucket", "rows", unit)
    return Table(names, columns, (False, False, False, True, True, True), (False,) * cells.height)
