"""CONTRIBUTING's additions: its diffs applied to a copy of the package, and a query that uses all of them."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiers import slow

ROOT = Path(__file__).parents[2]
DIFF = re.compile(r"^--- (?P<old>\S+)\n\+\+\+ b/(?P<new>\S+)\n(?P<body>(?:^(?!---).*\n)*)", re.MULTILINE)

USES = {
    "aggregate": """
session.execute("CREATE STREAM c ORDER BY n SOURCE 'frame://numbers'")
window, relation = session.execute(
    "SELECT holds_always(n < 60) AS small FROM c [RANGE 50 MICROSECONDS TUMBLING]; SELECT holds_always(n < 60) AS small FROM c"
)
assert window.wait(200) and relation.wait(200)
print(window.to_polars()["small"].to_list(), relation.to_polars()["small"].to_list())
""",
    "source": """
session.execute("CREATE STREAM c ORDER BY n SOURCE 'count://100'")
(query,) = session.execute("SELECT max(n) AS n FROM c")
assert query.wait(200)
print(query.to_polars()["n"].to_list())
""",
    "scheduler": """
session = jupyter_stream.Session({"numbers": numbers}, scheduler="oldest")
session.execute("CREATE STREAM c ORDER BY n SOURCE 'frame://numbers'")
(query,) = session.execute("SELECT max(n) AS n FROM c")
assert query.wait(200)
print(query.to_polars()["n"].to_list())
""",
    "chart": """
from jupyter_stream.views import ViewOptions
from jupyter_stream.views.chart import picture
from jupyter_stream.views.colours import Colours
session.execute("CREATE STREAM c ORDER BY n SOURCE 'frame://numbers'")
(query,) = session.execute("SELECT n, n * 2 AS most FROM c")
assert query.wait(200)
drawn = picture(query.snapshot(), ViewOptions("steps", y="most"), Colours())
print([layer.kind for layer in drawn.layers])
""",
}
"""What uses each addition, and prints one line."""
WORDS = {"aggregate": "holds_always", "source": "count", "scheduler": "oldest", "chart": "steps"}
"""What is unknown without it."""
GIVEN = {
    "aggregate": "[True, False, False] [False]",
    "source": "[100]",
    "scheduler": "[100]",
    "chart": "['lines']",
}
HEAD = """
import polars as pl
import jupyter_stream
numbers = pl.DataFrame({"n": range(1, 101)})
session = jupyter_stream.Session({"numbers": numbers})
"""


def apply(diff: re.Match[str], tree: Path) -> None:
    """New files whole; in others, each added line goes behind the line before it in the diff."""
    file = tree / diff["new"]
    strange = [line for line in diff["body"].splitlines() if not line.startswith(("+", " ")) and line != "@@"]
    assert strange == [], f"not lines of a diff, in that of {diff['new']}"
    if diff["old"] == "/dev/null":
        file.write_text("".join(line[1:] + "\n" for line in diff["body"].splitlines() if line.startswith("+")))
        return
    for before, added in re.findall(r"^ (.*)\n\+(.*)\n", diff["body"], re.MULTILINE):
        text = file.read_text()
        assert text.count(f"{before}\n") == 1, f"{diff['new']} has no line of its own {before!r} any more"
        file.write_text(text.replace(f"{before}\n", f"{before}\n{added}\n"))


EACH = f"""
for text in {list(USES.values())!r}:
    given = {{}}
    try:
        exec({HEAD!r} + text, given)
    except Exception as error:
        print("fails:", " ".join(str(error).split()))
    given["session"].close()
"""


def run(text: str, tree: Path) -> subprocess.CompletedProcess[str]:
    code = HEAD + text + "print(jupyter_stream.__file__)\nsession.close()\n"
    return subprocess.run([sys.executable, "-c", code], cwd=tree, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with all additions."""
    made = tmp_path_factory.mktemp("clone")
    shutil.copytree(ROOT / "jupyter_stream", made / "jupyter_stream", ignore=shutil.ignore_patterns("__pycache__"))
    blocks = re.findall(r"^```diff\n(.*?)^```$", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE | re.DOTALL)
    diffs = [diff for block in blocks for diff in DIFF.finditer(block)]
    assert len(diffs) == 9 and len(blocks) == len(USES)
    for diff in diffs:
        apply(diff, made)
    return made


def test_additions_work_and_nothing_does_their_work_without_them(tree: Path) -> None:
    done = run(EACH, tree)
    *given, where = done.stdout.splitlines()
    assert where.startswith(str(tree)) and dict(zip(USES, given, strict=True)) == GIVEN, done.stderr
    without = run(EACH, ROOT).stdout.splitlines()[:-1]
    assert [line for line in without if line.startswith("fails:")] == without
    assert [name for name, line in zip(USES, without, strict=True) if WORDS[name] not in line] == []


WINDOW = """
session.execute("CREATE STREAM c ORDER BY n SOURCE 'frame://numbers'")
for word in ("", " CUMULATE"):
    try:
        (query,) = session.execute(f"SELECT count(*) AS n FROM c [RANGE 100 MICROSECONDS SLIDE 50 MICROSECONDS{word}]")
        print(query.wait(200), query.to_polars()["n"].to_list())
    except jupyter_stream.QueryError:
        print("refused")
"""


@slow
def test_a_window_over_time_is_one_file_and_its_name_among_the_windows(tmp_path: Path) -> None:
    whole = run(WINDOW, ROOT)
    assert whole.stdout.splitlines()[:2] == ["True [49, 99, 51, 1]", "True [49, 99, 1, 1]"], whole.stderr
    shutil.copytree(ROOT / "jupyter_stream", tmp_path / "jupyter_stream", ignore=shutil.ignore_patterns("__pycache__"))
    windows = tmp_path / "jupyter_stream" / "windows"
    (windows / "cumulate.py").unlink()
    registry = (windows / "__init__.py").read_text()
    (windows / "__init__.py").write_text("".join(x for x in registry.splitlines(True) if "Cumulate" not in x))
    without = run(WINDOW, tmp_path)
    assert without.stdout.splitlines()[:2] == ["True [49, 99, 51, 1]", "refused"], without.stderr
