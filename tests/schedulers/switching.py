"""Policies that take turns while queries run, in steps of few rows: no answer may depend on them.

With TESTS_POLICIES=drawn all tests of the oracle's modules (`test_oracle_*`) run under some (`tests/conftest.py`).
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import cycle
from unittest.mock import patch

from jupyter_stream.engine import queues
from jupyter_stream.engine.engine import Engine
from jupyter_stream.engine.queues import Queues
from jupyter_stream.schedulers import SCHEDULERS, find

NAMES = tuple(s.name for s in SCHEDULERS)
DRAWN = os.environ.get("TESTS_POLICIES") == "drawn"
"""Whether the oracle's tests run under drawn policies."""


@contextmanager
def switching(names: list[str], rows: int) -> Iterator[None]:
    """Another policy, of those in turn, whenever a source is served; steps of so many rows, or a hundredth of those that wait."""
    policies = cycle(names)
    serve, run = Engine._serve, Queues.run

    def served(engine, feed, unfinished):
        engine.schedule(find(next(policies)))
        return serve(engine, feed, unfinished)

    def stepped(waiting, step, hand):
        run(waiting, replace(step, rows=max(rows, waiting.rows // 100)), hand)

    short = patch.object(queues, "_STEP", 0.0005)
    with patch.object(Engine, "_serve", served), patch.object(Queues, "run", stepped), short:
        yield


@contextmanager
def drawn(test: str) -> Iterator[None]:
    """Policies for a test, the same each time: so many that its examples meet them in many orders."""
    draw = random.Random(test)
    with switching(draw.choices(NAMES, k=draw.randint(2, 50)), draw.randint(1, 4)):
        yield


__all__ = ["DRAWN", "NAMES", "drawn", "switching"]
