"""The explicit package list of pyproject.toml, the layout it maps, and who may import the magics, the public names."""

import ast
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import jupyter_stream

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_package_list_equals_the_folders():
    rooms = {init.parent.relative_to(ROOT) for init in (ROOT / "jupyter_stream").rglob("__init__.py")}
    magics = {Path("jupyter_stream") / init.parent.relative_to(ROOT) for init in (ROOT / "magics").rglob("__init__.py")}
    folders = {".".join(folder.parts) for folder in rooms | magics}
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == folders


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="which files are the project's is known in a clone alone")
def test_the_top_level_holds_what_was_agreed():
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    top = {name.split("/")[0] for name in tracked if not name.startswith(".")}
    folders = {"jupyter_stream", "magics", "tests", "tutorials", "binder", "findings"}
    assert top == folders | {"pyproject.toml", "README.md", "LICENSE", "CONTRIBUTING.md", "CHANGELOG.md"}


def test_every_python_file_lies_in_a_package():
    for room in ("jupyter_stream", "magics"):
        for file in (ROOT / room).rglob("*.py"):
            assert (file.parent / "__init__.py").exists(), (
                f"{file.parent} has no __init__.py, so the wheel leaves it out"
            )


def test_only_the_extension_hook_imports_the_magics():
    for file in (ROOT / "jupyter_stream").rglob("*.py"):
        text = file.read_text()
        for node in ast.walk(ast.parse(text if "jupyter_stream.magics" in text else "")):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.startswith("jupyter_stream.magics") for name in names):
                assert file == ROOT / "jupyter_stream" / "__init__.py", f"{file} imports the magics"


def test_version_is_said_once_more_and_the_same():
    text = (ROOT / "jupyter_stream" / "__init__.py").read_text()
    assert f'__version__ = "{PROJECT["project"]["version"]}"' in text


def test_tab_completion_shows_the_public_names_and_each_is_there():
    shown = dir(jupyter_stream)
    assert {"Session", "Query", "aggregate"} <= set(shown)
    assert all(hasattr(jupyter_stream, name) for name in shown)


def test_contributing_names_every_room_and_files_that_are_there():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    table = text[text.index("| room |") : text.index("The table is ordered")]
    named = [name for line in table.strip().splitlines() for name in re.findall(r"`([\w.]+?)/?`", line.split("|")[1])]
    top = {p.stem if p.is_dir() else p.name for p in (ROOT / "jupyter_stream").iterdir() if p.name[0] not in "._"}
    assert set(named) == top - {"py.typed"} | {"magics"}


def test_the_walks_of_contributing_name_what_is_there():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    for title, least in (("## Follow a cell", 20), ("## Follow a batch", 15)):
        walk = text[text.index(title) : text.index("\n## ", text.index(title))]
        files = {name: found(name) for name in re.findall(r"`([\w/]+\.(?:py|js))`", walk)}
        assert len(files) > least and [name for name, path in files.items() if path is None] == []
        named = re.findall(r"`([\w/]+\.py)`(?:\s\(|: )`(\w+)`", walk)
        assert len(named) > least - 5
        assert [(f, n) for f, n in named if not re.search(rf"^((class|def) )?{n}\b", files[f].read_text(), re.M)] == []


def found(name: str) -> Path | None:
    """A file as CONTRIBUTING names it: from the package, or from the top."""
    return next((at / name for at in (ROOT / "jupyter_stream", ROOT) if (at / name).is_file()), None)
