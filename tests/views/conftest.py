import sys
from pathlib import Path
from weakref import WeakSet

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def demo():
    """Makes demo queries; those that run by themselves end with the test."""
    from demo import Demo

    made = WeakSet()  # a thread that runs keeps its query, and nothing else here does

    def make(*args, **words):
        query = Demo(*args, **words)
        made.add(query)
        return query

    yield make
    for each in list(made):
        each.end()
