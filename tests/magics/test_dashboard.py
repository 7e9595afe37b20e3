import pytest

import jupyter_stream
from jupyter_stream.errors import QueryError


def test_a_dashboard_shows_a_query_in_as_many_ways_as_its_lines_say_and_elsewhere_it_stays_as_it_was(hot, monkeypatch):
    from jupyter_stream import views
    from jupyter_stream.views import thread

    shown = []
    monkeypatch.setattr(thread, "add", shown.append)
    out = hot.run("%%dashboard\nhot --chart table --top 3\n\n# and as it was\nhot\nhot --chart number")
    assert out.count("hot: finished") == 3
    assert [(view.options.chart, view.options.top) for view in shown] == [
        ("table", 3),
        ("auto", None),
        ("number", None),
    ]
    assert views.options_of(hot.names["hot"]).chart == "auto"


def test_a_view_of_its_own_is_left_as_it_is_when_the_query_is_charted_another_way(hot):
    from jupyter_stream.views.live import LiveView
    from jupyter_stream.views.options import ViewOptions

    query = hot.names["hot"]
    panel = query.view("table", top=2)
    assert repr(panel) == "<table of hot>" and "hot: finished" in hot.run("hot.view('table', top=2)")
    own, other = LiveView(query, panel.options, own=True), LiveView(query)
    for view in (own, other):
        view.change(ViewOptions("bar"))
    assert (own.options.chart, other.options.chart) == ("table", "bar")
    query.chart("line", by="symbol")
    assert query.view("bar").options == ViewOptions("bar", by="symbol")
    with pytest.raises(QueryError, match="there is no chart 'pie'"):
        query.view("pie")


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("%%dashboard\nhott", "Did you mean hot"),
        ("%%dashboard\n\n", "has no query"),
        ("%%dashboard hot\nhot", "takes nothing more"),
        ("%%dashboard\nhot --chart pie", "there is no chart 'pie'"),
        ("%%dashboard\nhot\nhot --engine spark", "line 3: a panel is a query"),
        ("%%dashboard\nhot --chrat bar", "Did you mean --chart"),
    ],
)
def test_what_is_no_dashboard_is_refused_with_what_to_write(hot, cell, says):
    assert says in hot.run(cell)


def test_a_dashboard_of_what_is_no_query_is_refused():
    with pytest.raises(QueryError, match="needs queries"):
        jupyter_stream.dashboard()
    with pytest.raises(QueryError, match="not int"):
        jupyter_stream.dashboard(3)


def test_selected_and_save_are_on_the_handle(hot, tmp_path):
    query = hot.names["hot"]
    assert query.selected.height == 0 and query.selected.columns == query.to_polars().columns
    assert query.save(tmp_path / "hot.png").stat().st_size > 1_000
