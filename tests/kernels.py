"""Runs notebooks in kernels whose channels are sockets in a folder of their own.

A kernel's five TCP ports are free when they are picked and may be taken when it binds them, by another kernel that starts at
that moment. Names in a folder that nobody else knows are nobody else's.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from nbclient import NotebookClient
from nbformat import NotebookNode
from traitlets.config import Config

TRANSPORT = "tcp" if os.name == "nt" else "ipc"
PATIENCE = 600
"""Seconds that a kernel, and each cell, may take: a net, however slow the machine."""


def short_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for a kernel's sockets: such a path has 103 characters at most, and a test's own folder may have most of them."""
    return tempfile.TemporaryDirectory(prefix="k-", dir=None if os.name == "nt" else "/tmp", ignore_cleanup_errors=True)


def execute(notebook: NotebookNode, folder: Path | None = None) -> NotebookNode:
    """Run all cells in a kernel, in that folder; the first error raises CellExecutionError, which shows the cell.

    The kernel's temporary files are in a folder of its own, and when it has ended there are none.
    """
    with short_folder() as runtime:
        temporary = Path(runtime) / "t"
        temporary.mkdir()
        kernel = {
            "transport": TRANSPORT,
            "connection_file": str(Path(runtime) / "kernel.json"),
            "shutdown_wait_time": 60,  # what it has to put in order it does; ipykernel may stand still at its own end
        }
        client = NotebookClient(
            notebook,
            timeout=PATIENCE,
            startup_timeout=PATIENCE,
            kernel_name="python3",
            resources={} if folder is None else {"metadata": {"path": str(folder)}},
            config=Config({"KernelManager": kernel}),
        )
        done = client.execute(env={**os.environ, "TMPDIR": str(temporary)})
        assert not (left := sorted(path.name for path in temporary.iterdir())), f"the kernel left {left}"
        return done
