"""What a query on Spark is doing before its first answer, and how long each part took last time: also in other kernels."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, TypeAlias

from jupyter_stream.core.snapshot import Phase

Name: TypeAlias = Literal["starting Java", "planning", "first micro-batch"]

_FILE: Final = "jupyter-stream-phases.json"


class Phases:
    """The phases of one query, one after the other.

    Args:
        told: called when a phase begins or ends.
        folder: where it is noted how long they took; None for Jupyter's own folder for data.

    Attributes:
        now: the phase it is in; None before the first and after the last.
    """

    def __init__(self, told: Callable[[], object] = lambda: None, folder: Path | None = None) -> None:
        self._told = told
        self._folder = folder
        self._last = self._noted()
        self.now: Phase | None = None

    def enter(self, name: Name) -> None:
        """Begin a phase; the one before has ended."""
        self.leave()
        self.now = Phase(name, time.monotonic(), self._last.get(name))
        self._told()

    def leave(self, *, measured: bool = True) -> None:
        """The phase has ended.

        Args:
            measured: whether to note how long it took; not where it was waiting for rows.
        """
        ended, self.now = self.now, None
        if ended is None:
            return
        if measured:
            self._last = {**self._noted(), ended.name: round(time.monotonic() - ended.since, 1)}
            self._note()
        self._told()

    @property
    def _path(self) -> Path:
        from jupyter_core.paths import jupyter_data_dir

        return (self._folder or Path(jupyter_data_dir())) / _FILE

    def _noted(self) -> Mapping[str, float]:
        with suppress(OSError, ValueError):
            noted = json.loads(self._path.read_text("utf-8"))
            if isinstance(noted, dict):
                return {str(k): float(v) for k, v in noted.items() if isinstance(v, int | float)}
        return {}

    def _note(self) -> None:
        with suppress(OSError):  # it is only for the reader's patience
            self._path.parent.mkdir(parents=True, exist_ok=True)
            hidden = self._path.with_suffix(".new")
            hidden.write_text(json.dumps(dict(self._last)), "utf-8")
            hidden.replace(self._path)
