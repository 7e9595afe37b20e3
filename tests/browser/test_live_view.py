"""The live view in a real page. Demo queries come from tests/views/demo.py; a real one from `%%stream`."""

import json
import re

from lab import IN_BOTH
from nbconvert import HTMLExporter

from tests.tiers import slow

DEMO = "from demo import Demo\nfrom jupyter_stream import views\nfrom jupyter_stream.views import ViewOptions\n"
LIVE = ".jupyter-stream-live"
SAVED = ".jupyter-stream-saved"

SHOWN = """el => {
  const store = globalThis.__jupyterStreamPage.stores.get(el.dataset.key);
  return [store.head.rowCount, store.columns['0.ys']];
}"""


LAST = """el => {
  const { head, columns } = globalThis.__jupyterStreamPage.stores.get(el.dataset.key);
  return [-5, -4, -3, -2, -1].map(at => head.names.map((_, i) => columns[`r.${i}`].at(at)));
}"""
CELLS = "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"


def canvas_pixels(view):
    """How many pixels of the chart's canvas are drawn."""
    return view.evaluate(
        """el => {
      const found = [];
      const walk = node => {
        if (node.tagName === 'CANVAS') found.push(node);
        for (const child of node.children ?? []) walk(child);
        if (node.shadowRoot) walk(node.shadowRoot);
      };
      walk(el);
      const drawn = c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.filter((v, i) => i % 4 === 3 && v);
      return found.map(c => drawn(c).length).reduce((a, b) => a + b, 0);
    }"""
    )


def wait_drawn(book, view):
    """Until the chart is there to be seen and pointed at."""
    box = view.locator(".js-figure-box").first
    book.until(lambda: canvas_pixels(view) > 1000 and box.is_visible(), "the chart is drawn")


def rows(view):
    return int(view.get_attribute("data-rows"))


@slow
def test_a_chart_draws_changes_and_stops_while_a_cell_sleeps(open_notebook):
    book = open_notebook(
        "live.ipynb",
        [DEMO + "query = Demo(name='<i>hot</i>', keys=['<b>north</b>', 'south']).run()\nviews.display(query);",
         "import time\ntime.sleep(10_000)"],
    )  # fmt: skip
    book.run_all()
    view = book.live(0)
    view.wait_for()
    wait_drawn(book, view)
    book.page.wait_for_function(f"() => +document.querySelector('{LIVE}')?.dataset.rows > 4")
    first, drawn = view.evaluate(SHOWN)
    book.page.wait_for_function(f"n => +document.querySelector('{LIVE}')?.dataset.rows >= n + 4", arg=first)
    assert view.evaluate(SHOWN)[1] != drawn
    # the other cell still sleeps: the buttons must answer all the same
    assert "[*]" in book.cell(1).inner_text()
    view.get_by_text("Pause", exact=True).click()
    book.page.wait_for_selector(f"{LIVE}[data-state=paused]")
    view.get_by_text("Resume", exact=True).click()
    book.page.wait_for_selector(f"{LIVE}[data-state=running]")
    view.get_by_text("Stop", exact=True).click()
    book.page.wait_for_selector(f"{LIVE}[data-state=stopped]")
    assert "[*]" in book.cell(1).inner_text()
    # markup in names and data is text
    assert "<i>hot</i>" in view.inner_text() and "<b>north</b>" in view.inner_text()
    assert view.locator("i, b").count() == 0
    # the picture for the file is there, and not shown beside the live view
    assert book.cell(0).locator(SAVED).count() == 1
    assert not book.cell(0).locator(SAVED).is_visible()
    assert book.errors == []


BUSY = """() => {
  const make = URL.createObjectURL;
  URL.createObjectURL = (blob) => {
    const end = performance.now() + 2500;
    while (blob.type === 'text/javascript' && performance.now() < end);
    return make.call(URL, blob);
  };
}"""


@slow
def test_a_page_that_is_busy_while_a_view_comes_shows_it_all_the_same(open_notebook):
    cells = [
        "%load_ext jupyter_stream\nimport pandas as pd\n"
        "rows = pd.DataFrame({'k': ['a', 'b'] * 5_000, 'ts': pd.date_range('2024', periods=10_000, freq='s')})",
        "%%stream hot --chart bar\nCREATE STREAM s ORDER BY ts SOURCE 'frame://rows' WITH (rate = '2/s');\n"
        "SELECT k, count(*) AS n FROM s [RANGE 1 HOUR] GROUP BY k",
        "%stream plan hot",
    ]  # fmt: skip
    book = open_notebook("busy.ipynb", cells)
    book.page.evaluate(BUSY)
    book.run_all()
    book.page.wait_for_selector(f"{LIVE}[data-state=running]")
    book.page.wait_for_selector(".jupyter-stream-plan svg")
    assert book.errors == []


STATE = """el => {
  const s = globalThis.__jupyterStreamPage.stores.get(el.dataset.key);
  const plain = v => ArrayBuffer.isView(v) ? Array.from(v) : Array.isArray(v) ? v.map(plain) : v;
  return JSON.stringify([s.head, Object.fromEntries(Object.keys(s.columns).sort().map(k => [k, plain(s.columns[k])]))]);
}"""


@slow
def test_late_views_and_reloaded_pages_are_current_and_agree(open_notebook):
    book = open_notebook(
        "two.ipynb",
        [DEMO + "query = Demo(keys=[f'k{i}' for i in range(12)]).run(0.1)\nviews.display(query);",
         "views.display(query);",
         "query.stop()\nviews.display(Demo(keys=['<b>k</b>'], shape='keys').advance(3), ViewOptions(chart='bar'));"],
    )  # fmt: skip
    book.run(0)
    book.live(0).wait_for()
    book.page.wait_for_function(f"() => +document.querySelector('{LIVE}')?.dataset.rows > 40")
    book.run(1)
    book.live(1).wait_for()
    book.save()
    book.open()
    for i in (0, 1):
        book.live(i).wait_for()
        wait_drawn(book, book.live(i))
    before = book.live(0).evaluate(SHOWN)[1]
    book.until(lambda: book.live(0).evaluate(SHOWN)[1] != before, "another point is drawn")
    book.run(2)
    book.page.wait_for_function(f"() => document.querySelectorAll('{LIVE}[data-state=stopped]').length === 2")
    assert rows(book.live(0)) == rows(book.live(1)) > 40
    assert json.loads(book.live(0).evaluate(STATE)) == json.loads(book.live(1).evaluate(STATE))
    # pointing at a bar shows its row, as text
    view = book.live(2)
    view.wait_for()
    wait_drawn(book, view)
    view.scroll_into_view_if_needed()
    box = view.locator(".js-plot").bounding_box()
    book.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    book.page.mouse.move(box["x"] + box["width"] / 2 + 5, box["y"] + box["height"] / 2 + 5)
    tip = view.locator(".js-tip:not(.js-card)")  # the other is for what was clicked
    tip.wait_for(state="visible")
    assert "<b>k</b>" in tip.inner_text() and "6" in tip.inner_text()
    assert tip.locator("b").count() == 0


@slow
@IN_BOTH
def test_a_saved_notebook_shows_its_picture_without_a_kernel(open_notebook, chromium, frontend):
    book = open_notebook(
        "saved.ipynb",
        [DEMO + "query = Demo(name='<i>hot</i>', keys=['<script>alert(1)</script>']).advance(20)\nviews.display(query);",
         "query.stop()", DEMO + "views.display(Demo().advance(3));"],
        frontend,
    )  # fmt: skip
    book.run_all()
    for cell in (0, 2):
        book.live(cell).wait_for()
    book.page.wait_for_selector(f"{LIVE}[data-state=stopped]")
    shown = book.live(0).evaluate(LAST)
    book.page.wait_for_function(f"() => document.querySelector('{SAVED}')?.textContent.includes('stopped at')")
    book.save()
    book.page.close()
    book.lab.shut_kernels()
    on_disk = book.lab.read("saved.ipynb")
    assert "widgets" not in on_disk.metadata
    assert sum(len(json.dumps(cell)) for cell in on_disk.cells) < 60_000

    book = open_notebook("saved.ipynb", frontend=frontend)
    picture = book.cell(0).locator(f"{SAVED} img")
    picture.wait_for(state="visible")
    book.page.wait_for_function("img => img.complete && img.naturalWidth > 100", arg=picture.element_handle())
    assert "stopped at" in book.cell(0).locator(SAVED).inner_text()
    assert "<script>alert(1)</script>" in book.cell(0).locator(SAVED).inner_text()
    assert re.search(r"as of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d: running", book.cell(2).locator(SAVED).inner_text())
    book.page.wait_for_timeout(4_000)  # the widget manager looks for the model for two seconds before it complains
    assert "model not found" not in book.page.locator(".jp-Notebook").inner_text()
    assert book.page.locator(LIVE).count() == 0
    # the live view, the reopened notebook and nbconvert's page show the same rows
    assert book.cell(0).locator(f"{SAVED} tbody tr").evaluate_all(CELLS) == shown

    page = chromium.new_page()
    page.route("**/*", lambda route: route.abort())  # nbconvert's page must not need the internet for it
    page.set_content(HTMLExporter().from_notebook_node(on_disk)[0], wait_until="domcontentloaded")
    page.locator(f"{SAVED} img").first.wait_for(state="visible")
    assert "stopped at" in page.locator(SAVED).first.inner_text()
    assert page.locator(SAVED).first.locator("tbody tr").evaluate_all(CELLS) == shown
    page.close()


@slow
def test_twenty_live_charts_leave_the_page_usable(open_notebook):
    cell = (
        "views.display(Demo(keys=[f'k{i}' for i in range(8)], name=f'd{len(kept)}').run(0.1), ViewOptions(last=500));"
    )
    book = open_notebook("many.ipynb", [DEMO + "kept = []", *(["kept.append(0); " + cell] * 20)])
    book.run_all()
    book.page.wait_for_function(f"() => document.querySelectorAll('{LIVE}').length >= 18")
    # a blocked page draws no more frames
    book.page.evaluate(
        "() => { const draw = () => { window.frames_ = (window.frames_ ?? 0) + 1; requestAnimationFrame(draw); }; draw(); }"
    )
    book.page.wait_for_function("() => window.frames_ >= 20", polling=100)
    view = book.page.locator(LIVE).last
    view.scroll_into_view_if_needed()
    wait_drawn(book, view)
    newest = "el => globalThis.__jupyterStreamPage.stores.get(el.dataset.key).head.x.high"
    before = view.evaluate(newest)
    book.until(lambda: view.evaluate(newest) > before, "newer rows are shown")
    assert book.errors == []
