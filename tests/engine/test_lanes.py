"""Threads for steps that take long: who has had least time by its weight is served next."""

from __future__ import annotations

import queue
import threading
from collections import Counter
from types import SimpleNamespace

import pytest

from jupyter_stream.engine import lanes
from jupyter_stream.engine.lanes import Lanes
from jupyter_stream.engine.turn import Turn


class Owner:
    """Whose steps they are."""

    def __init__(self, weight: float) -> None:
        self.weight = weight


def served(weights: list[float], steps: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many steps owners of these weights have had when there were so many, one at a time, all of one length."""
    now = 0.0
    begun: queue.SimpleQueue[Owner] = queue.SimpleQueue()
    go_on = threading.Semaphore(0)

    def do(turn: object, owner: Owner, work: object) -> None:
        nonlocal now
        begun.put(owner)
        go_on.acquire()
        now += 0.1

    monkeypatch.setattr(lanes, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(lanes, "_CORES", 1)
    made, owners = Lanes(do), [Owner(weight) for weight in weights]  # type: ignore[arg-type]

    def put(owner: Owner) -> None:
        made.put(Turn(lambda work: None), owner, lambda: None, owner.weight)  # type: ignore[arg-type, return-value]

    for owner in owners:
        put(owner)
    found: Counter[Owner] = Counter()
    before: Owner | None = None
    for _ in range(steps):
        owner = begun.get(timeout=200)
        found[owner] += 1
        if before is not None:  # whoever was served before waits again: at each choice all others do
            put(before)
        before = owner
        go_on.release()
    made.close()
    go_on.release()
    return [found[owner] for owner in owners]


def test_equal_weights_have_equal_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    assert served([1.0, 1.0, 1.0], 60, monkeypatch) == [20, 20, 20]


def test_a_larger_weight_has_a_larger_share(monkeypatch: pytest.MonkeyPatch) -> None:
    heavy, *light = served([4.0, 1.0, 1.0, 1.0], 70, monkeypatch)
    assert heavy >= 30 and max(light) - min(light) <= 1
