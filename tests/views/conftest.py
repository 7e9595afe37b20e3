import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def demo():
    """Makes demo queries; those that run by themselves end with the test."""
    from demo import Demo

    made = []

    def make(*args, **words):
        made.append(Demo(*args, **words))
        return made[-1]

    yield make
    for each in made:
        each.end()
