"""New tests prove themselves: those changed since a commit, many times, in random order, half of the time on a busy machine."""

from __future__ import annotations

import ast
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.checking import reach, steps

TIMES, SLOW_TIMES = 10, 3
"""How often a test runs, and one that is slow."""
HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


def lines(file: str, ref: str) -> set[int] | None:
    """The lines of a file that were added or changed since a commit, from 1; None for all of them: a new file."""
    if subprocess.run(
        ["git", "cat-file", "-e", f"{ref}:{file}"], cwd=steps.ROOT, capture_output=True, check=False
    ).returncode:
        return None
    hunks = HUNK.findall(reach.output(["git", "diff", "-U0", "--no-renames", ref, "--", file]))
    return {int(first) + i for first, count in hunks for i in range(int(count or 1))}


def tests_of(file: str, ref: str) -> list[str]:
    """The tests of a file that changed, or the file where more than tests did: what they share, or all of it."""
    touched = lines(file, ref)
    if touched is None:
        return [file]
    found = []
    for node in ast.parse((steps.ROOT / file).read_text()).body:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        mine = touched & set(range(first, (node.end_lineno or node.lineno) + 1))
        touched -= mine
        if mine and not (isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name.lower().startswith("test")):
            if isinstance(node, ast.Import | ast.ImportFrom):
                continue
            return [file]
        if mine:
            found.append(f"{file}::{node.name}")  # type: ignore[attr-defined]
    return found


def changed_tests(ref: str) -> list[str]:
    """What to give to pytest for the tests that changed since a commit."""
    files = sorted(
        f for f in reach.changed(ref) if re.search(r"^tests/.*/test_\w+\.py$", f) and (steps.ROOT / f).exists()
    )
    return [name for file in files for name in tests_of(file, ref)]


@contextmanager
def busy(cores: int) -> Iterator[None]:
    """Other programs that want the cores too."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(cores)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def stabilize(ref: str, arguments: list[str]) -> None:
    """Run the tests changed since a commit again and again.

    Raises:
        steps.Failed: one failed once.
    """
    names = changed_tests(ref)
    if not names:
        print(f"No test has changed since {ref}.")
        return
    print(f"{len(names)} tests or files of tests have changed since {ref}.")
    for i in range(TIMES):
        order = str(random.randrange(10**6))
        tier = [] if i < SLOW_TIMES else ["-m", "not slow"]
        load = i % 2
        title = f"time {i + 1} of {TIMES}, order {order}{', on a busy machine' if load else ''}"
        with busy(2 * load):
            try:
                steps.tests([*tier, *names, *arguments], title, TESTS_ORDER=order)
            except steps.Failed as failed:
                if failed.code != 5:  # none left: all are slow
                    raise
