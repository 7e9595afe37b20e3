"""`python://` of a live generator: it is pulled while it is read, and its thread ends with the last read."""

from __future__ import annotations

import asyncio
import gc
import threading

import polars as pl
import pytest

from jupyter_stream.errors import SourceError
from jupyter_stream.sources import Request
from tests.faults.threads import begun
from tests.sources.test_python import ONE, source
from tests.waiting import PATIENCE, until


def pulling() -> list[threading.Thread]:
    return [t for t in begun() if t.name == "python://x"]


def test_without_a_read_nothing_is_taken_out_of_a_live_generator_and_no_thread_stays():
    made = 0

    def ticks():
        nonlocal made
        while True:
            made += 1
            yield pl.DataFrame({"n": [made]})  # of frames few are held

    live, taken = source(ticks(), ONE), []
    for _ in range(3):
        request = Request()
        chunks = live.read(request)
        taken += next(chunks).frame["n"].to_list()
        request.stop.set()
        taken += [n for c in chunks for n in c.frame["n"].to_list()]
        until(lambda: not pulling())
    assert taken == list(range(1, len(taken) + 1))
    assert made < len(taken) + 10


def test_what_a_live_generator_waited_for_when_its_read_ended_is_the_next_ones():
    comes = threading.Event()

    def ticks():
        yield 1
        assert comes.wait(PATIENCE)
        yield 2
        raise AssertionError("nobody asked for more")

    live, request = source(ticks(), ONE), Request()
    chunks = live.read(request)
    assert next(chunks).frame.rows() == [(1,)]
    request.stop.set()
    assert list(chunks) == []
    comes.set()
    until(lambda: not pulling())
    chunks = live.read(Request())
    assert next(chunks).frame.rows() == [(2,)]
    with pytest.raises(SourceError, match="nobody asked for more"):
        list(chunks)


def test_a_live_async_generator_waits_on_its_loop_for_the_next_read_and_ends_with_its_source():
    closed, beats = threading.Event(), []

    async def beat():
        while True:
            beats.append(1)
            await asyncio.sleep(0.001)

    async def ticks():
        beating = asyncio.ensure_future(beat())
        try:
            for i in range(10**9):
                yield i
                await asyncio.sleep(0)
        finally:
            beating.cancel()
            closed.set()

    live, taken = source(ticks(), ONE), []
    for _ in range(2):
        request = Request()
        chunks = live.read(request)
        taken += next(chunks).frame["n"].to_list()
        request.stop.set()
        taken += [n for c in chunks for n in c.frame["n"].to_list()]
        so_far = len(beats)
        until(lambda so_far=so_far: len(beats) > so_far + 2)  # a connection it has open is kept alive
    assert taken == list(range(len(taken)))
    assert len(pulling()) == 1 and not closed.is_set()
    del live, chunks
    gc.collect()
    assert closed.wait(PATIENCE)
    until(lambda: not pulling())
