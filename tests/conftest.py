"""What all tests share: Hypothesis without a clock, since other things run on the machine too; a watch on operators."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from jupyter_stream.engine import pipeline
from jupyter_stream.operators import graph as building
from jupyter_stream.plan.logical import Query
from tests.promises import Watch, watch

settings.register_profile("project", deadline=None, max_examples=40, print_blob=True)
settings.load_profile("project")


@pytest.fixture(autouse=True, scope="session")
def watches() -> Iterator[list[Watch]]:
    """Those of the queries of the test under way, newest last: every query is watched (tests/promises.py)."""
    kept: list[Watch] = []

    def build_watched(query: Query) -> building.Graph:
        graph = building.build(query)
        kept.extend(watch(graph))
        del kept[:-200]
        return graph

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "build", build_watched)
        yield kept
