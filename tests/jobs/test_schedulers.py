"""The job of the reference under cron, systemd and Airflow: each command as the page has it, where they leave it."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from tests.tiers import slow
from tests.waiting import PATIENCE

PAGE = (Path(__file__).parents[2] / "tutorials" / "reference" / "jobs.md").read_text()


def block(language: str, beside: str) -> str:
    """The code of that language under a heading."""
    under = PAGE.split(f"## {beside}\n", 1)[1]
    found = re.search(rf"^```{language}\n(.*?)^```$", under, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """`/srv/logs` of the page: the file, its log, and an environment with the command."""
    (sql,) = re.findall(r"^```sql\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "busiest.sql").write_text(sql)
    rows = (f'{{"ts": "2024-01-01T00:00:{i:02}", "path": "/{i % 3}", "ms": {i}}}\n' for i in range(4))
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.jsonl").write_text("".join(rows))
    home = tmp_path / ".venv" / "bin"
    home.mkdir(parents=True)
    (home / "jupyter-stream").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m jupyter_stream "$@"\n')
    (home / "jupyter-stream").chmod(0o755)
    return tmp_path


def bare(folder: Path) -> dict[str, str]:
    """What cron and systemd give a command; and where Python finds the package that is tested."""
    return {
        "HOME": str(folder),
        "LOGNAME": "somebody",
        "SHELL": "/bin/sh",
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": ":".join(filter(None, sys.path)),
    }


def answered(text: str) -> list[tuple[object, object]]:
    return [(row["path"], row["n"]) for row in map(json.loads, text.splitlines())]


@slow
def test_under_cron(folder: Path) -> None:
    line = block("text", "Every night, with cron").strip()
    *times, command = line.split(maxsplit=5)
    assert all(re.fullmatch(r"\*|\d+", t) for t in times) and "%" not in command  # which is a new line to cron
    command = command.replace("/srv/logs", str(folder))
    subprocess.run(["/bin/sh", "-c", command], cwd="/", env=bare(folder), check=True, timeout=PATIENCE)
    assert answered((folder / "answers.jsonl").read_text()) == [("/0", 2)]


@slow
def test_under_systemd(folder: Path) -> None:
    text = block("ini", "Always, with systemd").replace("/srv/logs", str(folder))
    (folder / "busiest.service").write_text(text)
    if shutil.which("systemd-analyze"):
        verify = ["systemd-analyze", "verify", "--man=no", str(folder / "busiest.service")]
        said = subprocess.run(verify, capture_output=True, text=True, check=False)
        assert "busiest.service" not in said.stderr, said.stderr
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[method-assign, assignment]  # names as they are written
    unit.read_string(text)
    service = unit["Service"]
    command = shlex.split(service["ExecStart"])
    where = service["WorkingDirectory"]
    with subprocess.Popen(command, cwd=where, env=bare(folder), text=True, stderr=subprocess.PIPE) as process:
        try:
            assert process.stderr is not None
            told: dict[str, Any] = {}
            while told.get("rows_in") != 4:  # it goes on until it is stopped
                told = json.loads(process.stderr.readline())
            process.send_signal(signal.SIGTERM)
            process.stderr.read()
            assert process.wait(PATIENCE) == int(service["SuccessExitStatus"])
        finally:
            process.kill()


def test_airflow_runs_the_command_that_cron_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks: list[dict[str, str]] = []
    bash = types.ModuleType("airflow.providers.standard.operators.bash")
    bash.BashOperator = lambda **given: tasks.append(given)  # type: ignore[attr-defined]
    parts = bash.__name__.split(".")
    for i in range(1, len(parts)):
        monkeypatch.setitem(sys.modules, ".".join(parts[:i]), types.ModuleType(parts[i - 1]))
    monkeypatch.setitem(sys.modules, bash.__name__, bash)
    exec(block("python", "In Airflow"), {})
    (task,) = tasks
    by_cron = block("text", "Every night, with cron").partition("&& ")[2].removeprefix(".venv/bin/")
    assert task["cwd"] == "/srv/logs"
    assert task["bash_command"].partition(" > ")[0] == by_cron.partition(" >> ")[0]
    subprocess.run(["bash", "-n", "-c", task["bash_command"].replace("{{ ds }}", "2024-01-02")], check=True)
