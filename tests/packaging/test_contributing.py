"""CONTRIBUTING's additions: its diffs applied to a copy of the package, and a query that uses all of them."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
DIFF = re.compile(r"^--- (?P<old>\S+)\n\+\+\+ b/(?P<new>\S+)\n(?P<body>(?:^(?!---).*\n)*)", re.MULTILINE)

USE_ALL = """
import jupyter_stream
from jupyter_stream.schedulers import find
from jupyter_stream.views import ViewOptions
from jupyter_stream.views.chart import picture
from jupyter_stream.views.colours import Colours

session = jupyter_stream.Session(scheduler=find("oldest")())
session.execute("CREATE STREAM c ORDER BY n SOURCE 'count://100'")
(query,) = session.execute(
    "SELECT every(n < 60) AS small, max(n) AS most FROM c [RANGE 50 MICROSECONDS TUMBLING]"
)
query.wait(200)
drawn = picture(query.snapshot(), ViewOptions("steps", y="most"), Colours())
print(jupyter_stream.__file__)
print(query.to_polars()["small"].to_list(), [layer.kind for layer in drawn.layers])
session.close()
"""


def apply(diff: re.Match[str], tree: Path) -> None:
    """New files whole; in others, each added line goes behind the line before it in the diff."""
    file = tree / diff["new"]
    if diff["old"] == "/dev/null":
        file.write_text("".join(line[1:] + "\n" for line in diff["body"].splitlines() if line.startswith("+")))
        return
    for before, added in re.findall(r"^ (.*)\n\+(.*)\n", diff["body"], re.MULTILINE):
        text = file.read_text()
        assert text.count(f"{before}\n") == 1, f"{diff['new']} has no line of its own {before!r} any more"
        file.write_text(text.replace(f"{before}\n", f"{before}\n{added}\n"))


def test_the_diffs_of_contributing_work(tmp_path):
    shutil.copytree(ROOT / "jupyter_stream", tmp_path / "jupyter_stream", ignore=shutil.ignore_patterns("__pycache__"))
    blocks = re.findall(r"^```diff\n(.*?)^```$", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE | re.DOTALL)
    diffs = [diff for block in blocks for diff in DIFF.finditer(block)]
    assert len(diffs) == 9
    for diff in diffs:
        apply(diff, tmp_path)
    done = subprocess.run([sys.executable, "-c", USE_ALL], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    where, answer = done.stdout.splitlines()
    assert where.startswith(str(tmp_path))
    assert answer == "[True, False, False] ['lines']"
