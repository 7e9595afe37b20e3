"""What all tests share: drawn examples without a clock, since other things run on the machine too; a watch on operators; a
home of their own for IPython and Jupyter; who runs beside whom.
"""

import gc
import os
import random
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from xdist.scheduler import LoadScopeScheduling

from jupyter_stream.aggregates.user.declared import PYTHON as AGGREGATES
from jupyter_stream.engine import pipeline
from jupyter_stream.functions.own import PYTHON as FUNCTIONS
from jupyter_stream.graph import graph as building
from jupyter_stream.plan.logical import BoundQuery
from jupyter_stream.session import query
from tests import limits, times
from tests.leftovers import left_behind, left_by_the_run, telling
from tests.promises import Watch, watch
from tests.schedulers import switching
from tests.spark_session import interpreting, sessions, spark
from tests.tiers import ALL, examples

__all__ = ["interpreting", "left_behind", "left_by_the_run", "sessions", "spark", "telling"]

# jsonschema does without it; with it every process that reads notebooks compiles a grammar for three seconds
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

OTHERS = ("browser", "faults", "jobs", "magics", "packaging", "serving", "sinks", "sources", "spark", "tutorials")
"""Folders of tests that wait for other programs: browsers, servers, brokers, kernels, Spark."""
OUT_OF_TIME = r"TimeoutError|TimeoutExpired|Timeout \(?>|DeadKernelError|didn't respond"
"""How the failure of such a test begins, or names itself, if it waited too long."""

hunting = "ORACLE_EXAMPLES" in os.environ  # see tests/oracle/search.py; without it everybody looks at the same examples
settings.register_profile(
    "project",
    deadline=None,
    max_examples=examples(12),
    print_blob=True,
    derandomize=not hunting,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("project")
# Hypothesis draws among the constants of all modules of the package imported so far, and which those are depends on the
# tests before: without them the same test draws the same examples everywhere
assert callable(providers._get_local_constants)
providers._get_local_constants = lambda: providers.Constants()


def pytest_configure(config: pytest.Config) -> None:
    """Marks, times, and a temporary folder of the worker's own: what lies in it is nobody else's, nor is IPython's home in it."""
    config.addinivalue_line("markers", "slow: for `python tests --all` alone (tests/tiers.py)")
    config.pluginmanager.register(times)
    config.pluginmanager.register(limits)
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        home = tempfile.TemporaryDirectory(prefix="t-", ignore_cleanup_errors=True)  # short: sockets are made in it
        config.add_cleanup(home.cleanup)
        tempfile.tempdir = os.environ["TMPDIR"] = home.name
        profile = Path(home.name) / "ipython" / "profile_default"
        profile.mkdir(parents=True)
        (profile / "ipython_config.py").write_text("get_config().HistoryManager.enabled = False\n")
        os.environ["IPYTHONDIR"] = str(profile.parent)


AGAIN = (
    "tests/spark/test_query_files.py", "tests/spark/test_joins_drawn.py", "tests/spark/test_join_conditions.py",
    "tests/functions/test_same_as_spark.py", "tests/differential/test_calls.py",
)  # fmt: skip
"""Half of the tests on Spark, by the seconds they take: where everything runs they have a JVM of their own beside the others."""
SHARING = {
    **({"spark again": AGAIN} if ALL else {}),
    "spark": ("tests/spark/", "tests/functions/test_same_as_spark.py", "tests/differential/test_calls.py"),
    "browser": ("tests/browser/",),
    "packaging": ("tests/packaging/",),
}
"""Tests that run one after the other in one worker: they share a JVM, a JupyterLab, a built wheel. The longest first."""

NOTEBOOKS = "tests/tutorials/test_notebooks.py"
"""Its tests share nothing, and each takes as long as a file of others."""
LONG = (
    NOTEBOOKS, "tests/windowed/test_every_window.py", "tests/differential/test_queries.py",
    "tests/flow/test_batching.py", "tests/fuzz/test_fuzz.py", "tests/aggregates/test_laws.py",
)  # fmt: skip
"""Files of which each takes a core for a minute or so: they begin next, so that none of them is left over for the end."""


def neighbours(nodeid: str) -> str:
    """The name under which a test runs beside others in one worker: what they share, or their file. A notebook runs alone."""
    file = nodeid.split("::")[0]
    alone = nodeid if file == NOTEBOOKS else file
    return next((name for name, places in SHARING.items() if nodeid.startswith(places)), alone)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Who is beside whom, the longest first; and a second try for what waited too long for another program.

    A wrong answer fails at once.
    """
    for item in items:
        near = neighbours(item.nodeid)
        on_spark = near.startswith("spark")
        if "spark" in getattr(item, "fixturenames", ()) and not on_spark:
            raise pytest.UsageError(f"{item.nodeid} wants Spark: name its file in SHARING, or another worker starts it")
        if item.nodeid.split("/")[1] in OTHERS or on_spark:
            item.add_marker(pytest.mark.flaky(reruns=1, only_rerun=[OUT_OF_TIME]))
    if order := os.environ.get("TESTS_ORDER"):  # files in any order, and the tests in each of them
        draw = random.Random(order)
        places = {name: draw.random() for name in sorted({item.path.as_posix() for item in items})}
        draw.shuffle(items)
        items.sort(key=lambda item: places[item.path.as_posix()])
    first = [*SHARING, *LONG]

    def place(item: pytest.Item) -> int:
        near = {neighbours(item.nodeid), item.nodeid.split("::")[0]}
        return next((i for i, name in enumerate(first) if name in near), len(first))

    items.sort(key=place)


def pytest_collection_finish() -> None:
    """Thousands of collected tests are not looked through again at every full collection of garbage."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """The oracle's tests, under policies that take turns if that is asked for."""
    if not switching.DRAWN or not item.path.name.startswith("test_oracle_"):
        return (yield)
    with switching.drawn(item.nodeid):
        return (yield)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling:
    """By neighbours, in the order in which they were collected. xdist's own groups are lost on pytest 9.2 (see findings)."""
    config.option.loadscopereorder = False
    return ByNeighbours(config, log)


class ByNeighbours(LoadScopeScheduling):
    """A worker gets all tests of one name at once."""

    def _split_scope(self, nodeid: str) -> str:
        return neighbours(nodeid)


@pytest.fixture(autouse=True, scope="session")
def patience() -> Iterator[None]:
    """Looks into running plans and changes of their settings wait for the engine as long as a busy machine takes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(query, "_PATIENCE", 120.0)
        yield


@pytest.fixture(autouse=True)
def registries() -> Iterator[None]:
    """What a test registers under a name, an aggregate or a function in Python, is registered no more when it is over."""
    before = [(names, dict(names)) for names in (AGGREGATES, FUNCTIONS)]
    yield
    for names, former in before:
        names.clear()
        names.update(former)


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
