"""README's first query, run as it stands there."""

import re
from pathlib import Path

import nbformat
import pytest

from tests import kernels

README = (Path(__file__).parents[2] / "README.md").read_text()
CELL = re.compile(r"^```\n(%.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.timeout(1_200)
def test_first_query_of_the_readme_gives_rows(tmp_path: Path):
    sources = [
        *CELL.findall(README),
        "import time\nwhile traffic.latest is None or not len(traffic.latest):\n    time.sleep(0.1)",
    ]
    assert len(sources) == 4
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    notebook.cells.append(nbformat.v4.new_code_cell("print(list(traffic.to_pandas().columns)); traffic.stop()"))
    kernels.execute(notebook, tmp_path)
    assert (
        notebook.cells[-1].outputs[0]["text"].strip()
        == "['window_start', 'window_end', 'protocol', 'packets', 'bytes']"
    )
