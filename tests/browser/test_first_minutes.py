"""What README says to press, pressed in the notebook it opens, leads to a chart that moves and stays on the screen."""

import re
from pathlib import Path

import nbformat

from tests.tiers import slow

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
LIVE = ".jupyter-stream-live"
WORDS = {"two": 2, "three": 3, "four": 4}


@slow
def test_what_the_readme_says_leads_to_a_chart_that_moves(open_notebook, lab):
    opened = re.search(r"jupyter lab (tutorials/\S+\.ipynb)", README)[1]
    presses = WORDS[re.search(r"Shift\+Enter (\w+) times", README)[1]]
    nbformat.write(nbformat.read(ROOT / opened, as_version=4), lab.root / "readme.ipynb")
    book = open_notebook("readme.ipynb")
    page = book.page
    page.set_viewport_size({"width": 1280, "height": 800})
    for pressed in range(presses):
        book.step(pressed)
    view = page.locator(LIVE).first
    view.wait_for()
    page.wait_for_function(f"() => +document.querySelector('{LIVE}')?.dataset.rows > 4")
    at = int(view.get_attribute("data-rows"))
    page.wait_for_function(f"n => +document.querySelector('{LIVE}')?.dataset.rows > n", arg=at)

    def on_screen():
        box = view.bounding_box()
        return box["y"] >= 0 and box["y"] + box["height"] <= 800

    book.until(on_screen, "the chart is on the screen and stays there")
    book.until(lambda: view.get_attribute("data-state") in ("running", "waiting"), "it runs")
    assert book.errors == []
