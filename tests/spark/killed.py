"""What surrounds a process that a test kills."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def environment(folder: Path) -> dict[str, str]:
    """The path of this process, and a place for temporary files in a folder of the test's: who is killed deletes none."""
    own = folder / "temporary"
    own.mkdir(exist_ok=True)
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(own)}
