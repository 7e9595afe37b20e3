"""README's first query, run as it stands there."""

import re
from pathlib import Path

import nbformat
from nbclient import NotebookClient

README = (Path(__file__).parents[2] / "README.md").read_text()
CELL = re.compile(r"^```\n(%.*?)^```$", re.MULTILINE | re.DOTALL)


def test_first_query_of_the_readme_gives_rows(tmp_path: Path):
    sources = [
        *CELL.findall(README),
        "import time\nwhile traffic.latest is None or not len(traffic.latest):\n    time.sleep(0.1)",
    ]
    assert len(sources) == 4
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    notebook.cells.append(nbformat.v4.new_code_cell("print(list(traffic.to_pandas().columns)); traffic.stop()"))
    NotebookClient(
        notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    assert (
        notebook.cells[-1].outputs[0]["text"].strip()
        == "['window_start', 'window_end', 'protocol', 'packets', 'bytes']"
    )
