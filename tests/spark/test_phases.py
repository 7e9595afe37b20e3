"""What a view says while Spark starts: the phase, how long it takes, and how long it took last time."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_stream.core.snapshot import Phase
from jupyter_stream.spark.phases import Phases
from jupyter_stream.views import strip


def test_a_phase_says_how_long_it_took_last_time_also_to_another_kernel(tmp_path: Path) -> None:
    heard: list[str | None] = []
    first = Phases(lambda: heard.append(first.now and first.now.name), tmp_path)
    first.enter("starting Java")
    assert first.now is not None and first.now.last is None
    first.enter("planning")
    first.leave(measured=False)
    assert heard == ["starting Java", None, "planning", None] and first.now is None
    another = Phases(folder=tmp_path)
    another.enter("starting Java")
    assert another.now is not None and another.now.last is not None
    another.enter("planning")
    assert another.now.last is None, "what was waiting for rows is no measure"


def test_what_was_noted_may_be_broken_or_not_to_be_written(tmp_path: Path) -> None:
    (tmp_path / "jupyter-stream-phases.json").write_text("{")
    phases = Phases(folder=tmp_path)
    phases.enter("planning")
    phases.leave()
    broken = Phases(folder=tmp_path / "jupyter-stream-phases.json")
    broken.enter("planning")
    broken.leave()


def test_a_view_names_the_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strip.time, "monotonic", lambda: 103.2)
    assert strip.phase(Phase("planning", 100, None)) == "planning: 3 s"
    told = Phase("first micro-batch", 100, 4.2, "2 files read")
    assert strip.phase(told) == "first micro-batch, 2 files read: 3 s (4.2 s last time)"
