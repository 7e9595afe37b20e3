import threading

import polars as pl
import pytest

from jupyter_stream.views.thread import close

QUERY = "SELECT symbol, count(*) AS n FROM trades [RANGE 1 MINUTE SLIDE 1 MINUTE] GROUP BY symbol"


def test_a_select_binds_its_name_and_runs(trades):
    trades.run(f"%%stream hot --chart table\n{QUERY}")
    assert not trades.failed
    assert trades.names["hot"].wait(200)
    assert trades.names["hot"].to_polars().height == 20


def test_a_query_without_a_name_is_given_one(trades):
    trades.run(f"%%stream\n{QUERY}")
    assert trades.names["q1"].name == "q1"


def test_several_statements_run_in_order(notebook):
    out = notebook.run(
        "%%stream w -q\nCREATE STREAM trades ORDER BY ts SOURCE 'frame://ticks'; -- a comment; with one\n"
        "SELECT symbol, price, ts FROM trades WHERE price > 15"
    )
    assert not notebook.failed and out == ""
    assert notebook.names["w"].wait(200)
    assert notebook.names["w"].to_polars()["price"].min() == 16.0


def test_dollar_and_braces_in_sql_survive(trades):
    trades.names["least"] = 15
    trades.names["symbol"] = "must not be pasted"
    trades.run(
        "%%stream w --quiet\nSELECT '$symbol {symbol}' AS text, ts FROM trades WHERE price > {{ least }} AND price > :least"
    )
    assert trades.names["w"].wait(200)
    assert set(trades.names["w"].to_polars()["text"]) == {"$symbol {symbol}"}


def test_show_and_describe_answer_with_rows(trades):
    assert "frame://ticks" in trades.run("%%stream\nSHOW STREAMS")
    assert "price   DOUBLE" in trades.run("%%stream\nDESCRIBE trades")
    assert "window aggregate" in trades.run(f"%%stream\nEXPLAIN {QUERY}")


def test_running_a_cell_again_keeps_the_query_and_changed_text_replaces_it(notebook):
    notebook.run("%%stream\nCREATE STREAM cpu SOURCE 'system://cpu' WITH (every = '200 milliseconds')")
    assert not notebook.failed
    cell = "%%stream load\nSELECT count(*) AS n FROM cpu [RANGE 1 SECOND SLIDE 1 SECOND]"
    notebook.run(cell)
    first = notebook.names["load"]
    assert "running already" in notebook.run(cell)
    assert notebook.names["load"] is first
    assert "replaced" in notebook.run(cell.replace("count(*) AS n", "count(*) AS m"))
    assert notebook.names["load"] is not first


def test_a_query_may_be_called_as_a_statement_begins(trades):
    trades.run("%%stream show --chart bar\nSELECT symbol FROM trades")
    assert not trades.failed and trades.names["show"].name == "show"


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("%%stream hot --chrt line\nSELECT 1", "Did you mean --chart?"),
        ("%%stream hot --chart lien\nSELECT 1", "Did you mean line?"),
        ("%%stream hot --engine sprak\nSELECT 1", "Did you mean spark?"),
        ("%%stream hot -Z\nSELECT 1", "no option '-Z'"),
        ("%%stream hot --by\nSELECT 1", "--by needs a value"),
        ("%%stream hot --last soon\nSELECT 1", "--last 500"),
        ("%%stream hot --keep none\nSELECT 1", "--keep 1000000"),
        ("%%stream hot too\nSELECT 1", "this line also has: too"),
        ("%%stream SELECT symbol FROM trades", "Write statements on the lines below it."),
        ("%%stream hot explain SELECT symbol\nFROM trades", "explain can't be on the line of %%stream"),
        ("%%stream 'hot\nSELECT 1", "quote on this line is not closed"),
        ("%%stream hot-spot\nSELECT 1", "can't be one"),
        ("%%stream hot\nSELECT symbl FROM trades", "line 2, column 8: there is no column called symbl"),
        ("%%stream\n\n  SELECT symbl FROM trades", "line 3, column 10"),
        ("%%stream", "this cell has no statement"),
        (
            "%%stream hot --engine spark --master spark://there:7077\nSELECT symbol FROM trades",
            "Name a folder that all its machines find at the same path: --checkpoint DIR.",
        ),
    ],
)
def test_mistakes_are_told_without_a_traceback_and_stop_run_all(trades, cell, said):
    out = trades.run(cell)
    assert said in " ".join(out.split())
    assert "Traceback" not in out and ".py" not in out
    assert max(map(len, out.splitlines())) <= 95  # JupyterLab would break longer lines within words
    assert trades.failed


def test_the_error_of_a_cell_keeps_its_type_for_tools(trades):
    trades.run("%%stream hot\nSELECT symbl FROM trades")
    assert type(trades.result.error_in_exec).__name__ == "QueryError"


@pytest.mark.parametrize("cell", ["%%stream --help", "%%stream -h\n", "%%stream help\nSELECT 1"])
def test_help_lists_the_options_and_runs_nothing(trades, cell):
    out = trades.run(cell)
    assert not trades.failed
    assert all(word in out for word in ("--chart", "--paused", "heatmap", "NAME"))
    assert "q1" not in trades.names


def test_a_paused_query_waits_for_resume(trades):
    trades.run(f"%%stream hot --paused -q\n{QUERY}")
    assert trades.names["hot"].status == "paused"
    assert "resumed: hot" in trades.run("%stream resume hot")
    assert trades.names["hot"].wait(200)


def test_markup_in_a_message_is_text(trades):
    html = trades.html("%%stream\nCREATE STREAM `<b>x</b>` ORDER BY ts SOURCE 'frame://ticks'")
    assert "<b>x" not in html


def test_unloading_stops_queries_and_threads(trades):
    others = set(threading.enumerate())  # what a test before it has stopped may not have ended yet
    close()
    trades.run("%%stream\nCREATE STREAM cpu SOURCE 'system://cpu'")
    trades.run("%%stream load --chart table\nSELECT count(*) AS n FROM cpu [RANGE 1 SECOND SLIDE 1 SECOND]")
    views = [t for t in threading.enumerate() if t.name == "jupyter-stream-views" and t not in others]
    assert views
    trades.run("%unload_ext jupyter_stream")
    assert trades.names["load"]._pipeline.done.wait(200)
    for thread in views:
        thread.join(200)  # unloading waits two seconds for it
    assert not any(thread.is_alive() for thread in views)
    assert "not found" in trades.run("%stream list")
    trades.run("%load_ext jupyter_stream")
    assert "none" in trades.run("%stream list")


@pytest.mark.parametrize("name", ["for", "1x", "a-b"])
def test_a_name_that_no_variable_can_have_is_refused(trades, name):
    said = trades.run(f"%%stream {name}\n{QUERY}")
    assert trades.failed and "becomes a Python variable" in said


def test_a_handle_does_not_take_the_place_of_the_frame_it_reads(trades):
    frame = trades.names["ticks"]
    said = trades.run(f"%%stream ticks\n{QUERY}")
    assert trades.failed and "trades reads the variable ticks" in said and "%%stream ticks_1" in said
    assert trades.names["ticks"] is frame


def test_into_writes_beside_the_chart(notebook, trades, tmp_path):
    first = f"%%stream q --into file://{tmp_path}/a --into 'file://{tmp_path}/b?format=csv'"
    notebook.run(f"{first}\nSELECT symbol, price FROM trades")
    assert notebook.names["q"].wait(200)
    assert pl.read_parquet(f"{tmp_path}/a/*.parquet").height == pl.read_csv(f"{tmp_path}/b/*.csv").height == 600
    assert "600 at " in notebook.run("%stream status q")
    assert "there is no sink called nowhere" in notebook.run("%%stream r --into nowhere\nSELECT price FROM trades")
    assert notebook.failed and "r" not in notebook.names
