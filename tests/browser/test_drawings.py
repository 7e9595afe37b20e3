"""The drawings of the tutorials in a page: they are drawn, and follow their sliders."""

import shutil
from pathlib import Path

TUTORIALS = Path(__file__).parents[2] / "tutorials"
DRAWING = ".jupyter-stream-drawing[data-drawn=yes]"


def test_a_window_is_drawn_and_follows_its_sliders(open_notebook, lab):
    for module in TUTORIALS.glob("*.py"):
        shutil.copy(module, lab.root)
    book = open_notebook("drawing.ipynb", ["from window_drawing import explore\nexplore('sliding')"])
    book.run_all()
    cell = book.cell(0)
    cell.locator(DRAWING).wait_for(timeout=90_000)
    assert "[RANGE 15 SECONDS SLIDE 5 SECONDS]" in cell.locator(".jp-OutputArea-output").first.inner_text()
    before = cell.locator(DRAWING).screenshot()
    cell.locator(".noUi-handle").first.focus()
    book.page.keyboard.press("ArrowRight")
    book.page.get_by_text("[RANGE 16 SECONDS SLIDE 5 SECONDS]").wait_for(timeout=20_000)
    book.page.wait_for_timeout(500)
    assert cell.locator(DRAWING).screenshot() != before
    assert book.errors == []


def test_a_chart_grows_while_its_cell_runs(open_notebook, lab):
    for module in TUTORIALS.glob("*.py"):
        shutil.copy(module, lab.root)
    show = "from drawing import Chart\nfrom IPython.display import display\nchart = Chart(['ours', 'theirs'], 'x, s', 'y, s')"
    grow = "import time\ntime.sleep(3)\nchart.add('ours', 1, 2)\nchart.add('theirs', 2, 1, 'late')\ntime.sleep(200)"
    book = open_notebook("chart.ipynb", [f"{show}\nchart", grow])
    book.run_all()
    cell = book.cell(0)
    cell.locator(DRAWING).wait_for(timeout=90_000)
    empty = cell.locator(DRAWING).screenshot()
    book.page.wait_for_timeout(5_000)
    assert "[*]" in book.cell(1).inner_text()
    assert cell.locator(DRAWING).screenshot() != empty
    assert book.errors == []
