"""The check itself: what it chooses, what it counts, and that nothing of it is left."""

from __future__ import annotations

import ast
import math
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import limits, times
from tests.__main__ import tier
from tests.checking import reach, stabilize, steps
from tests.checking.essence import ESSENCE
from tests.checking.keeper import keeping
from tests.tiers import slow
from tests.waiting import PATIENCE, until


def marks(node: ast.FunctionDef) -> set[str]:
    return {ast.unparse(d) for d in node.decorator_list}


@pytest.mark.parametrize("name", ESSENCE)
def test_the_essence_of_each_room_is_in_the_gate(name: str) -> None:
    file, test = name.split("::")
    tree = ast.parse((steps.ROOT / "tests" / file).read_text())
    (found,) = (n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == test)
    assert "slow" not in marks(found)
    own = [n for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "pytestmark"]
    assert not any("slow" in ast.unparse(n) for n in own)


def test_who_names_a_test_gets_it() -> None:
    assert tier([]) == tier(["-x"]) == ["-m", "not slow"]
    assert tier([__file__]) == tier([f"{__file__}::test_x"]) == tier(["-m", "slow"]) == []


def test_changed_tests_are_found_by_their_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "ROOT", tmp_path)
    monkeypatch.setattr(reach, "ROOT", tmp_path)
    file, shared, new = (tmp_path / "tests" / "room" / f"test_{name}.py" for name in ("one", "shared", "new"))
    file.parent.mkdir(parents=True)
    text = "def test_a():\n    assert 1\n\n\n@mark\ndef test_b():\n    assert 1\n\n\ndef test_c():\n    assert 1\n"
    file.write_text(text)
    shared.write_text("N = 1\n\n\ndef test_n():\n    assert N\n")
    git = ["git", "-c", "user.name=n", "-c", "user.email=n@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    assert stabilize.changed_tests("HEAD") == []
    file.write_text(
        text.replace("@mark", "@other").replace("def test_c():\n    assert 1", "def test_c():\n    assert 2")
    )
    shared.write_text("N = 2\n\n\ndef test_n():\n    assert N\n")
    new.write_text("def test_new():\n    assert 1\n")
    assert stabilize.changed_tests("HEAD") == [
        "tests/room/test_new.py",
        "tests/room/test_one.py::test_b",
        "tests/room/test_one.py::test_c",
        "tests/room/test_shared.py",
    ]


def test_more_than_a_few_second_tries_are_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def code(tries: int) -> object:
        session = SimpleNamespace(config=SimpleNamespace(), exitstatus=pytest.ExitCode.OK)
        monkeypatch.setattr(times, "retried", {str(i): "TimeoutError" for i in range(tries)})
        times.pytest_sessionfinish(session)  # type: ignore[arg-type]  # all that it looks at
        return session.exitstatus

    monkeypatch.delenv("TESTS_TOLD", raising=False)
    monkeypatch.delenv("TEST_TIMES", raising=False)
    assert code(times.RETRIES) == pytest.ExitCode.OK
    assert code(times.RETRIES + 1) == pytest.ExitCode.TESTS_FAILED


HANGS = """
import threading, pytest

never = threading.Event()

@pytest.fixture
def ends():
    yield
    never.wait()

@pytest.mark.flaky(reruns=1)  # its second try is what is looked at: it has to be ended like the first
def test_a_first_try_that_hangs_and_a_second(): never.wait()

def test_an_end_that_hangs_behind_a_test_that_did(ends): never.wait()
"""


def test_limits_that_a_failure_has_taken_away_are_set_again(request: pytest.FixtureRequest) -> None:
    item = request.node
    for begins in (limits.pytest_runtest_setup, limits.pytest_runtest_teardown):
        item.ihook.pytest_timeout_cancel_timer(item=item)
        assert not signal.getitimer(signal.ITIMER_REAL)[0]
        begins(item)
        assert signal.getitimer(signal.ITIMER_REAL)[0]
    assert request.config.pluginmanager.is_registered(limits)


def test_the_limit_of_a_worker_is_set_again_behind_a_failure_and_after_a_minute(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, begun = [1_000.0], []
    monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(limits.faulthandler, "dump_traceback_later", lambda *_, **__: begun.append(now[0]))
    monkeypatch.setattr(limits, "_begun", -math.inf)
    for passed, failed in ((0.0, False), (30.0, False), (31.0, False), (1.0, True), (1.0, False)):
        now[0] += passed
        if failed:
            limits.pytest_exception_interact()
        limits.set_again(request.node)
    assert begun == [1_000.0, 1_061.0, 1_062.0]


@slow
def test_a_second_try_and_the_end_of_what_hung_have_a_limit_too(tmp_path: Path) -> None:
    file = tmp_path / "test_hangs.py"
    file.write_text(HANGS)
    options = f"-q -n 0 -p no:cacheprovider -p tests.limits -o timeout=5 --rootdir {tmp_path}".split()
    command = [sys.executable, "-m", "pytest", *options, str(file)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, cwd=steps.ROOT)
    assert "2 failed, 1 error, 1 rerun" in ended.stdout, ended.stdout[-3000:]
    assert ended.stdout.count("Timeout (>5.0s)") >= 3


def test_the_last_line_of_a_run_counts_what_failed_in_fixtures_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TESTS_TOLD", str(tmp_path / "told"))
    monkeypatch.delenv("TEST_TIMES", raising=False)
    monkeypatch.setattr(times, "outcomes", Counter(passed=3, failed=1, skipped=2))
    monkeypatch.setattr(times, "retried", {})
    session = SimpleNamespace(config=SimpleNamespace(), exitstatus=1)
    times.pytest_sessionfinish(session)  # type: ignore[arg-type]  # all that it looks at
    assert (tmp_path / "told").read_text() == "3 passed, 1 failed, 2 skipped\n"


CHILD = """
import subprocess, sys, time
sys.path.insert(0, sys.argv[1])
from tests.checking.keeper import keeping
with keeping(grace=0.1) as mark:
    import os
    command = [sys.executable, "-c", "import time; time.sleep(1000)"]
    left = subprocess.Popen(command, env={**os.environ, **mark}, start_new_session=True)
    print(left.pid, flush=True)
    time.sleep(1000)
"""


def runs(pid: int) -> bool:
    try:
        return not re.search(r"^State:\s+Z", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    except OSError:
        return False


def test_a_run_that_is_killed_leaves_nothing_running() -> None:
    command = [sys.executable, "-c", CHILD, str(steps.ROOT)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    pid = int(child.stdout.readline())
    assert runs(pid)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    until(lambda: not runs(pid))


def test_what_ends_by_itself_is_left_to_do_so() -> None:
    with keeping(grace=60) as mark:
        done = subprocess.run([sys.executable, "-c", "print('done')"], env={**os.environ, **mark}, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize(("fails", "code"), [(0, 0), (2, 0), (3, 1)])
def test_what_downloads_is_tried_three_times(fails: int, code: int, tmp_path: Path) -> None:
    text = (steps.ROOT / ".ci" / "run").read_text()
    functions = text[text.index("times=()") : text.index("packages=()")].replace("sleep ", "true ")
    tried = tmp_path / "tried"
    script = f"""set -euo pipefail
{functions}
step() {{ echo . >> {tried}; [ $(wc -l < {tried}) -gt {fails} ]; }}
code=0
timed step three_times step || code=$?
echo "$code ${{times[*]}}"
"""
    told = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout
    assert told.split()[:2] == [str(code), "step"]
    assert len(tried.read_text().splitlines()) == min(fails + 1, 3)


def test_a_second_try_is_told_with_its_statement() -> None:
    told = "    def test():\n>       view.wait_for()\n\n>       raise error\nE       TimeoutError: 200 s\nE       Call log:\n"
    assert times.cause(told) == "TimeoutError: 200 s (at view.wait_for())"
    assert times.cause("the worker is gone") == "the worker is gone"
