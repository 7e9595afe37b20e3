"""Garbage is not looked for where millions of objects come and go and none is in a circle, as when a program's text is read."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Circles wait until this is over: looking for them took a third of such a test."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
