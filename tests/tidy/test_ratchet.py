"""The figures of `figures.py` hold, and can be told from the text."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import pytest

from jupyter_stream.spark.nodes import SUPPORT
from jupyter_stream.windows import WINDOWS
from tests.tidy.figures import MOST
from tests.type_tests import ROOT, type_tests

LONG_FUNCTION, LONG_FILE = 60, 450
SELF = "tests/tidy/"


@cache
def files() -> dict[str, str]:
    """All Python of the project, by path from the root."""
    found = [
        f for top in ("jupyter_stream", "magics", "tests", "tutorials") for f in sorted((ROOT / top).rglob("*.py"))
    ]
    return {f.relative_to(ROOT).as_posix(): f.read_text() for f in found}


def places(of: str, count: Callable[[str], int]) -> dict[str, int]:
    """How many of something there are in each file of some folders."""
    return {
        f: n
        for f, text in files().items()
        if f.startswith(tuple(of.split())) and not f.startswith(SELF) and (n := count(text))
    }


DEF = re.compile(r"^( *)(?:async )?def \w+.*\n(?:(?:\1[ )].*)?\n)*", re.MULTILINE)
"""A function as it is written: its first line, and all that is further in, closes its brackets, or is empty."""


def long_functions(text: str) -> int:
    found = 0
    for start in re.finditer(r"^ *(?:async )?def ", text, re.MULTILINE):
        if whole := DEF.match(text, start.start()):
            found += whole[0].rstrip().count("\n") + 1 > LONG_FUNCTION
    return found


def anything(text: str) -> int:
    return len(re.findall(r"(?<!import )(?<![\w.])Any\b(?=[^\w\"'])", text)) if "Any" in text else 0


def asks(of: set[str]) -> Callable[[str], int]:
    return lambda text: sum(1 for _ in type_tests(text, of))


@cache
def found() -> dict[str, dict[str, int]]:
    """The figures by name and file."""
    ours = "jupyter_stream magics"
    windows, nodes = {w.__name__ for w in WINDOWS}, {n.__name__ for n in SUPPORT}
    of_windows = places(ours, asks(windows))
    of_nodes = places(ours, asks(nodes))
    return {
        "functions over 60 lines": places(f"{ours} tests tutorials", long_functions),
        "files over 450 lines": places(f"{ours} tests tutorials", lambda text: int(text.count("\n") > LONG_FILE)),
        "asking which window outside windows/": {
            f: n for f, n in of_windows.items() if not f.startswith("jupyter_stream/windows/")
        },
        "asking which plan node outside plan/ and spark/": {
            f: n for f, n in of_nodes.items() if not f.startswith(("jupyter_stream/plan/", "jupyter_stream/spark/"))
        },
        "Any": places(ours, anything),
        "type: ignore": places(f"{ours} tests tutorials", lambda text: text.count("# type: ignore")),
        "time.sleep in tests": places("tests", lambda text: text.count("time.sleep(")),
    }


@pytest.mark.parametrize("what", MOST)
def test_there_is_no_more_of_it_than_before(what: str) -> None:
    by_file = found()[what]
    most = sorted(by_file.items(), key=lambda item: -item[1])[:12]
    assert sum(by_file.values()) <= MOST[what], f"{sum(by_file.values())} now, {MOST[what]} before; most in {most}"


def test_all_figures_are_counted() -> None:
    assert set(found()) == set(MOST)


def test_what_is_counted_is_found() -> None:
    assert long_functions("def f():\n" + "    x = 1\n" * LONG_FUNCTION) == 1
    assert long_functions("def f():\n" + "    x = 1\n" * (LONG_FUNCTION - 1)) == 0
    assert anything("from typing import Any\ndef f(x: Any) -> dict[str, Any]: ...") == 2
