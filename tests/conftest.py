"""What all tests share: Hypothesis without a clock, since other things run on the machine too; a watch on operators."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from jupyter_stream.engine import pipeline
from jupyter_stream.graph import graph as building
from jupyter_stream.plan.logical import BoundQuery
from jupyter_stream.session import query
from tests.promises import Watch, watch

OTHERS = ("browser", "faults", "sinks", "sources", "spark", "tutorials")
"""Folders of tests that wait for other programs: browsers, servers, brokers, kernels, Spark."""
OUT_OF_TIME = r"TimeoutError|TimeoutExpired|Timeout \(?>"
"""How the failure of such a test begins, or names itself, if it waited too long."""

hunting = "ORACLE_EXAMPLES" in os.environ  # see tests/oracle/search.py; without it everybody looks at the same examples
settings.register_profile("project", deadline=None, max_examples=25, print_blob=True, derandomize=not hunting)
settings.load_profile("project")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What waits too long for another program, as it may on a busy machine, runs once more, and the summary says so.

    A wrong answer fails at once.
    """
    for item in items:
        if item.path.relative_to(Path(__file__).parent).parts[0] in OTHERS:
            item.add_marker(pytest.mark.flaky(reruns=1, only_rerun=[OUT_OF_TIME]))


@pytest.fixture(autouse=True, scope="session")
def patience() -> Iterator[None]:
    """Looks into running plans and changes of their settings wait for the engine as long as a busy machine takes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(query, "_PATIENCE", 120.0)
        yield


@pytest.fixture(autouse=True, scope="session")
def watches() -> Iterator[list[Watch]]:
    """Those of the queries of the test under way, newest last: every query is watched (tests/promises.py)."""
    kept: list[Watch] = []

    def build_watched(asked: BoundQuery) -> building.Graph:
        graph = building.build(asked)
        kept.extend(watch(graph))
        del kept[:-200]
        return graph

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "build", build_watched)
        yield kept
