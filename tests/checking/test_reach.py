"""What `python tests --changed` chooses, and in which order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import __main__ as check
from tests.checking import imports, reach, steps
from tests.tiers import slow

TREE = {
    "jupyter_stream/__init__.py": "def load_ipython_extension(shell):\n    from jupyter_stream.magics import load\n",
    "magics/__init__.py": "def load(): ...\n",
    "jupyter_stream/windows/__init__.py": """
from jupyter_stream.windows.rows import RowWindow
from jupyter_stream.windows.time import TimeWindow as Time

WINDOWS = (RowWindow, Time)
""",
    "jupyter_stream/windows/rows.py": "from jupyter_stream.windows import counts\n\nclass RowWindow:\n    n = counts.least()\n",
    "jupyter_stream/windows/counts.py": "def least():\n    return 1\n",
    "jupyter_stream/windows/time.py": "class TimeWindow: ...\n",
    "jupyter_stream/windows/Time.py": "class Never: ...\n",  # the package's own name goes before it
    "jupyter_stream/engine/late.py": "def late():\n    from jupyter_stream.windows import RowWindow\n\ndef other(): ...\n",
    "jupyter_stream/views/live.py": 'PARTS = ("live",)\nTEXT = [f"{part}.js" for part in PARTS]\n',
    "jupyter_stream/views/live.js": "",
    "tests/conftest.py": """
import pytest
from jupyter_stream.engine import late
from tests.session import spark

@pytest.fixture(autouse=True)
def watching(monkeypatch):
    from tests.promises import kept
    monkeypatch.setattr(late, "late", kept)
""",
    "tests/promises.py": "def kept(): ...\n",
    "tests/session.py": """
import pytest
from jupyter_stream.engine.late import late

@pytest.fixture
def spark():
    return late()
""",
    "tests/engine/conftest.py": """
import pytest
from jupyter_stream.windows.time import TimeWindow

@pytest.fixture(name="window")
def _window():
    return TimeWindow()
""",
    "tests/engine/test_late.py": "from jupyter_stream.engine.late import late\n",
    "tests/engine/test_other.py": "from jupyter_stream.engine.late import other\n",
    "tests/engine/test_window.py": "def test_it(window): ...\n",
    "tests/engine/test_none.py": "def test_it(): ...\n",
    "tests/spark/test_asked.py": "def test_it(spark): ...\n",
    "tests/spark/test_wanted.py": 'import pytest\n\n@pytest.mark.usefixtures("spark")\ndef test_it(): ...\n',
    "tests/magics/test_kernel.py": 'CELL = "%load_ext jupyter_stream"\n',
    "tests/views/test_live.py": "def test_it(): ...\n",
    "tests/page/test_page.py": "from jupyter_stream.views import live\n\ndef test_it():\n    assert live.TEXT\n",
    "tests/windows/test_all.py": "from jupyter_stream.windows import WINDOWS\n",
    "tests/windows/test_time.py": "from jupyter_stream.windows import Time\n",
    "tests/names/test_names.py": 'FILES = "*.py"\n',
    "tests/names/test_readme.py": 'FILE = "README.md"\n',
}


def forget() -> None:
    for kept in (imports.files, imports.modules, imports.fixtures, imports.graph, reach.users, reach.for_all):
        kept.cache_clear()


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for module in (imports, reach):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    forget()
    yield
    forget()


ALL = sorted(name.removeprefix("tests/") for name in TREE if "/test_" in name)
NAMES = "names/test_names.py"


@pytest.mark.parametrize(
    ("file", "tests"),
    {
        # a package hands on the one name, and WINDOWS is made of all of them; a fixture that is asked for uses it too
        "jupyter_stream/windows/time.py": ["windows/test_all.py", "windows/test_time.py", "engine/test_window.py", NAMES],
        # by way of an attribute of a module, of an import in a function, and of fixtures; its neighbour `other` is no way
        "jupyter_stream/windows/counts.py": [
            "windows/test_all.py", "windows/test_time.py", "engine/test_late.py", "spark/test_asked.py",
            "spark/test_wanted.py", NAMES,
        ],
        # of a room all tests, those that import it first
        "jupyter_stream/engine/late.py": [
            "engine/test_late.py", "engine/test_other.py", "engine/test_none.py", "engine/test_window.py",
            "spark/test_asked.py", "spark/test_wanted.py", NAMES,
        ],
        "magics/__init__.py": ["magics/test_kernel.py", "names/test_readme.py", NAMES],
        # what is no Python is reached by way of those beside it that read such files
        "jupyter_stream/views/live.js": ["views/test_live.py", "page/test_page.py"],
        "README.md": ["names/test_readme.py"],
        "LICENSE": [],
        "tests/session.py": ["spark/test_asked.py", "spark/test_wanted.py", NAMES],
        "tests/windows/test_time.py": ["windows/test_time.py", NAMES],
        "tests/engine/conftest.py": [
            "engine/test_late.py", "engine/test_none.py", "engine/test_other.py", "engine/test_window.py", NAMES,
        ],
        # what all tests hang on
        "tests/conftest.py": ALL, "tests/promises.py": ALL, ".ci/run": ALL, "pyproject.toml": ALL, "tests/checking/steps.py": ALL,
    }.items(),
)  # fmt: skip
@pytest.mark.usefixtures("tree")
def test_a_change_reaches_all_that_imports_it_the_nearest_first(file: str, tests: list[str]) -> None:
    assert reach.reached({file}) == [f"tests/{test}" for test in tests]


@slow  # it reads the whole project
def test_in_the_project_a_change_below_all_reaches_all_that_run_queries() -> None:
    forget()
    every = reach.every_file()
    for file, least in (("engine/circuit.py", 150), ("session/session.py", 150), ("errors.py", 200)):
        found = reach.reached({f"jupyter_stream/{file}"})
        assert least < len(found) <= len(every), (file, len(found))
        assert "tests/sql/test_query_files.py" in found and "tests/browser/test_tutorial.py" in found
    found = reach.reached({"jupyter_stream/keys/slots.py"})
    assert found[0].startswith("tests/keys/") and "tests/syntax/test_script.py" not in found


def test_near_tests_run_before_those_further_away(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[str, int]] = []

    def tests(arguments: list[str], title: str) -> None:
        ran.append((title, len(arguments) - 2))
        if title.endswith("by"):
            raise steps.Failed(5)  # all that is near is slow

    monkeypatch.setattr(reach, "changed", lambda ref: set())
    monkeypatch.setattr(reach, "every_file", lambda: [f"test_{i}.py" for i in range(200)])
    monkeypatch.setattr(steps, "tests", tests)
    for n in (0, check.NEAR, 200):
        monkeypatch.setattr(reach, "reached", lambda files, n=n: [f"test_{i}.py" for i in range(n)])
        check.reached("main", [])
    near, far = "tests near by", "tests further away"
    assert ran == [(near, check.NEAR), (near, check.NEAR), (far, 200 - check.NEAR)]
