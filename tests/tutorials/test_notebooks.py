"""The tutorials as a reader meets them, run from top to bottom in a real kernel; then the solutions of their exercises."""

import re
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from tests import kernels
from tests.tiers import only

TUTORIALS = Path(__file__).parents[2] / "tutorials"
NOTEBOOKS = sorted(TUTORIALS.glob("[0-9]*.ipynb"))
GATE = [path for path in NOTEBOOKS if path.name[:2] in ("00", "01", "11")]
FENCE = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def ids(path: Path) -> str:
    return path.stem


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def run(notebook: NotebookNode) -> NotebookNode:
    """Run all cells; the first error raises CellExecutionError, which shows the cell."""
    return kernels.execute(notebook, TUTORIALS)


def tagged(notebook: NotebookNode, tag: str) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if tag in cell.metadata.get("tags", [])]


def text(cell: NotebookNode) -> str:
    """What a cell printed and returned, as text."""
    parts = [
        output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in cell.get("outputs", [])
    ]
    return "\n".join(parts)


def solutions(notebook: NotebookNode) -> list[str]:
    (cell,) = (cell for cell in notebook.cells if "<summary><b>Solutions</b></summary>" in cell.source)
    return FENCE.findall(cell.source)


def test_there_are_notebooks():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=ids)
def test_notebook_is_stored_without_outputs(path: Path):
    for cell in read(path).cells:
        if cell.cell_type == "code":
            assert not cell.outputs and cell.execution_count is None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=ids)
def test_every_picture_and_page_a_notebook_points_to_exists(path: Path):
    for cell in read(path).cells:
        if cell.cell_type == "markdown":
            for target in re.findall(r"\]\(([^)#:]+)\)", cell.source):
                assert (TUTORIALS / target).exists(), target


def answered(notebook: NotebookNode) -> list[NotebookNode]:
    """Appends each exercise's solution and its check once more; returns those checks."""
    answers, exercises, checks = solutions(notebook), tagged(notebook, "exercise"), tagged(notebook, "check")
    assert len(answers) == len(exercises) == len(checks) > 0
    again = [new_code_cell(check.source) for check in checks]
    for answer, check in zip(answers, again, strict=True):
        notebook.cells += [new_code_cell(answer), check]
    return again


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("path", only(NOTEBOOKS, *GATE), ids=ids)
def test_notebook_runs_from_top_to_bottom_and_its_solutions_are_right(path: Path):
    notebook = read(path)
    for cell in notebook.cells:  # nobody watches
        # its rows are over after 20 seconds: they come when all has been looked at, however long that takes
        cell.source = cell.source.replace("%%stream dear ", "%%stream dear --paused ")
        cell.source = re.sub(r"event time x(\d+)", lambda pace: f"event time x{8 * int(pace[1])}", cell.source)
        cell.source = cell.source.replace("stop = time.monotonic() + 6", "stop = time.monotonic() + 1")
    unanswered, shown = tagged(notebook, "check"), list(notebook.cells)
    again = answered(notebook)
    run(notebook)
    magic = [c for c in shown if c.cell_type == "code" and re.match(r"%%stream \w+(?!.*--chart none)", c.source)]
    assert magic
    for cell in magic:
        kinds = {kind for output in cell.outputs for kind in output.get("data", {})}
        assert "application/vnd.jupyter.widget-view+json" in kinds, f"no live view under: {cell.source}"
    for cell in unanswered:
        assert "Right" not in text(cell), "an exercise nobody answered is not right"
    for cell in again:
        assert "Right" in text(cell), text(cell)
