import pytest

from jupyter_stream.magics.commands import COMMANDS, _cell
from tests.waiting import until


def test_list_has_every_query_with_its_counters(hot):
    out = hot.run("%stream list")
    assert "hot" in out and "finished" in out and "600" in out
    assert "avg(price)" in out


def test_status_tells_the_counters_of_one(hot):
    out = hot.run("%stream status hot")
    assert "rows in" in out and "600" in out and "watermark" in out


def test_explain_and_plan_show_the_operators(hot):
    assert "rows in" in hot.run("%stream explain hot")
    assert "window aggregate" in hot.run("%stream plan hot")


def test_sources_functions_and_help_are_listed(notebook):
    assert "file://" in notebook.run("%stream sources")
    assert "avg" in notebook.run("%stream functions")
    out = notebook.run("%stream help")
    assert all(f"%stream {command.name}" in out for command in COMMANDS)
    assert notebook.run("%stream") == out == notebook.run("%stream --help")


def test_each_subcommand_has_help(notebook):
    for command in COMMANDS:
        assert command.help in notebook.run(f"%stream {command.name} --help")


def test_stop_pause_and_resume_do_what_the_buttons_do(notebook):
    notebook.run("%%stream\nCREATE STREAM cpu SOURCE 'system://cpu' WITH (every = '100 milliseconds')")
    notebook.run("%%stream load -q\nSELECT count(*) AS n FROM cpu [RANGE 1 SECOND SLIDE 1 SECOND]")
    query = notebook.names["load"]
    assert "paused: load" in notebook.run("%stream pause")
    assert query._pipeline.backlog.spill is None
    assert "paused: load" in notebook.run("%stream pause load --spill")
    until(lambda: query._pipeline.backlog.spill is not None)
    assert "--spill" in notebook.run("%stream pause --spil")
    assert "resumed: load" in notebook.run("%stream resume all")
    assert "stopped: load" in notebook.run("%stream stop load")
    assert query._pipeline.done.wait(200)
    assert query.status == "stopped"
    assert notebook.run("%stream stop all") == "nothing to stop"


def test_set_progress_says_when_silent_streams_are_moved_on(notebook):
    assert "streams that say nothing else: periodic 100 milliseconds" in notebook.run(
        "%stream set progress = 'periodic 100 ms'"
    )
    assert "none" in notebook.run("%stream set progress = none")
    out = notebook.run("%stream set progress = 'often'")
    assert "progress can't be 'often'" in out and "'on demand'" in out and "Traceback" not in out


def test_show_gives_a_further_view(hot):
    assert "hot: finished" in hot.run("%stream show hot")


def test_drop_forgets_and_reset_forgets_all(hot):
    assert "dropped" in hot.run("%stream drop hot")
    assert "none" in hot.run("%stream list")
    hot.run("%stream reset")
    assert "none" in hot.run("%%stream\nSHOW STREAMS")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("%stream stats hot", "Did you mean status?"),
        ("%stream status hto", "Did you mean hot?"),
        ("%stream explain", "%stream explain NAME"),
        ("%stream status hot cold", "a name is missing or too many: write %stream status [NAME]"),
        ("%stream stop", "%stream stop NAME"),
        ("%stream stop nobody", "no query 'nobody'"),
        ("%stream list hot", "takes nothing more"),
        ("%stream --what", "no option of %stream '--what'"),
        ("%stream stop --now", "no option of %stream stop"),
        ("%stream drop nothing", "no stream or query"),
        ("%stream show 'hot", "quote"),
    ],
)
def test_mistakes_name_the_nearest_and_stop_run_all(hot, line, said):
    out = hot.run(line)
    assert said in out and "Traceback" not in out
    assert hot.failed


def test_markup_in_a_listing_is_text(notebook):
    notebook.names["evil"] = notebook.names["ticks"].rename({"symbol": "<script>x</script>"})
    notebook.run("%%stream\nCREATE STREAM evil ORDER BY ts SOURCE 'frame://evil'")
    html = notebook.html("%%stream\nSHOW STREAMS")
    assert "<script" not in html and "&lt;script&gt;" in html


def test_record_and_replay_say_what_they_do_and_prove_the_answers_equal(hot, tmp_path):
    file = tmp_path / "t.parquet"
    said = hot.run(f"%stream record trades --for '1 minute' --to {file}")
    assert "recording trades for 1 minute" in said
    assert hot.names["trades_recording"].wait(200)
    said = hot.run(f"%stream replay {file} hot --shuffle 30s --seed 3")
    assert "hot, answers: equal" in said and not hot.failed
    assert hot.names["trades_replay"].equal and hot.names["hot_shuffled"].to_polars().height
    assert "--for takes a length of time" in hot.run("%stream record trades --for soon")
    assert "there is no file" in hot.run("%stream replay nothing.parquet")


def test_status_without_a_name_is_about_all_queries_and_sources(hot):
    said = hot.run("%stream status")
    assert "Queries" in said and "processor" in said and "hot" in said
    assert "Sources (scheduler: fifo)" in said


def test_the_system_view_tells_numbers_and_sizes_as_people_read_them():
    shown = [
        _cell(name, value)
        for name, value in (("state_bytes", 9_632), ("rows_in", 1_234_567), ("seconds", 0.5), ("state", None))
    ]
    assert shown == ["9.6 kB", "1,234,567", "0.5", ""]


def test_a_plan_without_a_kernel_is_text(hot):
    said = hot.run("%stream plan hot")
    assert "scan ticks" in said or "scan trades" in said
    assert "rows in" in said


def test_serve_says_where_and_stop_ends_it(notebook) -> None:
    told = notebook.run("%stream serve --port 0")
    server = notebook.names["get_ipython"]().magics_manager.registry["StreamMagics"].session.server
    assert server.url in told and server.token in told
    assert "--port takes a number" in notebook.run("%stream serve --port x")
    assert server.running
    assert "served no longer" in notebook.run("%stream serve --stop")
    assert not server.running and "nothing is served" in notebook.run("%stream serve --stop")


def test_deactivate_and_activate_say_what_that_means(notebook) -> None:
    notebook.run(
        "%%stream load\nSELECT avg(percent) AS p FROM 'system://cpu?every=100ms' [RANGE 2 SECONDS SLIDE 1 SECOND]"
    )
    assert "load is inactive: it holds no state" in notebook.run("%stream deactivate load")
    assert "inactive" in notebook.run("%stream list")
    assert "exact from 2 s behind its first row on" in notebook.run("%stream activate load")
    assert "load is active" in notebook.run("%stream activate load") and notebook.failed


def test_set_scheduler_says_who_works_next_in_all_queries_or_in_one(notebook):
    notebook.run("%%stream\nCREATE STREAM cpu SOURCE 'system://cpu' WITH (every = '100 milliseconds')")
    notebook.run("%%stream load -q\nSELECT count(*) AS n FROM cpu [RANGE 1 SECOND SLIDE 1 SECOND]")

    def works_by():
        said = str(notebook.names["load"].explain()).splitlines()
        return next(line for line in said if line.startswith("scheduler: "))

    assert "sources are served and operators work by chain" in notebook.run("%stream set scheduler = 'chain'")
    assert works_by() == "scheduler: chain"
    assert "load's operators work by dfs" in notebook.run("%stream set load scheduler = 'dfs'")
    until(lambda: works_by() == "scheduler: dfs")
    assert "work by chain 100 ms" in notebook.run("%stream set scheduler = chain 100 ms")
    assert works_by() == "scheduler: dfs"
    assert "by session's policy" in notebook.run("%stream set load scheduler = 'session'")
    until(lambda: works_by() == "scheduler: chain 100 ms")
    for wrong, said in [
        ("scheduler = 'fastest'", "there is no scheduler 'fastest'"),
        ("load scheduler = 'fastest'", "there is no scheduler 'fastest'"),
        ("lod scheduler = 'dfs'", "lod"),
        ("load memory = '1 GB'", "can set memory, scheduler and progress"),
        ("scheduler =", "a value is missing"),
    ]:
        out = notebook.run(f"%stream set {wrong}")
        assert said in out and "Traceback" not in out
    assert works_by() == "scheduler: chain 100 ms"
    notebook.run("%stream stop load")
