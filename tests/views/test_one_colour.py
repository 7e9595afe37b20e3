"""A key has one colour in all charts of a notebook: as a line, a bar, a small chart, and the line beside its number."""

import dataclasses
import json

import polars as pl
import pytest

from jupyter_stream.views.chart import picture
from jupyter_stream.views.colours import OTHERS, PALETTE, Colours
from jupyter_stream.views.message import head
from jupyter_stream.views.options import ViewOptions
from jupyter_stream.views.svg import svg


@pytest.fixture
def notebook():
    """Draws queries as charts of one notebook do, each with colours of its own that agree with the others'."""
    together = Colours()

    def draw(query, colours=None, **options):
        colours = colours or Colours()
        colours.join(together)
        kept.append(colours)
        return picture(query.snapshot() if hasattr(query, "snapshot") else query, ViewOptions(**options), colours)

    kept: list[Colours] = []
    return draw


def lines(drawn):
    return dict(drawn.legend)


def bars(drawn):
    assert drawn.x.kind == "category"
    columns = drawn.layers[0].columns
    return {
        drawn.x.factors[int(left + 0.5)]: colour for left, colour in zip(columns["left"], columns["color"], strict=True)
    }


def test_bars_over_a_key_have_the_colours_of_its_lines(demo, notebook):
    line = lines(notebook(demo().advance(3)))
    assert len(set(line.values())) == 3
    bar = notebook(demo(shape="keys", keys=["west", "east", "south", "north"]).advance(3))
    assert bars(bar) == {**line, "west": bars(bar)["west"]}
    assert bars(bar)["west"] not in line.values()
    assert bar.legend == ()  # the axis says which bar is whose


def test_lines_that_come_after_bars_have_the_colours_of_the_bars(demo, notebook):
    bar = bars(notebook(demo(shape="keys").advance(3)))
    assert lines(notebook(demo().advance(3))) == bar


def test_one_query_as_lines_and_as_bars(demo, notebook):
    query, colours = demo().advance(3), Colours()
    line = lines(notebook(query, colours))
    assert bars(notebook(query, colours, chart="bar", x="place")) == line


def test_a_number_of_a_key_has_the_keys_colour(demo, notebook):
    line = lines(notebook(demo().advance(3)))
    tiles = notebook(demo().advance(3), chart="number")
    keys = [name.partition(" ")[0] for name in tiles.rows.names]
    assert dict(zip(keys, tiles.shades, strict=True)) == line
    assert head(demo().advance(3).snapshot(), tiles, None, (0, 0))["shades"] == list(tiles.shades)
    assert all(f'stroke="{colour}"' in svg(tiles) for colour in tiles.shades)


def test_numbers_of_columns_have_no_keys_colour(demo, notebook):
    tiles = notebook(demo(shape="number").advance(3), chart="number")
    assert tiles.shades == () and json.dumps(head(demo().advance(1).snapshot(), tiles, None, (0, 0))["shades"]) == "[]"


@pytest.mark.parametrize("chart", ["line", "area", "scatter", "bar"])
def test_a_small_chart_is_in_its_keys_colour(demo, notebook, chart):
    line = lines(notebook(demo().advance(3)))
    small = notebook(demo().advance(3), chart=chart, x="window_end", by="place", multiples=True)
    for name, panel in small.panels:
        assert {colour for layer in panel.layers for colour in layer.columns["color"]} == {line[name]}


def test_beyond_ten_the_smaller_bars_share_a_colour_and_are_no_fainter(demo, notebook):
    keys = [f"k{i:02}" for i in range(14)]
    bar = notebook(demo(shape="keys", keys=keys).advance(3))
    assert [colour for colour in bars(bar).values() if colour == OTHERS] == [OTHERS] * 4
    assert {bars(bar)[key] for key in keys[4:]} == set(PALETTE)  # the largest ten
    assert bar.layers[0].columns["alpha"].tolist() == [1.0] * 14


def test_bars_over_what_is_no_key_have_one_colour(demo, notebook):
    frame = pl.DataFrame({"load": [1.0, 2.0, 3.0], "grade": [7, 8, 9]})
    shown = dataclasses.replace(demo(shape="number").advance(1).snapshot(), rows=frame, final=pl.Series([True] * 3))
    assert set(bars(notebook(shown, chart="bar", x="grade", y="load")).values()) == {PALETTE[0]}
