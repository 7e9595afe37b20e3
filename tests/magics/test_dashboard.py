import pytest

import jupyter_stream
from jupyter_stream.errors import QueryError


def test_a_dashboard_shows_each_query_as_its_line_says(hot):
    from jupyter_stream import views

    out = hot.run("%%dashboard\nhot --chart table --top 3\n\n# the same again\nhot")
    assert out.count("hot: finished") == 2
    assert (views.options_of(hot.names["hot"]).chart, views.options_of(hot.names["hot"]).top) == ("table", 3)


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("%%dashboard\nhott", "Did you mean hot"),
        ("%%dashboard\n\n", "has no query"),
        ("%%dashboard hot\nhot", "takes nothing after it"),
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
