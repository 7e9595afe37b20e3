"""Folders of running queries: claimed by a process, so that what a killed one left behind is found and deleted by the next."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import IO, Final

try:
    import fcntl
except ImportError:  # Windows: nothing is claimed, and nothing of others deleted
    fcntl = None  # type: ignore[assignment]

_PREFIX: Final = "jupyter-stream-"
_CLAIM: Final = "claimed"


class Folder:
    """A folder that this process has for itself until `release`, or its end.

    Attributes:
        path: the folder.
        temporary: whether it is deleted when it is released.
    """

    def __init__(self, path: Path, claim: IO[str], temporary: bool) -> None:
        self.path = path
        self.temporary = temporary
        self._claim = claim

    def release(self) -> None:
        """Have done with it."""
        if self.temporary:
            shutil.rmtree(self.path, ignore_errors=True)
        self._claim.close()


def temporary() -> Folder:
    """A new folder; those that ended processes left are deleted first."""
    sweep()
    path = Path(tempfile.mkdtemp(prefix=_PREFIX))
    found = _claimed(path)
    assert found is not None
    return Folder(path, found, temporary=True)


def kept(path: Path, patience: float = 10) -> Folder | None:
    """A folder that stays; None if another query has it, and doesn't let go of it within so many seconds."""
    path.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + patience
    while (found := _claimed(path)) is None and time.monotonic() < end:
        time.sleep(0.05)
    return None if found is None else Folder(path, found, temporary=False)


def sweep() -> None:
    """Delete temporary folders whose process is gone."""
    if fcntl is None:
        return
    for claim in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_CLAIM}"):
        found = _claimed(claim.parent)
        if found is not None:
            shutil.rmtree(claim.parent, ignore_errors=True)
            found.close()


def _claimed(path: Path) -> IO[str] | None:
    try:
        claim = (path / _CLAIM).open("a")
    except OSError:  # it is gone, or somebody else's
        return None
    if fcntl is not None:
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            claim.close()
            return None
    return claim
