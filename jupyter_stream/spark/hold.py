"""A checkpoint held by the Spark that writes to it.

The claim of `folders` ends with the kernel that made it. Spark is a process of its own, and that of a killed kernel goes on with
its micro-batch for some seconds: who goes on from the checkpoint meanwhile would have it written twice, which Spark ends both
for. So Spark holds a lock too, which the machine takes away when its process ends.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any, Final

from jupyter_stream.core import logs
from jupyter_stream.errors import StreamError

log = logs.of(__name__)

_LOOK: Final = 0.1
"""Seconds between looks at whether another Spark has let go."""


class Hold:
    """What Spark holds of a checkpoint, until `release` or the end of its process.

    Args:
        folder: the checkpoint's.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "held"
        self._file: Any = None

    def take(self, context: Any, stopping: threading.Event, patience: float) -> bool:
        """Hold it, once another Spark has let go of it; whether that came before `stopping`.

        Args:
            context: Spark's.
            stopping: set when there is nothing to hold it for any more.
            patience: seconds.

        Raises:
            StreamError: another Spark still has it after so long.
        """
        if self._file is not None:
            return True
        file = context._jvm.java.io.RandomAccessFile(str(self._path), "rw")
        end, told = time.monotonic() + patience, False
        while not stopping.is_set():
            try:
                if file.getChannel().tryLock() is not None:
                    self._file = file
                    return True
            except Exception as error:
                if "OverlappingFileLock" not in str(error):  # by a query of this very Spark
                    log.debug("%s can't be locked", self._path, exc_info=True)
                    file.close()
                    return True
            if time.monotonic() >= end:
                file.close()
                raise StreamError(
                    f"another Spark still writes to the checkpoint {self._path.parent}, perhaps that of a kernel that has ended. "
                    "End its process, or name another folder"
                )
            if not told:
                log.warning("another Spark has not let go of the checkpoint %s yet", self._path.parent)
                told = True
            stopping.wait(_LOOK)
        file.close()
        return False

    def release(self) -> None:
        """Let go of it; nothing to do where Spark itself has ended."""
        if self._file is None:
            return
        try:
            self._file.close()
        except Exception:
            log.debug("letting go of %s", self._path, exc_info=True)
        self._file = None
