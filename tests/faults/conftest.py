from __future__ import annotations

import pytest

from tests.faults import threads


@pytest.fixture(autouse=True)
def _own_threads() -> None:
    threads.begin()
