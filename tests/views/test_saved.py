import base64
import dataclasses
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from jupyter_stream.views import saved
from jupyter_stream.views.chart import KINDS, picture
from jupyter_stream.views.colours import Colours
from jupyter_stream.views.options import ViewOptions
from jupyter_stream.views.paper import WIDTH
from jupyter_stream.views.picture import Picture, Table
from jupyter_stream.views.svg import svg
from tests.views.test_colours import contrast

PAGES = ("#ffffff", "#111111", "#1e1e1e")
EVIL = "<script>alert(1)</script>\"'&\x00]]>"
EMS = {",": 0.38, ".": 0.38, " ": 0.35, "-": 0.42, "+": 0.84, "(": 0.46, ")": 0.46, "G": 0.82, "%": 1.0}
"""How wide characters are in DejaVu Sans Bold; digits are 0.7."""


def page(query, **options):
    snapshot = query.snapshot()
    drawn = picture(snapshot, ViewOptions(**options), Colours()) if snapshot.rows.height else None
    return saved.html(snapshot, drawn, 1_700_000_000)


def image(html):
    return base64.b64decode(re.search(r"data:image/svg\+xml;base64,([^\"]+)", html)[1]).decode()


@pytest.mark.parametrize("chart", [kind.name for kind in KINDS])
@pytest.mark.parametrize("shape", ["window", "keys"])
def test_markup_in_data_and_names_is_text(demo, chart, shape):
    query = demo(name=EVIL, keys=[EVIL, "b"], shape=shape, units={"speed": EVIL, "n": EVIL}).advance(4)
    query.hint = query.error = EVIL
    html = page(query, chart=chart)
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    if "data:image" in html:
        assert "<script" not in image(html)


@pytest.mark.parametrize("shape", ["window", "keys"])
@pytest.mark.parametrize("chart", [kind.name for kind in KINDS])
def test_the_picture_is_well_formed_and_small(demo, chart, shape):
    query = demo(keys=[EVIL, *(f"k{i}" for i in range(14))], shape=shape).advance(40)
    drawn = picture(query.snapshot(), ViewOptions(chart=chart), Colours())
    if drawn.kind != "table":
        root = ET.fromstring(svg(drawn))
        assert root.tag.endswith("svg")
        assert len(svg(drawn)) < 150_000


def test_a_saved_view_has_the_picture_the_last_rows_and_one_line(demo):
    query = demo(keys=["north"]).advance(12)
    query.stop()
    html = page(query)
    assert "<polyline" in image(html) or "<path" in image(html)
    assert html.count("<tr") == 1 + saved.LAST_ROWS
    assert "<b>demo</b>: stopped at " in html


def test_a_picture_of_a_running_query_is_stamped_with_its_time(demo):
    query = demo().advance(3)
    assert "<b>demo</b>: as of 2023-11-1" in page(query) and ": running, 37.0 k rows in" in page(query)


def test_without_rows_it_says_why(demo):
    assert "waiting for the first row" in page(demo())


@pytest.mark.parametrize("figure", ["7", "21.04 G", "123,456,789", "-999,999,999.5", "1,234,567,890,123,456,789"])
@pytest.mark.parametrize("count", [1, 2, 6])
def test_numbers_side_by_side_are_whole_and_leave_room_between(figure, count):
    rows = Table(tuple("abcdef"[:count]), ([figure],) * count, (True,) * count)
    drawn = Picture("number", rows, past=(np.array([1e9, 3.624e9]),) * count)
    texts = [part for part in ET.fromstring(svg(drawn)).iter() if part.get("y") in ("56.0", "74.0")]
    assert {text.text for text in texts} == {figure, "+ 2.624 G (262.4%)"}
    for text in texts:
        assert (
            sum(EMS.get(character, 0.7) for character in text.text) * float(text.get("font-size", 11))
            < (WIDTH - 20) / count - 6
        )


def test_numbers_are_saved_as_text(demo):
    assert "6,172.5" in image(page(demo(shape="number").advance(5)))


@pytest.mark.parametrize(("rows", "foot"), [(8, None), (30, "showing 10 of 30"), (1548, "showing 10 of 1,548")])
def test_the_foot_of_a_saved_table_counts_what_is_in_it(demo, rows, foot):
    query = demo(shape="keys", keys=[f"k{i:04}" for i in range(rows)]).advance(1)
    query.stop()
    whole = dataclasses.replace(query.snapshot(5000), total=rows)
    html = saved.html(whole, picture(whole, ViewOptions(chart="table"), Colours()), 1_700_000_000)
    assert html.count("<tr") == 1 + min(rows, 10)
    assert re.findall(r"<p>(showing .*?)</p>", html) == ([foot] if foot else [])


def test_the_foot_of_a_table_on_paper_counts_what_is_on_it(demo):
    query = demo(shape="keys", keys=[f"k{i:04}" for i in range(60)]).advance(1)
    assert "showing 40 of 60<" in svg(picture(query.snapshot(5000), ViewOptions(chart="table"), Colours()))
    top = picture(query.snapshot(5000), ViewOptions(chart="table", top=50), Colours())
    assert (top.note, "showing 40 of 60, those with the largest n<" in svg(top)) == (
        "showing 50 of 60, those with the largest n",
        True,
    )


def test_a_saved_table_of_a_stream_has_its_newest_rows_first_as_the_live_one(demo):
    html = page(demo(shape="events").advance(30))
    assert re.findall(r"event \d+", html) == [f"event {i}" for i in range(30, 20, -1)]


def test_a_saved_chart_says_what_the_live_one_says_under_it(demo):
    html = page(demo(shape="keys", keys=[f"k{i}" for i in range(60)]).advance(3))
    assert "<p>the 40 largest of 60 bars</p>" in html


@pytest.mark.parametrize("chart", [kind.name for kind in KINDS if kind.name not in ("table", "summary")])
def test_a_saved_picture_is_read_on_light_and_dark_pages(demo, chart):
    """It has no paper of its own, and its words are as far from white as from black."""
    drawn = ET.fromstring(image(page(demo(keys=["north", "south"]).advance(12), chart=chart)))
    width = drawn.get("width")
    assert not [box for box in drawn.iter() if box.tag.endswith("rect") and box.get("width") == f"{width}.0"]
    inks = {part.get("fill") for part in drawn.iter() if part.tag.endswith("text")}
    assert inks and min(contrast(ink, page) for ink in inks for page in PAGES) > 4
    lines = {part.get("stroke") for part in drawn.iter() if part.get("stroke-width")}
    assert not lines & {"#bd1f01", "#832db6"}  # these can't be seen on dark pages
