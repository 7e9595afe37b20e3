import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def demo():
    """Makes demo queries."""
    from demo import Demo

    return Demo
