"""Tutorial 1 as a reader meets it: its own cells in a page, then a cell that blocks the kernel, then the saved file."""

import re
from pathlib import Path

import nbformat

TUTORIAL = Path(__file__).parents[2] / "tutorials" / "01-first-light.ipynb"
LIVE = ".jupyter-stream-live"
SAVED = ".jupyter-stream-saved"


def first_cells():
    """The code cells of the tutorial up to its first live chart."""
    cells = [cell.source for cell in nbformat.read(TUTORIAL, as_version=4).cells if cell.cell_type == "code"]
    # its week takes minutes instead of half of one: it goes on however long a page takes
    cells = [re.sub(r"event time x\d+", "event time x2160", cell) for cell in cells]
    first = next(i for i, source in enumerate(cells) if source.startswith("%%stream") and "SELECT" in source)
    return cells[: first + 1]


def test_the_first_chart_moves_stops_while_a_cell_sleeps_and_stays_in_the_file(open_notebook):
    cells = first_cells()
    chart = len(cells) - 1
    book = open_notebook("tutorial.ipynb", [*cells, "import time\ntime.sleep(10_000)"])
    book.run_all()
    view = book.live(chart)
    view.wait_for()
    book.page.wait_for_function(f"() => +document.querySelector('{LIVE}')?.dataset.rows > 0")
    at = int(view.get_attribute("data-rows"))
    book.page.wait_for_function(f"n => +document.querySelector('{LIVE}')?.dataset.rows > n", arg=at)
    assert "[*]" in book.cell(chart + 1).inner_text()
    view.get_by_text("Stop", exact=True).click()
    book.page.wait_for_selector(f"{LIVE}[data-state=stopped]")
    assert "[*]" in book.cell(chart + 1).inner_text()
    book.page.wait_for_function(f"() => document.querySelector('{SAVED}')?.textContent.includes('stopped at')")
    book.save()
    assert book.errors == []
    book.page.close()
    book.lab.shut_kernels()

    book = open_notebook("tutorial.ipynb")
    picture = book.cell(chart).locator(f"{SAVED} img")
    picture.wait_for(state="visible")
    book.page.wait_for_function("img => img.complete && img.naturalWidth > 100", arg=picture.element_handle())
