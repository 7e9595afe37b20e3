"""SQL highlighting by the extension: in `%%stream` cells, below their first line, and nowhere else; in both front ends."""

import pytest

from tests.tiers import slow

CELLS = [
    "%%stream hot --chart line\nSELECT avg(price) AS p, 'in' AS s FROM trades [RANGE 1 MINUTE] -- note\nWHERE n = 3",
    "%%streams\nSELECT 1",
    "for x in [1]:\n    print('SELECT', x)",
]
MARKS = """cell => [...cell.querySelectorAll('[class*=jp-stream-]')].map(
  e => [e.textContent, [...e.classList].find(c => c.startsWith('jp-stream-')).slice(10)])"""
COLOUR = """([cell, text]) => getComputedStyle(
  [...cell.querySelectorAll('[class*=jp-stream-]')].find(e => e.textContent === text)).color"""


@slow
@pytest.mark.parametrize("path", ["lab/tree", "notebooks"])
def test_sql_is_coloured_in_stream_cells_and_python_elsewhere(lab, chromium, path):
    lab.write("colours.ipynb", CELLS)
    page = chromium.new_page()
    try:
        page.goto(f"{lab.url}/{path}/colours.ipynb?token=t&reset", wait_until="domcontentloaded")
        cells = page.locator(".jp-Notebook .jp-Cell")
        cells.nth(2).locator(".cm-line").first.wait_for()
        cells.nth(0).locator(".jp-stream-keyword").first.wait_for()
        marks = {(text, kind) for text, kind in cells.nth(0).evaluate(MARKS)}
        assert {("SELECT", "keyword"), ("avg", "function"), ("price", "name"), ("'in'", "string"), ("-- note", "comment"),
                ("RANGE", "keyword"), ("3", "number")} <= marks  # fmt: skip
        assert "stream" not in {text for text, _ in marks}  # the magic's line is Python's
        assert cells.nth(1).evaluate(MARKS) == [] and cells.nth(2).evaluate(MARKS) == []
        assert cells.nth(2).locator("span", has_text="for").first.evaluate("e => e.className")  # Python's own marks
        handle = cells.nth(0).element_handle()
        assert page.evaluate(COLOUR, [handle, "SELECT"]) != page.evaluate(COLOUR, [handle, "price"])
        # what is typed is coloured too, and a cell that becomes Python loses it
        cells.nth(1).locator(".cm-content").fill("%%stream\nSELECT 2")
        cells.nth(1).locator(".jp-stream-keyword").first.wait_for()
        cells.nth(1).locator(".cm-content").fill("x = 2")
        page.wait_for_function("c => !c.querySelector('[class*=jp-stream-]')", arg=cells.nth(1).element_handle())
    finally:
        page.close()
