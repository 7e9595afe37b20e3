"""What `%%stream` does where its line says nothing, and who may say it."""

import pytest

QUERY = "\nSELECT symbol FROM trades"


@pytest.fixture
def magics(trades):
    return trades.shell.magics_manager.registry["StreamMagics"]


def reload(notebook, folder, monkeypatch, text):
    (folder / "pyproject.toml").write_text(text)
    (folder / "below").mkdir(exist_ok=True)
    monkeypatch.chdir(folder / "below")
    said = notebook.run("%reload_ext jupyter_stream")
    return said, notebook.shell.magics_manager.registry["StreamMagics"]


def test_config_sets_defaults_and_the_line_wins(trades, magics):
    from jupyter_stream import views

    assert "chart" in trades.run("%config StreamMagics")
    trades.run("%config StreamMagics.chart = 'table'")
    trades.run("%config StreamMagics.keep = 10")
    trades.run("%%stream a" + QUERY)
    trades.run("%%stream b --chart bar --keep 1000" + QUERY)
    assert all(trades.names[n].wait(200) for n in "ab")
    assert views.options_of(trades.names["a"]).chart == "table" and trades.names["a"].to_polars().height == 10
    assert views.options_of(trades.names["b"]).chart == "bar" and trades.names["b"].to_polars().height == 600
    trades.run("%config StreamMagics.chart = 'pie'")
    assert magics.chart == "table"


def test_a_project_sets_defaults_for_all_folders_below(notebook, tmp_path, monkeypatch):
    text = '[tool.jupyter_stream]\nchart = "bar"\nlast = 50\nquiet = true\n'
    _, magics = reload(notebook, tmp_path, monkeypatch, text)
    assert (magics.chart, magics.last, magics.quiet, magics.engine) == ("bar", "50", True, "kernel")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[tool.jupyter_stream]\nchartt = "bar"', "Did you mean chart?"),
        ('[tool.jupyter_stream]\nchart = "pie"', "chart"),
        ("[tool.jupyter_stream", "can't be read"),
    ],
)
def test_a_mistake_in_the_projects_defaults_is_told_and_keeps_nothing_away(notebook, tmp_path, monkeypatch, text, said):
    told, magics = reload(notebook, tmp_path, monkeypatch, text)
    assert said in told and magics.chart == "auto"
    assert "Usage" in notebook.run("%%stream --help") or "usage" in notebook.run("%%stream --help")


def test_a_question_mark_describes_a_stream_or_query(hot):
    said = hot.run("trades?")
    assert "price" in said and "DOUBLE" in said and "frame://ticks" in said
    said = hot.run("?hot")
    assert "finished" in said and "column price" in said
    hot.names["trades"] = 3  # what Python calls so is Python's
    assert "frame://ticks" not in hot.run("trades?")
