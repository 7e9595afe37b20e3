"""Drawings in a page: those of the tutorials follow their sliders, a chart saved as a page needs nothing else."""

import shutil
import sys
from pathlib import Path

from lab import VIEWS

from jupyter_stream import views

TUTORIALS = Path(__file__).parents[2] / "tutorials"
POINTS = """() => {
  const [store] = globalThis.__jupyterStreamPage?.stores.values() ?? [];
  const plot = store && [...store.views][0].plots[0];
  return plot?.sources[1]?.data.x.length === 60;
}"""
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


def test_a_saved_page_draws_without_kernel_or_network_and_shows_markup_as_text(chromium, tmp_path):
    sys.path.insert(0, str(VIEWS))
    from demo import Demo

    evil = "<img src=x onerror=window.hurt=1></script><script>window.hurt=1</script>"
    file = views.save(Demo(name=evil, keys=(evil, "b")).advance(30), tmp_path / "x.html")
    page = chromium.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(file.as_uri())
    page.wait_for_function(POINTS, timeout=60_000)
    assert page.evaluate("() => window.hurt") is None
    assert evil in page.locator(".js-name").inner_text()
    assert errors == []
    page.close()
