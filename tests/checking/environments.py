"""Environments of other versions: pins for the check, the newest releases, and the oldest that pyproject.toml allows."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.checking import steps

PINS = steps.ROOT / ".ci" / "constraints.txt"
AGE = dt.timedelta(days=7)
"""How old a release must be to be pinned: by then what is wrong with it is known, or it has been withdrawn."""


@contextmanager
def fresh() -> Iterator[Path]:
    """The Python of a new virtual environment."""
    with tempfile.TemporaryDirectory(prefix="environment-") as folder:
        venv.create(folder, with_pip=True)
        yield Path(folder) / "bin" / "python"


def install(python: Path, *what: str, constraints: Path | None = None) -> None:
    """Install with pip, under these constraints and no others."""
    env = {k: v for k, v in os.environ.items() if k != "PIP_CONSTRAINT"}
    if constraints is not None:
        env["PIP_CONSTRAINT"] = str(constraints)
    subprocess.run([python, "-m", "pip", "install", "-q", *what], cwd=steps.ROOT, env=env, check=True)


def resolve(out: Path, *options: str) -> None:
    """Write versions of all packages that the tests need, by the resolver uv in an environment of its own."""
    with fresh() as python:
        install(python, "uv")
        command = [python.parent / "uv", "pip", "compile", "pyproject.toml", "--extra", "test", "--no-header"]
        more = ["--no-annotate", "--system-certs", "--quiet", "--python", sys.executable, "-o", out]
        subprocess.run([*command, *more, *options], cwd=steps.ROOT, check=True)


def pin() -> None:
    """Write `.ci/constraints.txt` anew: the newest releases that are at least a week old."""
    before = PINS.read_text().splitlines() if PINS.exists() else []
    PINS.unlink(missing_ok=True)
    resolve(PINS, "--exclude-newer", (dt.datetime.now(dt.UTC) - AGE).isoformat(timespec="seconds"))
    head = "# What the check runs with: releases at least a week old. Written by `python tests --pins`.\n"
    PINS.write_text(head + PINS.read_text())
    after = PINS.read_text().splitlines()
    print(*(f"- {line}" for line in before if line not in after), sep="\n")
    print(*(f"+ {line}" for line in after if line not in before), sep="\n")


def tested(which: str, arguments: list[str]) -> str:
    """Run the gate's tests with the `newest` or the `oldest` releases that pyproject.toml allows; decides nothing."""
    with fresh() as python, tempfile.TemporaryDirectory() as folder:
        versions = Path(folder) / "versions.txt"
        resolve(versions, *(["--resolution", "lowest-direct"] if which == "oldest" else []))
        install(python, "-e", ".[test]", constraints=versions)
        print(f"with the {which}:", *versions.read_text().split(), flush=True)
        try:
            steps.tests(arguments, f"tests with the {which}", str(python))
        except steps.Failed:
            return f"Something differs with the {which} releases. The gate doesn't depend on it."
        return f"With the {which} releases the tests pass."
