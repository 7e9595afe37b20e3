"""Writing outputs under cells, from any thread.

A thread of ours has no cell of its own: updates go by display id, never by print.
"""

from __future__ import annotations

from typing import Any

from IPython.core.getipython import get_ipython
from IPython.display import display, update_display

Bundle = dict[str, Any]


def show(bundle: Bundle, display_id: str | None = None) -> None:
    """Display a MIME bundle under the running cell; where there is no IPython, print its text."""
    if get_ipython() is None:
        if "text/plain" in bundle:
            print(bundle["text/plain"])
        return
    if in_kernel() or "text/plain" in bundle:
        display(bundle, raw=True, display_id=display_id)


def update(bundle: Bundle, display_id: str) -> None:
    """Replace what was displayed under that id; a terminal can't, so nothing happens there."""
    if in_kernel():
        update_display(bundle, display_id=display_id, raw=True)


def in_kernel() -> bool:
    """Whether a front end with outputs is listening."""
    shell = get_ipython()
    return shell is not None and getattr(shell, "kernel", None) is not None
