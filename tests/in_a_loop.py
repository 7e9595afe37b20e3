"""Coroutines in a loop of their own: once Playwright has begun, a loop of its runs on the main thread for good."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def result_of(coroutine: Coroutine[object, object, T]) -> T:
    """What a coroutine gives, or raises, run to its end by another thread."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()
