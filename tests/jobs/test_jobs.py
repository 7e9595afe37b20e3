"""`jupyter-stream run` and `check`, as processes of their own over real files."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import nbformat
import polars as pl
import pytest

from jupyter_stream import Query
from jupyter_stream.jobs import run
from jupyter_stream.jobs.command import main
from tests.tiers import slow, thinned
from tests.waiting import PATIENCE, until

ROWS = "".join(f'{{"k": "{"ab"[i % 2]}", "n": {i}, "ts": "2024-01-01T00:00:{i:02}"}}\n' for i in range(30))
DECLARED = (
    "CREATE STREAM s (k STRING, n INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://rows.jsonl' WITH (follow = 'true');\n"
)
COUNTS = "SELECT k, sum(n) AS n FROM s [RANGE 10 SECONDS TUMBLING] GROUP BY k"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.jsonl").write_text(ROWS)
    return tmp_path


BEGUN: list[subprocess.Popen[str]] = []


@pytest.fixture(autouse=True)
def _ended() -> Iterator[None]:
    """A job that a failed test leaves running is ended."""
    yield
    while BEGUN:
        process = BEGUN.pop()
        process.kill()
        process.communicate()


def started(folder: Path, words: Sequence[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "jupyter_stream", *words]
    BEGUN.append(subprocess.Popen(command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    return BEGUN[-1]


def job(folder: Path, *words: str) -> tuple[int, list[dict[str, object]], str]:
    """The exit code, the rows on stdout, and what stands on stderr."""
    process = started(folder, words)
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, [json.loads(line) for line in out.splitlines()], err


def written(folder: Path, text: str, name: str = "job.sql") -> str:
    (folder / name).write_text(text)
    return name


@slow
def test_a_followed_file_is_read_to_its_end_and_answers_go_to_stdout(folder: Path) -> None:
    code, rows, err = job(folder, "run", written(folder, DECLARED + COUNTS), "--until-end")
    assert code == 0, err
    assert sorted((r["window_end"], r["k"], r["n"]) for r in rows) == [
        (f"2024-01-01 00:00:{s + 10:02}", k, sum(range(s + i, s + 10, 2)))
        for s in (0, 10, 20)
        for i, k in enumerate("ab")
    ]
    assert "q1: finished, 30 rows in, 6 out" in err


@slow
def test_parameters_several_queries_and_a_log_of_json(folder: Path) -> None:
    text = DECLARED + "SELECT n FROM s WHERE k = :k AND n < :most; SELECT n FROM s WHERE n = 3"
    words = ("run", written(folder, text), "--until-end", "--set", "k=b", "--set", "most=6", "--log", "json")
    code, rows, err = job(folder, *words)
    assert code == 0, err
    assert sorted((r["query"], r["n"]) for r in rows) == [("q1", 1), ("q1", 3), ("q1", 5), ("q2", 3)]
    last = [json.loads(line) for line in err.splitlines()][-2:]
    assert [(m["query"], m["state"], m["rows_out"]) for m in last] == [("q1", "finished", 3), ("q2", "finished", 1)]


@slow
def test_a_notebook_runs_its_stream_cells_and_python_where_asked(folder: Path) -> None:
    book = nbformat.v4.new_notebook()
    book.cells = [
        nbformat.v4.new_markdown_cell("# A notebook"),
        nbformat.v4.new_code_cell("%load_ext jupyter_stream\nleast = 27"),
        nbformat.v4.new_code_cell("%%stream\n" + DECLARED),
        nbformat.v4.new_code_cell("%%stream big --chart table\nSELECT n FROM s WHERE n > :least"),
    ]
    nbformat.write(book, folder / "book.ipynb")
    code, rows, err = job(folder, "run", "book.ipynb", "--until-end", "--set", "least=25")
    assert code == 0 and [r["n"] for r in rows] == [26, 27, 28, 29], err
    code, rows, err = job(folder, "run", "book.ipynb", "--until-end", "--python")
    assert code == 0 and [r["n"] for r in rows] == [28, 29] and "big: finished" in err


@slow
def test_history_takes_the_place_of_the_stream(folder: Path) -> None:
    (folder / "old.jsonl").write_text('{"k": "z", "n": 7, "ts": "2020-01-01T00:00:00"}\n')
    code, rows, err = job(folder, "run", written(folder, DECLARED + COUNTS), "--over", "file://old.jsonl")
    assert code == 0 and [(r["k"], r["n"]) for r in rows] == [("z", 7)], err


@slow
def test_mistakes_and_failures_have_their_codes(folder: Path) -> None:
    code, rows, err = job(folder, "run", written(folder, DECLARED + "SELECT m FROM s"))
    assert (code, rows) == (2, []) and "job.sql: line 2, column 8" in err and "^" in err and "Traceback" not in err
    assert job(folder, "run", "missing.sql")[0] == 2
    assert job(folder, "run", "job.sql", "--set", "x")[0] == 2
    (folder / "broken.py").write_text("")
    failing = "CREATE STREAM f (n INT) SOURCE 'file://gone/*.jsonl'; SELECT n FROM f"
    assert job(folder, "run", written(folder, failing))[0] == 2


def test_it_ends_by_time(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Of which none goes by before all rows have been answered."""
    followed, seconds = run._followed, count()

    def timed(queries: list[Query], *rest: Any) -> int:
        def clock() -> float:
            answered = queries[0].snapshot(0)
            return float(next(seconds)) if (answered.rows_in, answered.rows_out) == (30, 30) else 0.0

        monkeypatch.setattr(run, "time", SimpleNamespace(monotonic=clock))
        return followed(queries, *rest)

    monkeypatch.setattr(run, "_followed", timed)
    monkeypatch.chdir(folder)
    assert main(["run", written(folder, DECLARED + "SELECT n FROM s"), "--for", "1 second"]) == 0
    assert "q1: stopped, 30 rows in, 30 out" in capsys.readouterr().err


@pytest.mark.parametrize("number", thinned([signal.SIGTERM, signal.SIGINT], 2))
def test_a_signal_ends_it_with_what_is_final_told(folder: Path, number: signal.Signals) -> None:
    process = started(folder, ("run", written(folder, DECLARED + COUNTS), "--log", "json"))
    assert process.stdout is not None
    first = [json.loads(process.stdout.readline()) for _ in range(4)]  # the last window waits for more rows
    assert {r["k"] for r in first} == {"a", "b"}
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    assert json.loads(err.splitlines()[-1])["state"] == "stopped"


@slow
def test_rows_that_come_while_it_runs_are_answered(folder: Path) -> None:
    process = started(folder, ("run", written(folder, DECLARED + "SELECT n FROM s WHERE n > 28")))
    assert process.stdout is not None
    assert json.loads(process.stdout.readline()) == {"n": 29}
    with (folder / "rows.jsonl").open("a") as file:
        file.write('{"k": "a", "n": 99, "ts": "2024-01-01T00:01:00"}\n')
    assert json.loads(process.stdout.readline()) == {"n": 99}
    process.terminate()
    assert process.wait(PATIENCE) == 130
    process.communicate()


@slow
@pytest.mark.parametrize("engine", thinned(["kernel", "spark"], 2))
def test_check_says_what_would_run_and_runs_nothing(folder: Path, engine: str) -> None:
    view = "CREATE VIEW v AS SELECT k, count(*) AS c FROM s GROUP BY k;\n"
    code, rows, err = job(folder, "check", written(folder, DECLARED + view + COUNTS), "--engine", engine)
    assert (code, rows) == (0, []), err
    assert "line 1: CREATE STREAM s" in err and "line 3: SELECT k, sum(n)" in err
    assert ("Spark" if engine == "spark" else "window aggregate [RANGE 10 SECONDS TUMBLING]") in err
    assert job(folder, "check", written(folder, DECLARED + "SELECT m FROM s"))[0] == 2


@slow
def test_check_looks_at_sources_and_sinks_before_anything_runs(folder: Path) -> None:
    away = "INSERT INTO 'https://me:secret@localhost:1/hook' SELECT n FROM s;"
    text = DECLARED + f"INSERT INTO 'file://out/' WITH (checkpoint = 'at') {COUNTS};\n" + away
    code, _, err = job(folder, "check", written(folder, text))
    assert code == 0, err
    assert "reads s: file://rows.jsonl\nwrites to file://out/: mode append, exactly once\n" in err
    assert "localhost:1/hook: mode append, at least once" in err and "secret" not in err
    assert not (folder / "out").exists() and not (folder / "at").exists()
    never = "INSERT INTO 'file://rows.jsonl/out/' SELECT n FROM s"
    code, _, err = job(folder, "check", written(folder, DECLARED + never))
    assert code == 2 and "rows.jsonl is a file, not a folder" in err


@slow
@pytest.mark.parametrize("words", ["--engine=spark", "-e spark -q", "busy --engine 'spark'"])
def test_check_reads_the_options_of_a_notebooks_cells_as_they_are_run(folder: Path, words: str) -> None:
    book = nbformat.v4.new_notebook()
    book.cells = [
        nbformat.v4.new_code_cell("%%stream\n" + DECLARED),
        nbformat.v4.new_code_cell(f"%%stream {words}\n{COUNTS}"),
    ]
    nbformat.write(book, folder / "book.ipynb")
    code, rows, err = job(folder, "check", "book.ipynb")
    assert (code, rows) == (0, []) and "Spark" in err, err


def test_check_takes_the_options_of_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    (folder / "old.jsonl").write_text('{"k": "z", "n": 7, "ts": "2020-01-01T00:00:00"}\n')
    words = [
        "check",
        written(folder, DECLARED + COUNTS),
        "--until-end",
        "--for",
        "1h",
        "--checkpoint",
        "at",
        "--python",
    ]
    assert main([*words, "--checkpoint-every", "5s", "--checkpoint-reset", "--over", "file://old.jsonl"]) == 0
    assert "reads s: file://old.jsonl" in capsys.readouterr().err and not (folder / "at").exists()
    spark = ["--engine", "spark", "--master", "local[1]", "--conf", "spark.ui.enabled=false", "--trigger", "5s"]
    assert main([*words, *spark]) == 0
    assert main([*words, "--master", "local[1]"]) == 2 and "need Spark" in capsys.readouterr().err
    assert main([*words, "--over", "file://gone.jsonl"]) == 2


def test_what_goes_to_a_sink_is_written_there_and_not_to_stdout(folder: Path) -> None:
    text = DECLARED + "INSERT INTO 'file://answers/' WITH (format = 'json') " + COUNTS + "; SELECT n FROM s WHERE n = 3"
    code, rows, err = job(folder, "check", written(folder, text))
    assert code == 0 and "window aggregate" in err and not (folder / "answers").exists(), err
    code, rows, err = job(folder, "run", "job.sql", "--until-end")
    assert code == 0 and rows == [{"n": 3}], err
    lines = [line for file in (folder / "answers").glob("*.json*") for line in file.read_text().splitlines()]
    assert sorted(json.loads(line)["n"] for line in lines) == [20, 25, 70, 75, 120, 125]
    assert "6 written to file://answers/" in err


def test_answers_that_a_sink_did_not_get_are_a_failure(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("jupyter_stream.sinks.file.FileSink.check", lambda self: None)
    followed = run._followed

    def once_answered(queries: list[Query], *rest: Any) -> int:
        """Its time begins when all rows are out, however long that takes."""
        until(lambda: queries[0].to_polars().height == 30)
        return followed(queries, *rest)

    monkeypatch.setattr(run, "_followed", once_answered)
    (folder / "away").write_text("in the way")
    text = DECLARED + "INSERT INTO 'file://away/' WITH (commit_every = '1 ms') SELECT n FROM s"
    words = ["run", written(folder, text), "--for", "1ms"]
    assert main([*words, "--log", "json"]) == 1
    (last,) = [facts for line in capsys.readouterr().err.splitlines() if "lost" in (facts := json.loads(line))]
    assert (last["state"], last["written"], last["lost"]) == ("stopped", {"file://away/": 0}, {"file://away/": 30})
    assert main(words) == 1
    assert "30 out, 0 written to file://away/ and 30 lost" in capsys.readouterr().err


def test_a_sink_that_breaks_is_a_failure(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no such thing")

    monkeypatch.chdir(folder)
    monkeypatch.setattr("jupyter_stream.sinks.file.FileSink.append", broken)
    text = DECLARED + "INSERT INTO 'file://out/' SELECT n FROM s"
    assert main(["run", written(folder, text), "--until-end"]) == 1


@slow
def test_the_command_is_installed_and_helps() -> None:
    command = Path(sys.executable).parent / "jupyter-stream"
    done = subprocess.run([command, "run", "--help"], capture_output=True, text=True, check=True, env={**os.environ})
    assert "%%stream cells" in done.stdout and "exit codes: 0 ended" in done.stdout


@slow
def test_the_example_of_the_reference_runs_as_it_is_written(folder: Path) -> None:
    page = (Path(__file__).parents[2] / "tutorials" / "reference" / "jobs.md").read_text()
    (text,) = re.findall(r"^```sql\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    commands = re.findall(r"^```bash\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[0]
    check, until_end, _ = commands.splitlines()
    (folder / "busiest.sql").write_text(text)
    (folder / "logs").mkdir()
    (folder / "logs" / "a.jsonl").write_text(
        "".join(f'{{"ts": "2024-01-01T00:00:{i:02}", "path": "/{i % 3}", "ms": {i}}}\n' for i in range(4))
    )
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for command in (check, until_end):
        subprocess.run(["bash", "-c", command], cwd=folder, env={**os.environ, "PATH": path}, check=True)
    (row,) = [json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()]
    assert (row["path"], row["n"], row["ms"]) == ("/0", 2, 1.5)


@slow
def test_over_files_of_last_year_answers_go_where_the_text_says(folder: Path) -> None:
    pl.DataFrame({"ts": ["2024-01-01T00:00:00"], "v": [1]}).write_ndjson(folder / "now.jsonl")
    past = pl.DataFrame({"ts": [f"2023-01-01T00:{i:02}:00" for i in range(20)], "v": list(range(20))})
    past.sample(fraction=1, shuffle=True, seed=1).write_ndjson(folder / "past.jsonl")
    (folder / "job.sql").write_text("""
        CREATE STREAM s (ts TIMESTAMP, v BIGINT) ORDER BY ts SOURCE 'file://now.jsonl' WITH (rate = '1/s');
        INSERT INTO 'file://out/' SELECT sum(v) AS total FROM s [RANGE 10 MINUTES TUMBLING];
        SELECT count(*) AS n FROM s [RANGE 10 MINUTES TUMBLING]""")
    code, rows, err = job(folder, "run", "job.sql", "--over", "file://past.jsonl")
    assert code == 0, err
    assert sorted(pl.read_parquet(folder / "out" / "*.parquet")["total"]) == [45, 145]
    assert [row["n"] for row in rows] == [10, 10]


@slow
def test_serve_begins_with_a_file_and_ends_with_a_signal(folder: Path) -> None:
    process = started(folder, ["serve", written(folder, DECLARED + COUNTS), "--port", "0", "--log", "json"])
    assert process.stderr is not None
    told: dict[str, str] = {}
    while "q1" not in told.get("message", ""):
        told |= json.loads(process.stderr.readline())
    answer = httpx.get(told["url"] + "/queries", headers={"Authorization": f"Bearer {told['token']}"}, timeout=PATIENCE)
    assert [q["name"] for q in answer.json()["queries"]] == ["q1"]
    assert httpx.get(told["message"].partition(": ")[2], timeout=PATIENCE).status_code == 200
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 130
