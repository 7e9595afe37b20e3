import dataclasses

import numpy as np
import polars as pl
import pytest

from jupyter_stream.core.messages import TS
from jupyter_stream.summaries import SUMMARIES
from jupyter_stream.summaries.spec import SummarySpec
from jupyter_stream.summaries.stream_summary import StreamSummary
from jupyter_stream.views.chart import picture
from jupyter_stream.views.colours import Colours
from jupyter_stream.views.heatmap import SHADES
from jupyter_stream.views.options import ViewOptions
from jupyter_stream.views.svg import svg

SECOND = 1_000_000


def cells() -> pl.DataFrame:
    made = StreamSummary(SummarySpec(("item",), 60 * SECOND, 4, 3, SUMMARIES[0], buckets=16))
    rng = np.random.default_rng(2)
    for minute in range(12):
        times = rng.integers(minute * 60 * SECOND, (minute + 1) * 60 * SECOND, 3_000)
        made.insert(pl.DataFrame({TS: times, "item": rng.zipf(1.4, 3_000) % 200}))
        made.advance((minute + 1) * 60 * SECOND)
    return made.cells()


def draw(query, found: pl.DataFrame | None):
    snapshot = dataclasses.replace(query.advance(3).snapshot(), cells=found)
    return picture(snapshot, ViewOptions(chart="summary"), Colours())


def test_every_cell_is_a_box_and_every_zone_but_the_first_begins_with_a_line(demo):
    found = cells()
    drawn = draw(demo(), found)
    boxes, borders = (layer.columns for layer in drawn.layers)
    assert len(boxes["left"]) == found.height == drawn.rows.height
    zones = found.select("zone_start", "granularity").unique().sort("zone_start")
    assert len(borders["left"]) == zones.height - 1
    middle = (np.array(borders["left"]) + np.array(borders["right"])) / 2
    np.testing.assert_allclose(middle, zones.get_column("zone_start").to_numpy()[1:] / 1_000)
    changes = int((zones.get_column("granularity").diff().drop_nulls() != 0).sum())
    assert changes == 2
    assert sorted(borders["color"]).count("#d62728") == changes
    assert drawn.note is not None and drawn.note.endswith("3 granularities")


def test_the_busiest_cell_has_the_lightest_shade_and_an_empty_one_the_darkest(demo):
    found = pl.DataFrame(
        {"granularity": [1, 1], "zone_start": [0, 0], "zone_end": [SECOND] * 2, "bucket": [0, 1], "rows": [0, 50]}
    )
    drawn = draw(demo(), found)
    assert drawn.layers[0].columns["color"] == [SHADES[0], SHADES[-1]]
    assert drawn.rows.columns[-1] == ["0", "50"]
    assert "rows/s" in svg(drawn)


@pytest.mark.parametrize(
    ("seconds", "legend"),
    [(1, "34 rows/s"), (100, "20.4 rows/min"), (3600 * 12, "2.83 rows/h"), (86400 * 10, "3.4 rows/day")],
)
def test_few_rows_are_counted_by_the_hour_or_day(demo, seconds, legend):
    found = pl.DataFrame(
        {"granularity": [1], "zone_start": [0], "zone_end": [seconds * SECOND], "bucket": [0], "rows": [34]}
    )
    drawn = draw(demo(), found)
    assert [label for label, _ in drawn.legend[:2]] == [f"0 {legend.split()[1]}", legend]
    assert drawn.rows.names[-1] == legend.split()[1]


def test_a_query_without_a_summary_shows_its_rows(demo):
    drawn = draw(demo(), None)
    assert drawn.kind == "table" and drawn.note == "no summary is kept for this query"
