"""`jupyter-stream pack`: the archive for executors."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from jupyter_stream.jobs.command import main
from tests.tiers import slow


@slow
def test_the_archive_is_all_a_python_lacks_that_has_what_we_stand_on(tmp_path: Path) -> None:
    at = tmp_path / "packed.zip"
    assert main(["pack", "-o", str(at)]) == 0
    parts = "jupyter_stream.spark.processor, jupyter_stream.spark.spread, jupyter_stream.sinks.delta_pieces"
    code = f"import jupyter_stream.spark.inside as m, {parts}; print(m.__file__)"
    path = f"import sys; sys.path[:0] = [{str(at)!r}, {sysconfig.get_path('purelib')!r}]; {code}"
    told = subprocess.run([sys.executable, "-S", "-c", path], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == f"{at}/jupyter_stream/spark/inside.pyc"  # compiled already
    assert "main" in (tmp_path / "packed.py").read_text()


def test_what_cannot_be_written_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pack", "-o", str(tmp_path / "nowhere" / "packed.zip")]) == 2
    assert "can't be written" in capsys.readouterr().err
