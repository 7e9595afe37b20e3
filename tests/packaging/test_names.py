"""Names in the package have one meaning each, functions and classes an end."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@cache
def _modules() -> list[tuple[str, ast.Module]]:
    files = (file for room in ("jupyter_stream", "magics") for file in sorted((ROOT / room).rglob("*.py")))
    return [(str(file.relative_to(ROOT)), ast.parse(file.read_text())) for file in files]


def test_no_two_classes_have_one_name() -> None:
    homes = defaultdict(list)
    for file, module in _modules():
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(f"{file}:{node.lineno}")
    assert len(homes) > 800
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


MOODS = {"looks", "beside", "behind", "side", "asked", "handed", "told"}
"""What something does or where it stands, in place of what it is. A side stream is a thing of the language."""


def test_names_of_modules_classes_and_functions_are_things() -> None:
    found = set()
    for file, module in _modules():
        names = [
            n.name for n in ast.walk(module) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        ]
        for name in (Path(file).stem, *names):
            words = " ".join(re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)).lower().replace("side stream", "")
            if MOODS & set(words.split()):
                found.add(f"{file.removeprefix('jupyter_stream/')}: {name}")
    assert found == set()


LARGE_CLASSES = {
    "Pipeline": "the running query: what feeds, engine, settings, checkpoints and handles each ask of it",
    "Query": "the handle: all that people can ask of a query, half of it docstrings",
    "Feed": "one reading of a source: the queue between its thread and the engine's, and what readers ask of it",
    "Engine": "the engine's thread, and what other threads ask of it",
    "ExpressionParser": "recursive descent: one method for each level of precedence and each form of expression",
    "_Parts": "the parts of a window's brackets, which come in any order: one method for each",
    "_Body": "one method for each kind of statement in the body of an aggregate",
    "SparkRun": "the running query on Spark, with the same questions as Pipeline",
    "Binder": "the clauses of SELECT in the order in which SQL evaluates them, over one scope",
    "Grouping": "the groups and aggregates of one SELECT while they are found",
    "WindowAggregate": "from rows to panes, from panes to extents, and when each may be done: one operator",
    "WindowGroups": "carries speed: the fold loop and its chunk sizes stay together",
    "AdaptiveGroups": "carries speed: both ways of keeping rows, and the switch between them",
    "KafkaSource": "one connector in one file: its options, its partitions, its thread",
}
"""Classes of more than 350 lines, with the reason."""


def test_no_function_has_more_than_60_lines_and_no_class_more_than_350_but_for_a_reason() -> None:
    functions, classes = set(), set()
    for file, module in _modules():
        for node in ast.walk(module):
            lines = (getattr(node, "end_lineno", 0) or 0) - getattr(node, "lineno", 0) + 1
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and lines > 60:
                functions.add(f"{file.removeprefix('jupyter_stream/')}: {node.name}")
            if isinstance(node, ast.ClassDef) and lines > 350:
                classes.add(node.name)
    assert functions == set()
    assert classes == LARGE_CLASSES.keys()  # a reason that is needed no more goes


def test_every_exception_from_a_check_says_why() -> None:
    bare = re.compile(r"# (type: ignore|noqa)(\[[\w, -]+\]|: *[A-Z0-9, ]+)?\s*$")
    files = [ROOT / file for file, _ in _modules()]
    lines = ((file, number, line) for file in files for number, line in enumerate(file.read_text().splitlines(), 1))
    assert [f"{file.name}:{number}" for file, number, line in lines if bare.search(line)] == []
