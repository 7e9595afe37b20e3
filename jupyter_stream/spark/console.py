"""What Spark's process says on the standard error output, but for lines that tell nobody anything."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Final

_WORDS: Final = (
    b"WARNING: Using incubator modules: jdk.incubator.vector",  # Java, at every start; no setting turns it off
    b"Starting Streaming TransformWithStateInPandas Python worker.",  # PySpark, wherever operators of ours begin
    b"Streaming TransformWithStateInPandas Python worker ",
)
"""How lines begin that would stand red under a cell, and tell nobody anything."""


def launched(conf: Any) -> Any:
    """Spark's process, started by PySpark.

    Args:
        conf: a `SparkConf`.

    Returns:
        The gateway, for `SparkContext(gateway=...)`.
    """
    from pyspark.java_gateway import launch_gateway

    heard, said = os.pipe()
    listener = threading.Thread(
        target=pass_on, args=(heard, _to_stderr), name="jupyter-stream spark console", daemon=True
    )
    listener.start()
    try:
        return launch_gateway(conf, popen_kwargs={"stderr": said})
    finally:
        os.close(said)  # the process has its own


def pass_on(heard: int, say: Callable[[bytes], object]) -> None:
    """Give what comes to `say` as it comes, without such lines, until the other side has ended.

    Args:
        heard: the end of a pipe to read from; closed at the end.
        say: takes bytes.
    """
    held = b""  # the begin of what may become such a line
    while piece := os.read(heard, 65_536):
        *lines, rest = (held + piece).split(b"\n")
        held = rest if any(rest.startswith(w) or w.startswith(rest) for w in _WORDS) else b""
        told = b"".join(line + b"\n" for line in lines if not line.startswith(_WORDS)) + (b"" if held else rest)
        if told:
            say(told)
    if held and not held.startswith(_WORDS):
        say(held)
    os.close(heard)


def _to_stderr(piece: bytes) -> None:
    # the descriptor, as when Java has it itself: kernels show what is written there
    while piece:
        piece = piece[os.write(2, piece) :]
