import dataclasses
import datetime as dt

import numpy as np
import polars as pl
import pytest

from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.errors import QueryError
from jupyter_stream.views import points
from jupyter_stream.views.chart import KINDS, picture
from jupyter_stream.views.colours import PALETTE, Colours
from jupyter_stream.views.number import Past, change
from jupyter_stream.views.options import CHARTS, ViewOptions
from jupyter_stream.views.picture import Axis, Ragged
from jupyter_stream.views.roles import resolve
from jupyter_stream.views.ticks import ticks


def draw(query, **options):
    return picture(query.snapshot(), ViewOptions(**options), Colours())


def with_rows(query, frame, **changes):
    return dataclasses.replace(
        query.snapshot(), rows=frame, final=pl.Series([True] * frame.height, dtype=pl.Boolean), **changes
    )


def test_chart_names_in_options_are_those_of_the_kinds():
    assert ("auto", *(kind.name for kind in KINDS), "none") == tuple(CHARTS[:1]) + tuple(k.name for k in KINDS) + (
        "none",
    )
    assert {k.name for k in KINDS} == set(CHARTS) - {"auto", "none"}


@pytest.mark.parametrize("chart", [kind.name for kind in KINDS])
@pytest.mark.parametrize("shape", ["window", "keys", "number", "events"])
def test_every_kind_draws_something_for_every_shape_of_result(demo, chart, shape):
    drawn = draw(demo(shape=shape).advance(7), chart=chart)
    assert drawn.kind in ("plot", "table", "number")
    for layer in drawn.layers:
        lengths = {len(c.offsets) - 1 if isinstance(c, Ragged) else len(c) for c in layer.columns.values()}
        assert len(lengths) == 1


def test_auto_puts_time_on_x_first_number_on_y_and_first_key_as_colour(demo):
    roles = resolve(demo().advance(3).snapshot(), ViewOptions())
    assert (roles.chart, roles.x, roles.y, roles.by) == ("line", "window_end", ("speed",), "place")


def test_auto_without_time_is_bars_over_the_first_key(demo):
    roles = resolve(demo(shape="keys").advance(3).snapshot(), ViewOptions())
    assert (roles.chart, roles.x, roles.y, roles.by) == ("bar", "place", ("n",), None)


def test_auto_of_a_single_row_of_numbers_is_numbers(demo):
    drawn = draw(demo(shape="number").advance(3))
    assert (drawn.kind, drawn.rows.names, [c[0] for c in drawn.rows.columns]) == (
        "number",
        ("total", "n"),
        ["3,703.5", "3"],
    )


def test_auto_without_numbers_is_a_table_newest_first(demo):
    drawn = draw(demo(shape="events").advance(3))
    assert drawn.kind == "table"
    assert drawn.rows.columns[1] == ["event 3", "event 2", "event 1"]


def test_columns_are_found_whatever_their_case_and_misspelt_ones_named(demo):
    query = demo().advance(3)
    assert resolve(query.snapshot(), ViewOptions(y="SPEED", by="Place")).y == ("speed",)
    with pytest.raises(QueryError, match="Did you mean speed"):
        draw(query, y="sped")


def test_by_none_makes_one_series_and_several_y_one_each(demo):
    assert len(draw(demo().advance(3), by="none").legend) == 0
    assert {label for label, _ in draw(demo(keys=["k"]).advance(3), y="speed,n", by="none").legend} == {"speed", "n"}


def test_axes_carry_the_word_and_the_unit(demo):
    drawn = draw(demo().advance(3))
    assert drawn.y.label == "speed (km/h)"
    assert drawn.x.label == "window_end (UTC)"


def test_a_line_of_percentages_stands_between_0_and_100(demo):
    for name in ("load", "percent"):
        frame = pl.DataFrame({"second": [1, 2], name: [99.5, 100.0]})
        shown = with_rows(demo(shape="keys").advance(1), frame, time_column=None, units={name: "%"})
        how = ViewOptions(chart="line", x="second", y=name)
        y = picture(shown, how, Colours()).y
        assert (y.low, y.high) == (0, 104)
        more = dataclasses.replace(shown, rows=frame.with_columns(pl.Series(name, [99.5, 130.0])))
        assert picture(more, how, Colours()).y.high > 130


def test_a_line_runs_left_to_right_whatever_order_rows_come_in(demo):
    query = demo(keys=["k"]).advance(9)
    frame = query.snapshot().rows.sample(fraction=1, shuffle=True, seed=3)
    lines = picture(with_rows(query, frame), ViewOptions(), Colours()).layers[0].columns
    assert np.all(np.diff(lines["xs"].arrays()[0]) > 0)


def test_provisional_rows_are_lighter_and_joined_to_the_last_final_one(demo):
    drawn = draw(demo(keys=["k"]).advance(6))
    lines = drawn.layers[0].columns
    solid, light = lines["xs"].arrays()
    assert lines["alpha"][1] < lines["alpha"][0] == 1.0
    assert light[0] == solid[-1]
    assert len(light) == 3
    assert drawn.provisional


def test_a_null_leaves_a_gap(demo):
    query = demo(keys=["k"]).advance(4)
    frame = query.snapshot().rows.with_columns(pl.Series("speed", [1.0, None, 3.0, 4.0]))
    ys = picture(with_rows(query, frame), ViewOptions(), Colours()).layers[0].columns["ys"].arrays()[0]
    assert np.isnan(ys[1])


def test_the_watermark_stands_on_the_time_axis_only_where_there_is_one(demo):
    query = demo().advance(6)
    drawn = draw(query)
    assert drawn.watermark == query.watermark / 1000
    assert drawn.x.low < drawn.watermark <= drawn.x.high
    assert draw(query, x="n", chart="scatter").watermark is None
    query.watermark = MIN_TIME
    assert draw(query).watermark is None


def test_ten_series_are_coloured_and_the_rest_counted(demo):
    drawn = draw(demo(keys=[f"k{i}" for i in range(25)]).advance(4))
    assert len(drawn.legend) == len(PALETTE) + 1
    assert drawn.legend[-1][0] == "15 others"
    assert len({colour for _, colour in drawn.legend}) == len(PALETTE) + 1


def test_a_series_keeps_its_colour_while_it_is_on_screen():
    colours = Colours()
    before = colours.assign({"a": 3.0, "b": 2.0, "c": 1.0})
    after = colours.assign({"b": 2.0, "c": 1.0, "new": 99.0})
    assert (after["b"], after["c"]) == (before["b"], before["c"])
    assert after["new"] == before["a"]


def test_views_of_one_query_by_different_columns_leave_each_others_colours_alone():
    colours = Colours()
    first = colours.assign({"a": 1.0, "b": 2.0}, "place")
    colours.assign({"x": 1.0}, "hour")
    assert colours.assign({"a": 9.0, "b": 2.0}, "place") == first


def test_joined_colours_are_equal_for_equal_keys_and_differ_for_others_as_far_as_there_are_colours():
    one, two = Colours(), Colours()
    two.assign({"b": 9.0, "a": 1.0}, "place")
    two.join(one)
    first = one.assign({"a": 5.0, "b": 3.0}, "place")
    second = two.assign({"d": 9.0, "b": 2.0, "a": 1.0}, "place")
    assert (second["a"], second["b"]) == (first["a"], first["b"]) and second["d"] not in first.values()
    assert one.assign({"a": 5.0, "b": 3.0, "d": 1.0}, "place")["d"] == second["d"]
    assert two.assign({"b": 1.0}, "hour") == {"b": 0} and two.assign({"speed": 1.0}) == {"speed": 0}
    many = {f"k{i}": float(i) for i in range(25)}
    assert len(two.assign(many, "place")) == len(PALETTE)  # rather a colour twice than a chart in grey
    three = Colours()
    three.join(two)
    assert three.assign({"d": 1.0, "a": 1.0}, "place")["a"] == first["a"]


def test_bars_over_a_key_show_that_keys_newest_row(demo):
    query = demo(keys=["a", "b"]).advance(5)
    drawn = draw(query, chart="bar")
    assert drawn.x.factors == ("a", "b")
    newest = query.snapshot().rows.tail(2)["speed"].to_list()
    assert drawn.layers[0].columns["top"].tolist() == pytest.approx(newest)


def test_many_bars_are_cut_to_the_largest_and_the_note_says_so(demo):
    drawn = draw(demo(shape="keys", keys=[f"k{i:03d}" for i in range(100)]).advance(1))
    assert drawn.note == "the 40 largest of 100 bars"
    assert "k099" in drawn.x.factors


def test_categories_stand_in_the_order_of_their_values_not_of_their_text(demo):
    query = demo(shape="keys").advance(1)
    frame = pl.DataFrame({"place": [10, 2, 1], "n": [1, 2, 3]})
    assert picture(with_rows(query, frame), ViewOptions(), Colours()).x.factors == ("1", "2", "10")


def test_categories_of_an_ordered_result_stand_in_its_order(demo):
    frame = pl.DataFrame({"place": ["c", "a", "b"], "n": [3, 2, 1]})
    query = demo(shape="keys").advance(1)
    assert picture(with_rows(query, frame, ordered=True), ViewOptions(), Colours()).x.factors == ("c", "a", "b")


def test_long_categories_stay_distinct_when_cut(demo):
    drawn = draw(demo(shape="keys", keys=["x" * 100 + "1", "x" * 100 + "2"]).advance(1))
    assert len(set(drawn.x.factors)) == 2
    assert all(len(f) < 40 for f in drawn.x.factors)


def test_last_may_be_a_time_span(demo):
    drawn = draw(demo(keys=["k"]).advance(60), last="1 minute")
    assert drawn.rows.height == 12


@pytest.mark.parametrize("last", [0, "soon", "-3", "0 minutes"])
def test_a_last_that_cannot_be_read_is_refused_with_an_example(last):
    with pytest.raises(QueryError, match="--last 500"):
        ViewOptions(last=last)


def test_an_unknown_chart_is_refused_with_the_nearest():
    with pytest.raises(QueryError, match="Did you mean scatter"):
        ViewOptions(chart="scater")


@pytest.mark.parametrize(
    "values",
    [
        [None, None], [float("nan"), float("inf")], [True, False], [dt.timedelta(seconds=3), None],
        [2**62, -(2**62)], [1e300, -1e300],
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("chart", [kind.name for kind in KINDS])
def test_odd_values_are_drawn_without_failing(demo, values, chart):
    query = demo(keys=["k"]).advance(2)
    frame = query.snapshot().rows.with_columns(pl.Series("speed", values, strict=False))
    drawn = picture(with_rows(query, frame), ViewOptions(chart=chart, y="speed"), Colours())
    assert drawn.rows.height > 0


def test_nested_and_binary_columns_are_shown_in_a_table(demo):
    query = demo().advance(1)
    frame = pl.DataFrame({"l": [[1, 2]], "s": [{"a": 1}], "b": [b"\x00\xff"], "n": [None], "t": [dt.time(1, 2)]})
    columns = picture(with_rows(query, frame, value_columns=()), ViewOptions(chart="table"), Colours()).rows.columns
    assert [c[0] for c in columns] == ["[1, 2]", "{'a': 1}", "00ff", "NULL", "01:02:00"]


def test_small_multiples_have_one_chart_a_key_on_the_same_axes_and_point_at_their_rows(demo):
    drawn = draw(demo().advance(6), multiples=True)
    assert [title for title, _ in drawn.panels] == ["east", "north", "south"]
    assert {(p.x, p.y) for _, p in drawn.panels} == {(drawn.x, drawn.y)}
    for title, panel in drawn.panels:
        places = drawn.rows.frame["place"].to_list()
        assert {places[int(r)] for r in panel.layers[1].columns["row"]} == {title}


def test_small_multiples_of_what_has_no_series_are_refused(demo):
    with pytest.raises(QueryError, match="or dots over time or a number, and --by"):
        draw(demo(shape="keys").advance(3), multiples=True)


def test_top_keeps_the_largest_rows_of_a_table_and_says_how_many_are_left(demo):
    query = demo(shape="keys", keys=[f"k{i}" for i in range(10)]).advance(1)
    drawn = draw(query, chart="table", top=3)
    assert drawn.rows.columns[0] == ["k9", "k8", "k7"]
    assert drawn.note == "showing 3 of 10, those with the largest n"


def test_top_counts_a_missing_number_as_the_least(demo):
    frame = pl.DataFrame({"place": ["a", "b", "c"], "n": [None, 1, 2]})
    drawn = picture(with_rows(demo(shape="keys").advance(1), frame), ViewOptions(chart="table", top=2), Colours())
    assert drawn.rows.columns[0] == ["c", "b"]


def test_top_keeps_the_largest_bars(demo):
    drawn = draw(demo(shape="keys", keys=["a", "b", "c"]).advance(1), chart="bar", top=2)
    assert drawn.x.factors == ("b", "c")


@pytest.mark.parametrize("top", [0, -1, "many"])
def test_a_top_that_is_no_number_of_rows_is_refused(top):
    with pytest.raises(QueryError, match="--top 10"):
        ViewOptions(top=top)


def test_a_number_has_the_values_before_it_and_the_last_change(demo):
    frame = pl.DataFrame({"n": [10, 8, 12]})
    shown = with_rows(demo(shape="number").advance(1), frame, relation=False, key_columns=(), value_columns=("n",))
    drawn = picture(shown, ViewOptions(chart="number"), Colours())
    assert (drawn.rows.columns, drawn.past[0].tolist()) == ((["12"],), [10, 8, 12])
    assert change(drawn.past[0]) == "▲ 4 (50.0%)"


def test_a_large_change_has_the_unit_of_a_large_number():
    assert change(np.array([23_664e6, 21_040e6])) == "▼ 2.624 G (11.1%)"


def test_a_relations_number_remembers_what_was_shown_before(demo):
    query, past = demo(shape="number"), Past()
    for version in range(3):
        drawn = past.with_past(draw(query.advance()), version)
    assert drawn.past[1].tolist() == [1, 2, 3]
    assert past.with_past(draw(query), 2).past[1].tolist() == [1, 2, 3]


def test_a_few_keys_have_a_number_each(demo):
    drawn = draw(demo(keys=["b", "a"]).advance(5), chart="number")
    assert drawn.rows.names == ("a · speed (km/h)", "b · speed (km/h)")
    assert len(drawn.past[0]) == 5


def test_a_heatmaps_colours_stand_for_amounts_and_a_scale_says_which(demo):
    drawn = draw(demo().advance(5), chart="heatmap")
    assert drawn.scale.label == "speed (km/h)"
    assert len(drawn.scale.colours) == len(set(drawn.scale.colours)) > 5


def test_a_heatmap_of_two_keys_has_one_cell_each_with_the_newest_value(demo):
    frame = pl.DataFrame({"hour": [1, 2, 1, 2], "place": ["a", "a", "b", "a"], "speed": [1.0, 2.0, 3.0, 9.0]})
    snapshot = with_rows(
        demo().advance(2), frame, time_column=None, key_columns=("hour", "place"), value_columns=("speed",)
    )
    boxes = picture(snapshot, ViewOptions("heatmap", x="hour", by="place", y="speed"), Colours()).layers[0].columns
    assert boxes["row"].tolist() == [0, 2, 3]


# -- charts that tell the truth ------------------------------------------------------------------------------------------

HOURS = pl.Series([dt.datetime(2024, 1, 1, h) for h in (1, 2, 3, 9, 10, 20, 21, 22)]).cast(pl.Datetime("us"))


def hourly(demo, key="k", **changes):
    """Answers of hourly windows, with nothing between 3 and 9 and between 10 and 20 o'clock."""
    frame = pl.DataFrame({"window_end": HOURS, "place": [key] * 8, "n": [5, 6, 7, 8, 9, 10, 11, 3]})
    changes = {"slide": 3_600_000_000, "value_columns": ("n",), "units": {}, **changes}
    return with_rows(demo(keys=[key]).advance(1), frame, **changes)


def test_a_line_is_not_drawn_across_more_than_three_slides(demo):
    line = picture(hourly(demo), ViewOptions(), Colours()).layers[0].columns["xs"].arrays()[0]
    assert np.isnan(line).tolist() == [False] * 3 + [True] + [False] * 2 + [True] + [False] * 3
    whole = picture(hourly(demo, slide=None), ViewOptions(), Colours()).layers[0].columns["xs"].arrays()[0]
    assert len(whole) == 8


def test_a_point_that_no_line_goes_through_has_a_dot_however_many_there_are(demo):
    ends = [dt.datetime(2024, 1, 1) + dt.timedelta(hours=h if h < 60 else 200) for h in range(61)]
    frame = pl.DataFrame({"window_end": pl.Series(ends).cast(pl.Datetime("us")), "place": ["k"] * 61, "n": range(61)})
    alone = with_rows(demo(keys=["k"]).advance(1), frame, slide=3_600_000_000, value_columns=("n",))
    assert picture(alone, ViewOptions(), Colours()).layers[1].columns["alpha"].tolist() == [0.0] * 60 + [1.0]


@pytest.mark.parametrize("chart", ["line", "area", "bar", "number"])
def test_windows_past_the_end_of_an_ended_replay_do_not_pull_a_chart_down(demo, chart):
    last_row = int(dt.datetime(2024, 1, 1, 21, 20, tzinfo=dt.UTC).timestamp()) * 1_000_000
    how = ViewOptions(chart=chart, x="window_end" if chart == "bar" else None)
    drawn = picture(hourly(demo, state="finished", max_event_time=last_row), how, Colours())
    if chart == "number":
        assert drawn.rows.columns[0] == ["11"]
        return
    assert drawn.beyond and ("past the end of the data", "light") in drawn.signs
    columns = drawn.layers[0].columns
    if chart == "bar":
        assert columns["alpha"].tolist() == [1.0] * 7 + [points.LIGHT]
    else:
        assert np.nanmax(columns["xs"].values) == HOURS.cast(pl.Int64)[6] / 1e3
    assert not picture(hourly(demo, state="running", max_event_time=last_row), how, Colours()).beyond


def test_several_areas_stand_on_one_another(demo):
    drawn = draw(demo(keys=["a", "b", "c"]).advance(6), chart="area", y="n")
    edges = drawn.layers[1].columns
    solid = [y for y, alpha in zip(edges["ys"].arrays(), edges["alpha"], strict=True) if alpha == 1]
    frame = demo(keys=["a", "b", "c"]).advance(6).snapshot().rows
    total = frame.group_by("window_end", maintain_order=True).agg(pl.col("n").sum())["n"].to_numpy()
    assert len(solid) == 3 and solid[-1].tolist() == total[:4].tolist()
    assert drawn.y.high > total.max()
    shapes = drawn.layers[0].columns["ys"].arrays()
    assert min(shape.min() for shape in shapes) == 0 and len(shapes) == 6


def test_the_foot_of_a_table_says_how_many_rows_of_all_it_shows(demo):
    keys = [f"k{i}" for i in range(1548)]
    state = demo(shape="keys", keys=keys).advance(1)
    drawn = picture(dataclasses.replace(state.snapshot(5000), total=1548), ViewOptions("table"), Colours())
    assert drawn.note == "showing 100 of 1,548"
    top = picture(dataclasses.replace(state.snapshot(5000), total=1548), ViewOptions("table", top=8), Colours())
    assert top.note == "showing 8 of 1,548, those with the largest n" and top.rows.columns[0][0] == "k1547"
    newest = picture(
        dataclasses.replace(demo(keys=["k"]).advance(30).snapshot(), total=9999), ViewOptions("table", top=8), Colours()
    )
    assert newest.note == "showing 8 of 9,999, those with the largest speed of the newest 30"


def test_a_streams_own_rows_are_a_table_unless_asked_otherwise(demo):
    shown = dataclasses.replace(demo().advance(3).snapshot(), as_they_came=True)
    assert picture(shown, ViewOptions(), Colours()).kind == "table"
    assert picture(shown, ViewOptions("line"), Colours()).kind == "plot"


def test_columns_that_say_when_do_not_light_up(demo):
    drawn = draw(demo().advance(3), chart="table")
    assert [drawn.rows.names[i] for i in drawn.steady] == ["window_start", "window_end"]


@pytest.mark.parametrize(
    ("name", "unit", "label"),
    [
        ("bytes", "bytes", "bytes"),
        ("sum_bytes", "bytes", "sum_bytes"),
        ("len", "bytes", "len (bytes)"),
        ("percent", "%", "percent"),
        ("cpu_pct", "%", "cpu_pct"),
        ("share", "%", "share (%)"),
        ("pct_s", "s", "pct_s"),
    ],
)
def test_a_unit_is_said_once(demo, name, unit, label):
    assert points.label_of(name, dataclasses.replace(demo().snapshot(), units={name: unit}), pl.DataFrame()) == label


def test_a_key_has_one_colour_in_all_charts_of_a_notebook_also_when_it_comes_back():
    one, two, notebook = Colours(), Colours(), Colours()
    one.join(notebook), two.join(notebook)
    first = one.assign({"a": 1.0, "b": 2.0}, "place")
    assert two.assign({"b": 9.0, "c": 10.0}, "place")["b"] == first["b"]
    one.assign({"z": 1.0}, "place")
    assert one.assign({"z": 1.0, "a": 99.0}, "place")["a"] == first["a"]


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(0, 2.4e6, ["0", "0.5 M", "1.0 M", "1.5 M", "2.0 M"]), (0, 4.1e9, ["0", "1 G", "2 G", "3 G", "4 G"]),
     (0, 210_000, ["0", "50 k", "100 k", "150 k", "200 k"]), (0, 42_000, ["0", "10,000", "20,000", "30,000", "40,000"])],
)  # fmt: skip
def test_large_numbers_on_an_axis_have_a_unit(low, high, words):
    assert [word for _, word in ticks(Axis("n", "number", low, high), 5)] == words
