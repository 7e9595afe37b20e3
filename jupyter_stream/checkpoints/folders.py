"""Folders of running queries: claimed by a process, so that what a killed one left behind is found and deleted by the next.

A process that ends in order deletes its own.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from jupyter_stream.errors import StreamError

try:
    import fcntl
except ImportError:  # Windows: nothing is claimed, and nothing of others deleted
    fcntl = None  # type: ignore[assignment]  # Windows has none

_PREFIX: Final = "jupyter-stream-"
_CLAIM: Final = "claimed"
_TRIES: Final = 100
_LEAVING: Final = 120.0
"""Seconds that a folder is waited for whose query, of this process, has been told to stop: Spark may be starting just then."""
_EMPTYING: Final = 10.0
"""Seconds that a folder is deleted again in which somebody still writes."""
_leaving: set[Path] = set()
"""Folders whose queries, of this process, have been told to stop."""
_held: set[Folder] = set()
"""Temporary folders that have not been released."""


class Folder:
    """A folder that this process has for itself until `release`, or its end.

    Attributes:
        path: the folder.
        temporary: whether it is deleted when it is released.
        process: the number of the process that has it; not that of one forked from it.
    """

    def __init__(self, path: Path, claim: IO[str], temporary: bool) -> None:
        self.path = path
        self.temporary = temporary
        self.process = os.getpid()
        self._claim = claim
        if temporary:
            _held.add(self)

    def leave(self) -> None:
        """It is released soon: who wants it may wait."""
        if not self.temporary and not self._claim.closed:
            _leaving.add(self.path.resolve())

    def release(self) -> None:
        """Have done with it."""
        if self.temporary:
            _delete(self.path)
        self._claim.close()
        _held.discard(self)
        _leaving.discard(self.path.resolve())


@atexit.register
def _release_all() -> None:
    """The process ends: have done with its temporary folders."""
    for folder in list(_held):
        if folder.process == os.getpid():
            folder.release()


def temporary() -> Folder:
    """A new folder, until it is released or the process ends in order; those that ended processes left are deleted first."""
    sweep()
    for _ in range(_TRIES):
        path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        found = _claimed(path)
        if found is not None:
            return Folder(path, found, temporary=True)
        # another process took it, new as it was, for one that was left: that deletes it
    raise StreamError(f"no folder can be made in {tempfile.gettempdir()}")


def kept(path: Path, patience: float = 10) -> Folder | None:
    """A folder that stays; None if another query has it, and doesn't let go of it within so many seconds.

    One that has been told to stop is waited for longer.
    """
    path.mkdir(parents=True, exist_ok=True)
    _close(path)
    since = time.monotonic()
    while (found := _claimed(path)) is None:
        if time.monotonic() - since >= (max(patience, _LEAVING) if path.resolve() in _leaving else patience):
            return None
        time.sleep(0.05)
    _leaving.discard(path.resolve())
    return Folder(path, found, temporary=False)


def _close(path: Path) -> None:
    """Let nobody but its owner into a folder: it has the rows, and what is unpickled when the query goes on.

    Raises:
        StreamError: it is somebody else's.
    """
    if os.name != "posix":
        return
    if os.getuid() not in (0, path.stat().st_uid):
        raise StreamError(f"the checkpoint {path} is another user's folder: name one of your own")
    path.chmod(0o700)


def sweep() -> None:
    """Delete temporary folders whose process is gone."""
    if fcntl is None:
        return
    for claim in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_CLAIM}"):
        found = _claimed(claim.parent)
        if found is not None:
            _delete(claim.parent)
            found.close()


def _delete(folder: Path) -> None:
    """Delete a folder, the claim last: what somebody still writes to is found by the next sweep if it outlasts us."""
    end = time.monotonic() + _EMPTYING
    while not _emptied(folder):
        if time.monotonic() >= end:
            return
        time.sleep(0.05)
    shutil.rmtree(folder, ignore_errors=True)


def _emptied(folder: Path) -> bool:
    """Delete all but the claim; whether nothing else is left."""
    with suppress(OSError):  # it is gone
        for path in folder.iterdir():
            if path.name == _CLAIM:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        return all(p.name == _CLAIM for p in folder.iterdir())
    return not folder.exists()


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
        if not os.fstat(claim.fileno()).st_nlink:  # deleted meanwhile
            claim.close()
            return None
    return claim
