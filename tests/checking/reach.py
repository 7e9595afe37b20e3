"""Which tests a change can reach, by imports. Not for running them, nor for reading imports (`imports.py`)."""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict, deque
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tests.checking import imports
from tests.checking.imports import Name
from tests.checking.steps import ROOT

ALL_OF_IT = (".ci/", "pyproject.toml", "tests/__main__.py", "tests/checking/", "tests/conftest.py")
"""What every test hangs on, beside that which `tests/conftest.py` takes from other modules of the tests."""
LAST = 99
"""As far away as those which look through all files."""


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


def every_file() -> list[str]:
    """All files of tests."""
    return [_path(name) for name in imports.files() if _is_test(name)]


def reached(files: set[str]) -> list[str]:
    """Files of tests that changed files can reach, the nearest first.

    Everything counts that imports a name which is made with one of a changed file, at its top or in a function, also by way of
    others, of fixtures that it asks for, and of programs that it starts. So do tests that mention the file, or look through all
    of its kind, and those of its room. In `tests/conftest.py` only what comes from tests counts: it watches the package for
    all of them, and they reach by themselves what they use of it.
    """
    if any(f.startswith(ALL_OF_IT) for f in files) or files & for_all():
        return every_file()
    names = {_path(name): name for name in imports.files()}
    start = {names[f] for f in files if f in names} | {name for f in files for name in readers(f)}
    far = dict.fromkeys(distances({name for f in files for name in looking_through(f)}), LAST)
    far |= distances(start)
    rooms = {room(f) for f in files}
    own = {name for name in names.values() if _is_test(name) and name.split(".")[1] in rooms and name.count(".") > 1}
    found = {name for name in far if _is_test(name)} | own
    return [_path(name) for name in sorted(found, key=lambda name: (name not in own, far.get(name, LAST), name))]


def _path(module: str) -> str:
    return imports.files()[module].relative_to(ROOT).as_posix()


def _is_test(module: str) -> bool:
    return module.rpartition(".")[2].startswith("test_")


def room(file: str) -> str:
    """The room of tests that mirrors a file's; of tests themselves, theirs where the file isn't for imports."""
    parts = Path(file).parts
    if parts[0] == "tests" and file.endswith(".py") and parts[-1] != "conftest.py":
        return ""
    return parts[1] if parts[0] in ("jupyter_stream", "tests") and len(parts) > 2 else parts[0]


def readers(file: str) -> list[str]:
    """Modules that a file's name stands in, and those beside it that read files of its kind. For Python only those of tests."""
    path, python = Path(file), file.endswith(".py")
    name = re.compile(rf"\b{re.escape(path.name)}[\"']") if path.name != "__init__.py" else None
    return [
        module.name
        for module in imports.modules().values()
        if (module.name.startswith("tests.") or not python)
        and (
            (name and name.search(module.text))
            or (not python and path.suffix and _beside(module.name, path) and path.suffix in module.text)
        )
    ]


def _beside(module: str, path: Path) -> bool:
    return imports.files()[module].parent == ROOT / path.parent


def looking_through(file: str) -> list[str]:
    """Modules of tests that look through all files of its kind, such as those that look for names."""
    kind = Path(file).suffix
    read = imports.modules().values() if kind else ()
    return [module.name for module in read if module.name.startswith("tests.") and f'"*{kind}"' in module.text]


@cache
def users() -> dict[Name, set[Name]]:
    """For each name those that are made with it."""
    found: defaultdict[Name, set[Name]] = defaultdict(set)
    for name, made_of in imports.graph().items():
        for one in made_of:
            found[one].add(name)
    return found


def distances(start: Iterable[str]) -> dict[str, int]:
    """Modules that something in these reaches, with the number of modules on the shortest way."""
    changed = set(start)
    far = {name: 0 for name in {*imports.graph(), *users()} if name.module in changed}
    waiting = deque(far)
    while waiting:  # names in one module are no further, and so come first
        name = waiting.popleft()
        for user in users().get(name, ()):
            step = far[name] + (user.module != name.module)
            if step < far.get(user, step + 1):
                far[user] = step
                (waiting.append if user.module != name.module else waiting.appendleft)(user)
    found: dict[str, int] = {}
    for name, steps in far.items():
        found[name.module] = min(steps, found.get(name.module, steps))
    return found


@cache
def for_all() -> set[str]:
    """Files of tests that `tests/conftest.py` uses for every test."""
    found, waiting = set[Name](), list(imports.by_itself(imports.ROOTS))
    while waiting:
        name = waiting.pop()
        if name not in found and name.module.startswith("tests."):
            found.add(name)
            waiting += imports.graph().get(name, ())
    return {_path(name.module) for name in found}
