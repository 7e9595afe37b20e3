"""The figures of `figures.py` hold. They are counted in the syntax of the files, not in their text."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import get_args

import pytest

import jupyter_stream.windows
from jupyter_stream.plan.logical import Plan
from jupyter_stream.spark.nodes import SUPPORT
from jupyter_stream.windows import WINDOWS, Window
from tests.garbage import uncollected
from tests.tidy.figures import LARGE_CLASSES, MOST, MOST_OF_A_FILE
from tests.tidy.syntax_trees import all_nodes, statements
from tests.tidy.type_tests import type_tests

ROOT = Path(__file__).parents[2]
LONG_FUNCTION, LONG_FILE, LONG_CLASS = 60, 450, 350
PACKAGE = ("jupyter_stream/", "magics/")
KINDS_OF_WINDOW = {w.__name__ for w in WINDOWS} | {
    name
    for name, value in vars(jupyter_stream.windows).items()
    if isinstance(value, type) and issubclass(value, Window)
}
NODES = {n.__name__ for n in (*SUPPORT, *get_args(Plan))}
ROOMS_OF_PLANS = {"plan", "binding", "graph", "spark"}
"""These make nodes, work out facts about them, and make something of each."""


@lru_cache(4)
def parsed(text: str) -> ast.Module:
    """The file at hand."""
    return ast.parse(text, type_comments="type: ignore" in text)


@lru_cache(4)
def nodes_of(text: str) -> list[ast.AST]:
    """All that is in it."""
    return all_nodes(parsed(text))


def lines(node: ast.AST) -> int:
    return (getattr(node, "end_lineno", 0) or 0) - getattr(node, "lineno", 0) + 1


def long_functions(tree: ast.AST) -> int:
    found = (n for n in statements(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return sum(lines(n) > LONG_FUNCTION for n in found)


def named(text: str, module: str, name: str) -> Iterator[ast.AST]:
    """Where a name of a module is used, under whatever name it was imported."""
    nodes = nodes_of(text) if name in text else []
    names, modules = set(), set()
    for node in (n for n in nodes if isinstance(n, ast.ImportFrom | ast.Import)):
        if isinstance(node, ast.ImportFrom) and node.module == module:
            names |= {a.asname or a.name for a in node.names if a.name == name}
        if isinstance(node, ast.Import):
            modules |= {a.asname or a.name for a in node.names if a.name == module}
    for node in nodes if names or modules else ():
        if isinstance(node, ast.Name) and node.id in names:
            yield node
        if isinstance(node, ast.Attribute) and node.attr == name and getattr(node.value, "id", None) in modules:
            yield node


def sleeps(text: str) -> int:
    """How often it sleeps, in the cells and programs among its strings too."""
    if "sleep" not in text:
        return 0
    told = (n.value for n in nodes_of(text) if isinstance(n, ast.Constant) and isinstance(n.value, str))
    return sum(1 for _ in named(text, "time", "sleep")) + sum(value.count("time.sleep(") for value in told)


def ignored(text: str) -> int:
    return len(parsed(text).type_ignores)


def loose_locks(text: str) -> int:
    """How often it makes what takes a lock in a function written in Python: see `core.threads.Event` and `core.logs`."""
    logs = text.count("logging.getLogger(__name__)")
    if "threading" not in text:
        return logs
    calls = [n for n in nodes_of(text) if isinstance(n, ast.Call)]
    bare = {(n.func.lineno, n.func.col_offset) for n in calls if not n.args}
    bare |= {(k.value.lineno, k.value.col_offset) for n in calls for k in n.keywords if k.arg == "default_factory"}
    kinds = [n for kind in ("Event", "Semaphore", "Barrier", "Condition") for n in named(text, "threading", kind)]
    return logs + sum((getattr(n, "lineno", 0), getattr(n, "col_offset", 0)) in bare for n in kinds)


def figures(file: str, text: str) -> Iterator[tuple[str, int]]:
    """What one file adds to which figure."""
    tree = parsed(text)
    long = long_functions(tree)
    yield "functions over 60 lines", long
    yield "files over 450 lines", text.count("\n") > LONG_FILE
    yield "type: ignore", ignored(text)
    if file.startswith("tests/"):
        yield "time.sleep in tests", sleeps(text)
    if not file.startswith(PACKAGE):
        return
    yield "functions over 60 lines in the package", long
    yield "locks an interrupt could leave held", loose_locks(text)
    yield "Any", sum(1 for _ in named(text, "typing", "Any"))

    def asks(of: set[str]) -> int:
        return sum(1 for _ in type_tests(nodes_of(text), of)) if any(name in text for name in of) else 0

    if "/windows/" not in file:
        yield "asking which window outside windows/", asks(KINDS_OF_WINDOW)
    asked, rooms = asks(NODES), set(Path(file).parts)
    yield "asking which plan node", asked
    if not rooms & {"plan", "spark"}:
        yield "asking which plan node outside plan/ and spark/", asked
    if not rooms & ROOMS_OF_PLANS:
        yield "asking which plan node where plans are only run", asked


@cache
@uncollected()
def found() -> tuple[dict[str, Counter[str]], set[str]]:
    """The figures by name and file, and the large classes of the package."""
    counted: defaultdict[str, Counter[str]] = defaultdict(Counter)
    large = set()
    for top in ("jupyter_stream", "magics", "tests", "tutorials"):
        for path in sorted((ROOT / top).rglob("*.py")):
            file, text = path.relative_to(ROOT).as_posix(), path.read_text()
            for what, n in figures(file, text):
                counted[what][file] += n
            if file.startswith(PACKAGE) and text.count("\n") > LONG_CLASS:
                classes = (n for n in statements(parsed(text)) if isinstance(n, ast.ClassDef))
                large |= {n.name for n in classes if lines(n) > LONG_CLASS}
    return counted, large


@pytest.mark.parametrize("what", MOST)
def test_there_is_no_more_of_it_than_before(what: str) -> None:
    by_file = found()[0][what]
    now, most = by_file.total(), by_file.most_common(12)
    assert now <= MOST[what], f"{now} now, {MOST[what]} before; most in {most}"


@pytest.mark.parametrize("what", MOST_OF_A_FILE)
def test_there_is_no_more_of_it_in_a_file_than_before(what: str) -> None:
    before = MOST_OF_A_FILE[what]
    assert {file: n for file, n in found()[0][what].items() if n > before.get(file, 0)} == {}
    assert sum(before.values()) == MOST[what]


def test_a_class_is_large_for_a_reason() -> None:
    assert found()[1] == LARGE_CLASSES.keys()  # a reason that is needed no more goes


def test_all_figures_are_counted() -> None:
    assert set(found()[0]) == set(MOST)
    assert len(found()[0]["Any"]) > 300


def test_what_is_counted_is_found() -> None:
    assert long_functions(ast.parse("def f():\n" + "    x = 1\n" * LONG_FUNCTION)) == 1
    assert (
        long_functions(ast.parse("class C:\n  async def f():\n" + '    x = """\n\n\n\n"""\n' * (LONG_FUNCTION // 5)))
        == 1
    )
    assert long_functions(ast.parse("def f():\n" + "    x = 1\n" * (LONG_FUNCTION - 1))) == 0
    text = "import typing as t\nfrom typing import Any as A\ndef f(x: A, y: 't') -> dict[str, t.Any]: 'Any'"
    assert len(list(named(text, "typing", "Any"))) == 2
    assert (
        sleeps("import time\nfrom time import sleep\nsleep(1), time.sleep, x.sleep, 'time.sleep(1)'  # time.sleep(")
        == 3
    )
    assert loose_locks("import threading as t\nt.Event(), t.Condition(), t.Condition(lock), t.Lock()\nx: t.Event") == 2
    assert ignored("x = 1  # type: ignore\n'# type: ignore'\n") == 1


def test_every_way_to_ask_which_window_is_found() -> None:
    text = """
from jupyter_stream.windows import LifetimeWindow, RowWindow as Rows, TimeWindow
isinstance(w, TimeWindow); isinstance(w, int | windows.LifetimeWindow); issubclass(type(w), Rows); type(w) is TimeWindow
match plan:
    case Aggregate(window=TimeWindow()): pass
    case Rows(slide=None): pass
table = {TimeWindow: 1, LifetimeWindow: 2}
TimeWindow(1, 1) == w; {TimeWindow(1, 1): 3}; isinstance(w, int)
"""
    assert len(list(type_tests(nodes_of(text), KINDS_OF_WINDOW))) == 8


def test_every_way_to_ask_which_node_is_found() -> None:
    text = """
from jupyter_stream.plan import logical
from jupyter_stream.plan.logical import Aggregate, Filter as Where, Project
isinstance(plan, Project | Where); isinstance(plan, logical.Scan); isinstance(plan, int); type(plan) is Aggregate
match plan:
    case Where(input=Aggregate()): pass
table = {Project: 1, Where: 2}
Filter(below, condition); {name: Filter(below, condition)}
"""
    assert len(NODES) > 20 and {"Scan", "WindowFunctions"} <= NODES
    assert len(list(type_tests(nodes_of(text), NODES))) == 7
