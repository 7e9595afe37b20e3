"""When Python looks for garbage that refers to itself. Not for anything else it frees, which happens at once."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache


@contextmanager
def put_off(so: bool = True) -> Iterator[None]:
    """Don't look for it here, if so: of the thousands of nodes a long statement becomes none is, and to look at all of them
    again and again takes a quarter of the time.
    """
    before = gc.isenabled()
    if so:
        gc.disable()
    try:
        yield
    finally:
        if so and before:
            gc.enable()


@cache
def spare_the_loaded() -> None:
    """Leave what is there now, modules above all, out of every search from here on.

    For Spark's Python processes: after each task they look through everything (seen in PySpark 4.3.0), which with our libraries
    loaded takes 50 ms, longer than most tasks of a micro-batch.
    """
    gc.collect()
    gc.freeze()
