"""Names in the package have one meaning each, and exceptions from checks a reason."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


DEFINITION = re.compile(r"^ *(class|def|async def) (\w+)\b *[(:\[]", re.MULTILINE)


@cache
def _modules() -> list[tuple[str, list[tuple[str, str]]]]:
    """What each file defines, however deep it stands: whether a class or a function, and its name."""
    files = (file for room in ("jupyter_stream", "magics") for file in sorted((ROOT / room).rglob("*.py")))
    return [(str(file.relative_to(ROOT)), DEFINITION.findall(file.read_text())) for file in files]


def test_no_two_classes_have_one_name() -> None:
    homes = defaultdict(list)
    for file, definitions in _modules():
        for kind, name in definitions:
            if kind == "class":
                homes[name].append(file)
    assert len(homes) > 800
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


MOODS = {"looks", "beside", "behind", "side", "asked", "handed", "told"}
"""What something does or where it stands, in place of what it is. A side stream is a thing of the language."""


def test_names_of_modules_classes_and_functions_are_things() -> None:
    found = set()
    for file, definitions in _modules():
        for name in (Path(file).stem, *(name for _, name in definitions)):
            words = " ".join(re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)).lower().replace("side stream", "")
            if MOODS & set(words.split()):
                found.add(f"{file.removeprefix('jupyter_stream/')}: {name}")
    assert found == set()


def test_every_exception_from_a_check_says_why() -> None:
    bare = re.compile(r"# (type: ignore|noqa)(\[[\w, -]+\]|: *[A-Z0-9, ]+)?\s*$")
    files = [ROOT / file for file, _ in _modules()]
    lines = ((file, number, line) for file in files for number, line in enumerate(file.read_text().splitlines(), 1))
    assert [f"{file.name}:{number}" for file, number, line in lines if bare.search(line)] == []
