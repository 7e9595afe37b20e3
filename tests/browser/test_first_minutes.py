"""What README says to press, pressed in the notebook it opens, leads to a chart that moves and stays on the screen."""

import re
from pathlib import Path

import nbformat

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
LIVE = ".jupyter-stream-live"
WORDS = {"two": 2, "three": 3, "four": 4}


def test_what_the_readme_says_leads_to_a_chart_that_moves(open_notebook, lab):
    opened = re.search(r"jupyter lab (tutorials/\S+\.ipynb)", README)[1]
    presses = WORDS[re.search(r"Shift\+Enter (\w+) times", README)[1]]
    nbformat.write(nbformat.read(ROOT / opened, as_version=4), lab.root / "readme.ipynb")
    book = open_notebook("readme.ipynb")
    page = book.page
    page.set_viewport_size({"width": 1280, "height": 800})
    for _ in range(presses):
        page.keyboard.press("Shift+Enter")
    view = page.locator(LIVE).first
    view.wait_for(timeout=90_000)
    page.wait_for_function(f"() => +document.querySelector('{LIVE}')?.dataset.rows > 4", timeout=60_000)
    at = int(view.get_attribute("data-rows"))
    page.wait_for_function(f"n => +document.querySelector('{LIVE}')?.dataset.rows > n", arg=at)
    box = view.bounding_box()
    assert box["y"] >= 0 and box["y"] + box["height"] <= 800, f"the chart isn't on the screen: {box}"
    assert view.get_attribute("data-state") in ("running", "waiting")
    assert book.errors == []
