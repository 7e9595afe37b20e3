"""Every check of the project, the quickest first: `python tests`. Arguments go to pytest: `python tests -x tests/plan`.

Two tests run at a time, since most wait for a kernel, a browser or Spark for some of theirs; `-n 0` runs one. Not for
benchmarks; they have a command of their own in CONTRIBUTING.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
CONFIG = str(ROOT / "pyproject.toml")


def as_installed(folder: Path) -> Path:
    """The package as a wheel lays it out, `magics` in its place: mypy and import-linter read folders, not mappings."""
    shutil.copytree(ROOT / "jupyter_stream", folder / "jupyter_stream", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "magics", folder / "jupyter_stream" / "magics", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def check(title: str, command: list[str], cwd: Path = ROOT) -> None:
    """Run one check; its failure ends everything, with its own exit code."""
    print(f"\n=== {title}", flush=True)
    started = time.monotonic()
    code = subprocess.run(command, cwd=cwd, check=False).returncode
    print(f"--- {title}: {'passed' if code == 0 else 'FAILED'} in {time.monotonic() - started:.0f} s", flush=True)
    if code:
        sys.exit(code)


if __name__ == "__main__":
    python = sys.executable
    # a command that was started in the background may ignore interrupts, and so would all that it starts
    signal.signal(signal.SIGINT, signal.default_int_handler)
    check("format", [python, "-m", "ruff", "format", "--check", "."])
    check("lint", [python, "-m", "ruff", "check", "."])
    with tempfile.TemporaryDirectory() as temporary:
        installed = as_installed(Path(temporary))
        cache = str(ROOT / ".mypy_cache" / "as_installed")
        check("types", [python, "-m", "mypy", "--config-file", CONFIG, "--cache-dir", cache], installed)
        check("rooms", [str(BIN / "lint-imports"), "--config", CONFIG, "--no-cache"], installed)
    # kernels and Spark's processes begin by the hundred: without bytecode each would compile the package
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    check("tests", [python, "-m", "pytest", "-n", "2", "--dist", "worksteal", "-rfER", *sys.argv[1:]])
    print("\nAll checks passed.")
