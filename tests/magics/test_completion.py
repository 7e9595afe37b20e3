def test_options_and_their_values(notebook):
    assert "--chart" in notebook.complete("%%stream hot --ch|\nSELECT 1")
    assert notebook.complete("%%stream hot --chart h|\nSELECT 1") == ["heatmap"]
    assert "kernel" in notebook.complete("%%stream hot -e |\nSELECT 1")


def test_subcommands_and_names_of_queries(hot):
    assert hot.complete("%stream sta|") == ["status"]
    assert hot.complete("%stream status h|") == ["hot"]
    assert hot.complete("%stream stop |") == ["all", "hot"]
    assert "trades" in hot.complete("%stream drop t|")


def test_columns_streams_functions_and_keywords(trades):
    cell = "%%stream\nSELECT {} FROM trades WHERE true"
    assert "price" in trades.complete(cell.format("pr|"))
    assert trades.complete("%%stream\nSELECT price FROM tra|")[0] == "trades"
    assert "avg" in trades.complete(cell.format("av|"))
    assert "SLIDE" in trades.complete("%%stream\nSELECT price FROM trades [RANGE 1 MINUTE SLI|")
    assert "slide" in trades.complete("%%stream\nSELECT price FROM trades [RANGE 1 MINUTE sli|")
    assert trades.complete("%%stream\nSELECT trades.p| FROM trades") == ["price"]


def test_sources_and_their_options(notebook):
    assert notebook.complete("%%stream\nCREATE STREAM s SOURCE 'fi|") == ["file://"]
    assert "follow" in notebook.complete("%%stream\nCREATE STREAM s SOURCE 'file://x' WITH (fo|")


def test_nothing_of_python_is_offered_in_a_stream_cell(trades):
    trades.names["prices_of_python"] = 1
    assert "prices_of_python" not in trades.complete("%%stream\nSELECT pri| FROM trades")


def test_nothing_of_ours_is_offered_elsewhere(trades):
    assert "price" not in trades.complete("%%streams\nSELECT pri| FROM trades")
    assert "price" not in trades.complete("x = pri|")
    assert "SLIDE" not in trades.complete("SLI|")


def test_columns_show_their_types_and_functions_their_signatures(trades):
    from jupyter_stream.magics.completion import complete

    session = trades.shell.magics_manager.registry["StreamMagics"].session
    words, _ = complete("%%stream\nSELECT pri\nFROM trades", 1, 10, session)
    assert ("price", "column DOUBLE") in words
    words, _ = complete("%%stream\nSELECT quant\nFROM trades", 1, 12, session)
    assert [kind for text, kind in words if text == "quantile"] == ["function quantile(x, q)"]


def test_axes_complete_to_columns_and_options_to_their_values(trades):
    assert trades.complete("%%stream hot --by s|\nSELECT symbol FROM trades") == ["symbol"]
    assert "parquet" in trades.complete("%%stream\nCREATE STREAM s SOURCE 'file://x' WITH (format = 'par|")
    assert "max" in trades.complete("%%stream\nCREATE STREAM s SOURCE 'file://x' WITH (rate = '|")
    assert trades.complete("%stream record t|") == ["trades"]
