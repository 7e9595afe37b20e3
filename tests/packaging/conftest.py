"""The sdist and the wheel, built once, and a fresh virtual environment in which only the wheel is installed."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist, and the wheel built from that sdist: a file the sdist lacks is missing from both."""
    tree = tmp_path_factory.mktemp("tree") / "source"
    out = tmp_path_factory.mktemp("dist")
    tree.mkdir()
    for room in ("jupyter_stream", "magics"):  # other tests make and delete files beside them
        shutil.copytree(ROOT / room, tree / room, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    for file in ("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE"):
        shutil.copy(ROOT / file, tree)
    # without isolation: with it, build fetches setuptools from the network
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", out, tree]
    build = subprocess.run(command, capture_output=True, text=True, check=False)
    assert build.returncode == 0, build.stdout + build.stderr
    (wheel,) = out.glob("*.whl")
    (sdist,) = out.glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="session")
def installed(distributions: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Runs Python code in a fresh environment where the wheel is installed; gives what it printed.

    The dependencies are those of the running environment, through a .pth file; its own editable install is not among
    them, since a .pth file reached through another is not read.
    """
    home = tmp_path_factory.mktemp("fresh")
    venv.create(home / "venv", with_pip=False)
    python = home / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    purelib = Path(subprocess.check_output([python, "-c", where], text=True).strip())
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index",
         "--disable-pip-version-check", distributions[0]],
        check=True,
    )  # fmt: skip
    (purelib / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")

    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # which may lead to another copy

    def run(code: str, cwd: Path = home) -> str:
        done = subprocess.run(
            [python, "-c", code], cwd=cwd, capture_output=True, text=True, check=False, timeout=PATIENCE, env=bare
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
