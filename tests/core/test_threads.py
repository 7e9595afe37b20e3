"""The supervisor's glances, which come at once where somebody asks for one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jupyter_stream.core import threads
from tests.waiting import until


class Glances:
    """Looked at by the supervisor. The second glance follows the first by itself, and another is asked for meanwhile."""

    def __init__(self) -> None:
        self.count = 0

    def look(self) -> None:
        """Nothing to see."""

    def glance(self) -> bool:
        self.count += 1
        if self.count == 2:
            threads.glance_soon()
        return self.count == 1


@pytest.fixture
def glances() -> Iterator[Glances]:
    made = Glances()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "_looks", [])  # those of sessions that tests before have left would glance as well
        patch.setattr(threads, "_glances", [])
        patch.setattr(threads, "LOOK", 10_000.0)  # no glance comes by itself
        threads.attend(made.look, made.glance)
        yield made
    threads._bell.set()  # for the others the supervisor looks as often as ever


def test_one_that_is_asked_for_during_another_comes_too(glances: Glances) -> None:
    threads.glance_soon()
    until(lambda: glances.count >= 3)
