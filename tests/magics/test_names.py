"""A query's handle takes no other name's place, and a wrong word leads to no harm."""

import jedi
import pytest

from tests.tiers import slow


@pytest.mark.parametrize(
    ("name", "said"),
    [("math", "math is a module"), ("sum", "sum is Python's own"), ("ticks", "ticks"), ("price", "of type int")],
)
def test_a_name_that_is_taken_is_refused_with_another(trades, name, said):
    trades.names["price"] = 1
    trades.run("import math")
    out = trades.run(f"%%stream {name}\nSELECT symbol FROM trades")
    assert said in out and f"{name}_1" in out and trades.failed
    assert name not in trades.shell.magics_manager.registry["StreamMagics"].session.queries
    assert trades.names.get("price") == 1


def test_a_view_cannot_take_the_place_of_a_variable(trades):
    trades.names["price"] = 1
    out = trades.run("%%stream\nCREATE VIEW price AS SELECT max(price) AS n FROM trades")
    assert "line 2, column 13" in out and "price_1" in out
    assert trades.names["price"] == 1


def test_a_former_query_is_replaced_and_given_names_step_aside(hot):
    hot.run("%%stream hot\nSELECT symbol FROM trades")
    assert not hot.failed
    hot.names["q1"] = "mine"
    hot.run("%%stream --quiet\nSELECT symbol FROM trades")
    assert hot.names["q1"] == "mine" and hot.names["q2"].wait(200)


@pytest.mark.parametrize("word", ["SELECT", "select", "create", "INSERT"])
def test_a_statement_behind_one_percent_sign_belongs_below_two(notebook, word):
    out = notebook.run(f"%stream {word} * FROM s")
    assert "%%stream" in out and "reset" not in out


def test_nothing_harmful_is_suggested(notebook):
    for word in ("rest", "resset", "dorp", "stpo"):
        assert "Did you mean" not in notebook.run(f"%stream {word}")
    assert "Did you mean status?" in notebook.run("%stream statsu")


@slow
def test_a_handle_completes_to_its_members(hot, tmp_path, monkeypatch):
    # where processes share it, one may find what another is in the middle of writing, and nothing is offered
    monkeypatch.setattr(jedi.settings, "cache_directory", tmp_path)
    hot.shell.Completer.use_jedi = True
    assert {"to_pandas", "to_csv", "status", "stop"} <= set(hot.complete("hot.|"))
    assert hot.complete("hot.to_pa|") == ["to_pandas", "to_parquet"]
    assert "upper" in hot.complete("hot.status.|")


def test_a_question_mark_shows_help_with_three_examples(hot):
    help_of_cells = hot.run("%%stream?")
    assert help_of_cells.count("%%stream ") + help_of_cells.count("%%stream\n") >= 3 and "FROM trades" in help_of_cells
    of_lines = hot.run("%stream?")
    assert of_lines.count("%stream ") >= 3 and "%%stream hot " in of_lines  # Shift+Tab shows this one for both
    of_query = hot.run("hot?")
    assert all(example in of_query for example in ("hot.to_pandas()", "hot.chart(", "for row in hot"))
    of_stream = hot.run("trades?")
    assert of_stream.count("FROM trades") == 3
