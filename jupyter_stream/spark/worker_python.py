"""The Python that Spark starts its processes with: the kernel's, with PySpark from where it is installed.

Spark puts a zip file of PySpark before everything else on PYTHONPATH. What is imported from a zip file is compiled anew by each
process, which takes 1.2 seconds, and every query that runs our operators begins with such a process. Beside the kernel the same
PySpark is installed, compiled.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import site
import sys
import sysconfig
from functools import cache
from pathlib import Path

from jupyter_stream.checkpoints.folders import temporary


@cache
def worker_python() -> str:
    """The path of that Python: the kernel's own, or a script that starts it without Spark's additions to PYTHONPATH."""
    if os.name != "posix" or not _installed():
        return sys.executable
    folder = temporary()  # until the process ends
    own = os.environ.get("PYTHONPATH")
    setting = "-u PYTHONPATH" if own is None else shlex.quote(f"PYTHONPATH={own}")
    script = folder.path / "python"
    script.write_text(f'#!/bin/sh\nexec env {setting} {shlex.quote(sys.executable)} "$@"\n')
    script.chmod(0o755)
    return str(script) if os.access(script, os.X_OK) else sys.executable  # temporary files may be barred from being run


def _installed() -> bool:
    """Whether a Python of this environment finds PySpark by itself: not by a path this process was given."""
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        return False
    places = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), site.getusersitepackages()]
    if any(Path(found.origin).is_relative_to(place) for place in places):
        return True
    own = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return any(Path(found.origin).is_relative_to(place) for place in own if place)
