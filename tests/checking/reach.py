"""Which tests a change can reach, by imports. Not for running them."""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from tests.checking.steps import ROOT

ALL_OF_IT = (
    "tests/conftest.py",
    "tests/__main__.py",
    "tests/tiers.py",
    "tests/times.py",
    "tests/waiting.py",
    "pyproject.toml",
)
"""What every test hangs on, beside `.ci` and the check itself."""


def changed(ref: str) -> set[str]:
    """Files that differ from a commit, new ones among them, as paths from the root."""
    told = [
        ["git", "diff", "--name-only", "--no-renames", ref],
        ["git", "ls-files", "--others", "--exclude-standard"],
    ]
    return {line for command in told for line in output(command).splitlines()}


def output(command: list[str]) -> str:
    """What a command prints, run at the root."""
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def modules() -> dict[str, Path]:
    """All modules of the project by name, with their files."""
    found = {}
    for top, name in (("jupyter_stream", "jupyter_stream"), ("magics", "jupyter_stream.magics"), ("tests", "tests")):
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT / top).with_suffix("").parts
            found[".".join((name, *(p for p in parts if p != "__init__")))] = path
    return found


IMPORT = re.compile(r"^[ \t]*(?:from ([\w.]+) import (\([^)]*\)|[^\n(]*)|import ([\w.]+))", re.MULTILINE)
"""An import, as all are written here once they are formatted: a thousand files are looked through in a second."""


def imports(text: str) -> Iterator[str]:
    """What may be modules among that which a file imports, at its top or within."""
    for home, names, module in IMPORT.findall(text):
        yield module or home
        yield from (f"{home}.{name}" for name in re.findall(r"\w+", names) if home)


@cache
def graph() -> dict[str, set[str]]:
    """For each module those that import it."""
    found = modules()
    importers: defaultdict[str, set[str]] = defaultdict(set)
    for name, path in found.items():
        for imported in imports(path.read_text()):
            if imported in found and imported != name:
                importers[imported].add(name)
    return importers


def reached(files: set[str]) -> list[str] | None:
    """Test files that changed files can reach; None where that is all of them.

    The way goes from a module to those that import it. It ends at modules by way of which half of all test files would be
    reached, such as the session: each test runs queries, and a change that matters to all of them is what the gate is for.
    The tests of a changed module's own room always belong to it.
    """
    if any(f in ALL_OF_IT or f.startswith((".ci/", "tests/checking/")) for f in files):
        return None
    found = modules()
    names = {path.relative_to(ROOT).as_posix(): name for name, path in found.items()}
    importers = graph()
    tests = {name for name, path in found.items() if path.name.startswith("test_")}
    start = {names[f] for f in files if f in names}

    def hub(name: str) -> bool:
        return name not in start and len(closure({name}, importers, lambda _: False) & tests) > len(tests) / 2

    near = closure(start, importers, hub) & tests
    rooms = {room(f) for f in files}
    near |= {name for name in tests if name.split(".")[1] in rooms and name.count(".") > 1}
    return sorted(found[name].relative_to(ROOT).as_posix() for name in near)


def room(file: str) -> str:
    """The room of tests that mirrors a file's."""
    parts = Path(file).parts
    return parts[1] if parts[0] == "jupyter_stream" and len(parts) > 2 else parts[0]


def closure(start: set[str], importers: dict[str, set[str]], stops: Callable[[str], bool]) -> set[str]:
    """All that import one of them, by way of others too, but not by way of what stops."""
    seen, waiting = set(start), list(start)
    while waiting:
        name = waiting.pop()
        if stops(name):
            continue
        for importer in importers.get(name, ()):
            if importer not in seen:
                seen.add(importer)
                waiting.append(importer)
    return seen
