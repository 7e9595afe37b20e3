"""The steps of a check and their times: format, lint, types, rooms, tests. Not for choosing tests."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.checking import keeper

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
CONFIG = str(ROOT / "pyproject.toml")

took: list[tuple[str, float]] = []
"""What was run so far, with its seconds."""


class Failed(Exception):
    """A step failed.

    Attributes:
        code: its exit code.
    """

    def __init__(self, code: int) -> None:
        super().__init__(f"exit code {code}")
        self.code = code


def run(title: str, command: list[str], cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> None:
    """Run one step and print how it went.

    Raises:
        Failed: it failed.
    """
    print(f"\n=== {title}", flush=True)
    started = time.monotonic()
    code = subprocess.run(command, cwd=cwd, check=False, env={**os.environ, **(env or {})}).returncode
    took.append((title, time.monotonic() - started))
    print(f"--- {title}: {'passed' if code == 0 else 'FAILED'} in {took[-1][1]:.0f} s", flush=True)
    if code:
        raise Failed(code)


@contextmanager
def as_installed() -> Iterator[Path]:
    """The package as a wheel lays it out, `magics` in its place: mypy and import-linter read folders, not mappings."""
    with tempfile.TemporaryDirectory() as made:
        unwanted = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "jupyter_stream", Path(made) / "jupyter_stream", ignore=unwanted)
        shutil.copytree(ROOT / "magics", Path(made) / "jupyter_stream" / "magics", ignore=unwanted)
        yield Path(made)


def static() -> None:
    """Format, lint, types, rooms: what is seen without running anything."""
    run("format", [sys.executable, "-m", "ruff", "format", "--check", "."])
    run("lint", [sys.executable, "-m", "ruff", "check", "."])
    with as_installed() as installed:
        cache = str(ROOT / ".mypy_cache" / "as_installed")
        run("types", [sys.executable, "-m", "mypy", "--config-file", CONFIG, "--cache-dir", cache], installed)
        run("rooms", [str(BIN / "lint-imports"), CONFIG, "--no-cache"], installed)


@contextmanager
def collecting() -> Iterator[None]:
    """Tests are collected beside what needs one core, such as types: their bytecode is there when two workers want it.

    What isn't collected when the block is over is left to them.
    """
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as begun:
        try:
            yield
        finally:
            begun.send_signal(signal.SIGINT)  # it ends in order, with its temporary folder


def tests(arguments: list[str], title: str = "tests", python: str = sys.executable, **env: str) -> None:
    """Run pytest, two tests at a time; what it has started and left running ends with it.

    Where everything runs, four at a time: two that wait for Spark and one for the browser leave half of the cores to the others.
    """
    # kernels and Spark's processes begin by the hundred: without bytecode each would compile the package
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    workers = "4" if os.environ.get("TESTS") == "all" else "2"
    command = [python, "-m", "pytest", "-n", workers, "--dist", "loadscope", "-rfER", *arguments]
    with keeper.keeping() as mark:
        # batches of a few rows gain nothing from Polars' second thread, and others run beside each test
        run(title, command, env={"POLARS_MAX_THREADS": "1", **mark, **env})


def told() -> str:
    """What took how long, in a line."""
    return ", ".join(f"{title} {seconds:.0f} s" for title, seconds in took)
