"""Drawings in a page: those of the tutorials follow their sliders, a chart saved as a page needs nothing else."""

import shutil
import sys
import time
from pathlib import Path

from lab import VIEWS

from jupyter_stream import views
from jupyter_stream.views import saved
from jupyter_stream.views.widget import LIVE_CSS
from tests.tiers import slow
from tests.waiting import until

TUTORIALS = Path(__file__).parents[2] / "tutorials"
POINTS = """() => {
  const [store] = globalThis.__jupyterStreamPage?.stores.values() ?? [];
  const plot = store && [...store.views][0].plots[0];
  return plot?.sources[1]?.data.x.length === 60;
}"""
DRAWING = ".jupyter-stream-drawing[data-drawn=yes]"


def still(drawing):
    """What a drawing looks like once it is painted."""
    before = b""
    while before != (before := drawing.screenshot()):
        time.sleep(0.2)
    return before


def until_it_looks_otherwise(drawing, before):
    until(lambda: drawing.screenshot() != before, step=0.2)


@slow
def test_a_window_is_drawn_and_follows_its_sliders(open_notebook, lab):
    for module in TUTORIALS.glob("*.py"):
        shutil.copy(module, lab.root)
    book = open_notebook("drawing.ipynb", ["from window_drawing import explore\nexplore('sliding')"])
    book.run_all()
    cell = book.cell(0)
    cell.locator(DRAWING).wait_for()
    assert "[RANGE 15 SECONDS SLIDE 5 SECONDS]" in cell.locator(".jp-OutputArea-output").first.inner_text()
    before = still(cell.locator(DRAWING))
    cell.locator(".noUi-handle").first.focus()
    book.page.keyboard.press("ArrowRight")
    book.page.get_by_text("[RANGE 16 SECONDS SLIDE 5 SECONDS]").wait_for()
    until_it_looks_otherwise(cell.locator(DRAWING), before)
    assert book.errors == []


@slow
def test_a_chart_grows_while_its_cell_runs(open_notebook, lab):
    for module in TUTORIALS.glob("*.py"):
        shutil.copy(module, lab.root)
    show = "from drawing import Chart\nfrom IPython.display import display\nchart = Chart(['ours', 'theirs'], 'x, s', 'y, s')"
    grow = (
        "import pathlib, time\nwhile not pathlib.Path('seen').exists(): time.sleep(0.1)\n"
        "chart.add('ours', 1, 2)\nchart.add('theirs', 2, 1, 'late')\ntime.sleep(10_000)"
    )
    book = open_notebook("chart.ipynb", [f"{show}\nchart", grow])
    book.run_all()
    cell = book.cell(0)
    cell.locator(DRAWING).wait_for()
    empty = still(cell.locator(DRAWING))
    (lab.root / "seen").touch()
    until_it_looks_otherwise(cell.locator(DRAWING), empty)
    assert "[*]" in book.cell(1).inner_text()
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
    page.wait_for_function(POINTS)
    assert page.evaluate("() => window.hurt") is None
    assert evil in page.locator(".js-name").inner_text()
    assert errors == []
    page.close()


CODE = """<style>:root {{ --vscode-foreground: rgb(204, 204, 204); --jp-ui-font-color1: rgb(0, 0, 0); }} {css}</style>
<div class="cell_container"><div class="output_container"><div class="output">{live}</div></div>
<div class="output_container"><div class="output">{still}</div></div></div>"""
"""VS Code 1.139's page, and the light colours that the widgets' own style sheet brings into it whatever its theme."""


def test_vs_code_shows_either_the_live_view_or_its_picture_in_its_own_colours(chromium):
    page = chromium.new_page()
    still, live = saved.outer(["<p>stopped at 14:03:10</p>"]), f'<div class="{saved.LIVE}">running</div>'
    picture = page.locator(f".{saved.MARK}")
    page.set_content(CODE.format(css=LIVE_CSS, live=live, still=still))
    assert not picture.is_visible()
    assert page.locator(f".{saved.LIVE}").evaluate("el => getComputedStyle(el).color") == "rgb(204, 204, 204)"
    page.set_content(CODE.format(css=LIVE_CSS, live="", still=still))
    assert picture.is_visible()
    page.close()
