"""Does what the Dockerfile of the reference says, one instruction after the other, in a clean folder and without Docker.

`python -m tests.jobs.container`: a fresh clone of the last commit is what is copied, `python` is that of `FROM`, and the folder
stands for `/home/job`. Then the job runs as the container would run it, and is stopped as `docker stop` does.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "tutorials" / "reference" / "jobs.md").read_text()
HOME = "/home/job"


def code(language: str, after: str = "") -> str:
    """The first code of that language after some words of the page."""
    found = re.search(rf"^```{language}\n(.*?)^```$", PAGE.partition(after)[2], re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def context(folder: Path) -> None:
    """The folder that `docker build` would be given: the repository, with the page's file in it."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    (folder / "busiest.sql").write_text(code("sql", "# Jobs"))


def build(instructions: list[list[str]], given: Path, home: Path, environment: dict[str, str]) -> list[str]:
    """Do them; returns the command that is run in the end."""
    command: list[str] = []
    for word, rest in instructions:
        print(word, rest, flush=True)
        rest = rest.replace(HOME, str(home))
        if word == "FROM":
            wanted = rest.partition(":")[2].partition("-")[0]
            python = shutil.which(f"python{wanted}")
            assert python is not None, f"there is no Python {wanted} on the PATH"
            (home / "bin").mkdir()
            (home / "bin" / "python").symlink_to(python)
        elif word == "COPY":
            source, target = shlex.split(rest)[-2:]
            if source == ".":
                shutil.copytree(given, home / target)
            else:
                shutil.copy(given / source, home / target)
        elif word == "RUN" and not rest.startswith("useradd"):  # another user, which needs to be root
            subprocess.run(["/bin/sh", "-c", rest], cwd=home, env=environment, check=True)
        elif word in ("ENTRYPOINT", "CMD"):
            command += json.loads(rest)
    return command


def main() -> int:
    """Build it, run it, stop it."""
    instructions = [line.split(maxsplit=1) for line in code("dockerfile", "## In a container").splitlines()]
    with tempfile.TemporaryDirectory() as made:
        given, home = Path(made) / "context", Path(made) / "home"
        context(given)
        home.mkdir()
        environment = {"HOME": str(home), "PATH": f"{home / 'bin'}:/usr/bin:/bin", "LANG": "C.UTF-8"}
        environment |= {
            name: value for name, value in os.environ.items() if name.lower().endswith("_proxy") or "PIP" in name
        }
        command = build(instructions, given, home, environment)
        (home / "logs").mkdir()
        rows = (f'{{"ts": "2024-01-01T00:00:{i:02}", "path": "/{i % 3}", "ms": {i}}}\n' for i in range(0, 60, 5))
        late = '{"ts": "2024-01-01T00:02:00", "path": "/0", "ms": 1}\n'
        (home / "logs" / "a.jsonl").write_text("".join(rows) + late)
        with subprocess.Popen(command, cwd=home, env=environment, text=True, stdout=subprocess.PIPE) as job:
            assert job.stdout is not None
            row = json.loads(job.stdout.readline())
            print("answered", row)
            job.send_signal(signal.SIGTERM)
            job.stdout.read()
            code_ = job.wait()
        print("exit code", code_)
        return int(code_ != 130 or row["n"] < 2)


if __name__ == "__main__":
    sys.exit(main())
