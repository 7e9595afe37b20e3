import polars as pl

from tests.tiers import slow


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


def test_the_clauses_of_a_declaration(notebook):
    create = "%%stream\nCREATE STREAM s ({}|"
    assert notebook.complete(create.format("at TIM")) == ["TIMESTAMP"]
    assert notebook.complete(create.format("at a")) == ["array<int>", "as"]
    assert "to_timestamp" in notebook.complete(create.format("raw STRING, at AS to_t"))
    assert notebook.complete(create.format("at TIMESTAMP, d DECIMAL(10,2), W")) == ["WATERMARK FOR"]
    assert notebook.complete(create.format("at TIMESTAMP, d DECIMAL(10,2), WATERMARK FOR a")) == ["at"]
    assert notebook.complete(create.format("at TIMESTAMP, WATERMARK FOR at A")) == ["AS"]
    behind = create.format("at TIMESTAMP, v DOUBLE) ORDER BY at SOURCE 'file://x' {}")
    assert {"WHERE", "WITH"} <= set(notebook.complete(behind.format("W")))
    offered = notebook.complete(behind.format("WITH ("))
    assert {"timestamp_format", "ahead", "decimal", "thousands", "encoding"} <= set(offered)
    for option, value in {
        "timestamp_format": "dd.MM.yyyy HH:mm",
        "ahead": "off",
        "decimal": ",",
        "thousands": ".",
    }.items():
        assert value in notebook.complete(behind.format(f"WITH ({option} = '")), option
    assert "cp1252" in notebook.complete(behind.format("WITH (encoding = 'c"))


def test_nothing_of_python_is_offered_in_a_stream_cell(trades):
    trades.names["prices_of_python"] = 1
    assert "prices_of_python" not in trades.complete("%%stream\nSELECT pri| FROM trades")


@slow
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


SELECT = "%%stream\nSELECT count(*) FROM trades {}"


def test_windows_are_offered_behind_a_bracket(trades):
    offered = trades.complete(SELECT.format("[|"))
    assert "RANGE 10 MINUTES SLIDE 1 MINUTE" in offered and "SESSION 30 MINUTES" in offered
    assert "range 10 minutes slide 1 minute" in trades.complete(SELECT.format("[ran|"))
    assert "MINUTES" in trades.complete(SELECT.format("[RANGE 5 |"))
    assert {"SLIDE", "TUMBLING"} <= set(trades.complete(SELECT.format("[RANGE 5 MINUTES |")))
    assert "ts" in trades.complete(SELECT.format("[RANGE 5 MINUTES TUMBLING ON |"))
    assert trades.complete(SELECT.format("[RANGE 5 MINUTES TUMBLING] GROUP BY sy|")) == ["symbol"]


def test_the_ways_to_emit_are_offered(trades):
    offered = trades.complete(SELECT.format("[RANGE 1 MINUTE TUMBLING] EMIT |"))
    assert offered == ["CHANGES", "EVERY 10 SECONDS", "FINAL"]
    assert trades.complete(SELECT.format("[RANGE 1 MINUTE TUMBLING]\nEMIT ch|")) == ["changes"]


def test_behind_an_alias_stand_its_columns_alone(trades):
    trades.names["symbols"] = pl.DataFrame({"symbol": ["a"], "company": ["A"]})
    cell = "%%stream\nSELECT {} FROM trades [NOW] t JOIN symbols AS s ON t.symbol = s.symbol"
    assert trades.complete(cell.format("s.|")) == ["company", "symbol"]
    assert set(trades.complete(cell.format("t.|"))) == {"symbol", "price", "ts"}
    assert trades.complete(cell.format("t.pr|")) == ["price"]


def test_the_options_of_the_source_that_is_written_are_offered(trades):
    offered = trades.complete("%%stream\nCREATE STREAM s SOURCE 'file://x' WITH (|")
    assert {"format", "follow", "rate"} <= set(offered) and "ips" not in offered
    assert "ips" in trades.complete("%%stream\nCREATE STREAM s SOURCE 'generate://packets' WITH (rows = '5', |")


def test_files_frames_and_gauges_are_offered_behind_their_schemes(trades, tmp_path, monkeypatch):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "bids.jsonl").touch()
    monkeypatch.chdir(tmp_path)
    assert trades.complete("%%stream\nCREATE STREAM s SOURCE 'file://|") == ["logs/"]
    assert trades.complete("%%stream\nCREATE STREAM s SOURCE 'file://logs/b|") == ["bids.jsonl"]
    assert trades.complete("%%stream\nSELECT * FROM 'logs/|") == ["bids.jsonl"]
    assert trades.complete("%%stream\nCREATE STREAM s SOURCE 'frame://t|") == ["ticks"]
    assert "cpu" in trades.complete("%%stream\nCREATE STREAM s SOURCE 'system://|")
    assert "ticks" in trades.complete("%%stream\nSELECT * FROM ti|")
