"""When something is given up, how much, and that it is exact again: the policy alone, with a clock that is set."""

from __future__ import annotations

import pytest

from jupyter_stream.approximation.easing import MEMORY, QUEUE, Easing
from jupyter_stream.approximation.protocol import Loss, Saved


class Half:
    """A technique that may go down to a half."""

    name = "half"
    least = 0.5

    def __init__(self) -> None:
        self.now = 1.0

    def leave(self, share: float) -> None:
        self.now = max(share, self.least)

    @property
    def saves(self) -> Saved:
        return Saved()

    @property
    def costs(self) -> Loss:
        return Loss()

    @property
    def said(self) -> str:
        return f"leaves {self.now:g}"


@pytest.fixture
def half() -> Half:
    return Half()


def test_nothing_is_given_up_below_the_mark(half: Half) -> None:
    easing = Easing("q", [half])
    for fill in (0.0, 0.1, QUEUE.begin - 0.01):
        easing.queue(fill)
        assert half.now == 1.0 and not easing.eased
    assert not easing.moments


def test_the_fuller_the_more_and_no_more_than_is_tolerated(half: Half) -> None:
    easing = Easing("q", [half])
    left = []
    for fill in (0.3, 0.4, 0.6, 0.74, 0.9, 5.0):
        easing.queue(fill)
        left.append(half.now)
    assert left == sorted(left, reverse=True) and 0.5 < left[0] < 1 and left[-1] == 0.5 == left[-2]


def test_it_goes_on_until_there_is_room_and_says_when(half: Half) -> None:
    now = [100.0]
    easing = Easing("q", [half], lambda: now[0])
    easing.queue(0.5)
    assert easing.now.startswith("leaves 0.")
    now[0] = 130.0
    easing.queue(QUEUE.begin - 0.1)  # it would not have begun here, and goes on
    assert easing.eased
    easing.queue(QUEUE.end - 0.01)
    assert half.now == 1.0 and easing.now == ""
    assert [(m.at, m.what) for m in easing.moments] == [
        (100.0, "time ran short: answers are approximate from now on"),
        (130.0, "exact again"),
    ]


def test_memory_counts_from_the_next_batch_on(half: Half) -> None:
    easing = Easing("q", [half])
    easing.memory(MEMORY.begin + 0.01)
    assert not easing.eased
    easing.queue(0.0)
    assert easing.eased and easing.moments[0].what.startswith("memory ran short")
    easing.memory(MEMORY.end - 0.01)
    easing.rest()
    assert not easing.eased
