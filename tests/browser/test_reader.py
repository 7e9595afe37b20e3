"""What a reader does with a live view, of a real query over known rows: clicks, files, another chart, the theme, late rows."""

import io
import json

import pytest
from PIL import Image

from tests.tiers import slow

LIVE = ".jupyter-stream-live"
EVIL = "<img src=x onerror=window.hurt=1></script><script>window.hurt=1</script>'\"&"
SETUP = f"""%load_ext jupyter_stream
import datetime as dt, time
EVIL, START = {EVIL!r}, dt.datetime(2024, 1, 1, 12)
def cars():
    for i in range(40):
        late = 30 if i == 35 else 0
        yield {{"road": EVIL if i % 2 else "B27" * 3_000, "speed": 60.0 + i + late, "at": START + dt.timedelta(seconds=i - late)}}
    time.sleep(10_000)"""
QUERY = """%%stream top --chart line
CREATE STREAM cars (road STRING, speed DOUBLE, at TIMESTAMP) ORDER BY at SOURCE 'python://cars';
SELECT window_end, road, max(speed) AS fastest, count(*) AS n FROM cars [RANGE 10 SECONDS SLIDE 10 SECONDS] GROUP BY road"""
SHOWN = """el => {
  const store = globalThis.__jupyterStreamPage.stores.get(el.dataset.key);
  const plot = [...store.views][0].plots[0];
  const data = source => Object.fromEntries(Object.entries(source.data).map(([k, v]) => [k, Array.from(v)]));
  return { head: store.head, sources: plot?.sources.map(data), ink: plot?.figure?.below[0].major_label_text_color };
}"""
AT = """([el, layer, point]) => {
  const store = globalThis.__jupyterStreamPage.stores.get(el.dataset.key);
  const plot = [...store.views][0].plots[0];
  const source = plot.sources.at(layer);
  const { x_scale, y_scale } = plot.figureView.frame;
  const box = plot.el.getBoundingClientRect();
  return [box.left + x_scale.compute(source.data.x[point]), box.top + y_scale.compute(source.data.y[point])];
}"""
DRAWN = """el => {
  const store = globalThis.__jupyterStreamPage?.stores.get(el.dataset.key);
  const plot = store && [...store.views][0]?.plots[0];
  return plot?.sources?.length > 2 && plot.sources.every(s => Object.values(s.data)[0].length) && !plot.el.style.visibility;
}"""
FIRST_SEEN = """el => {
  const drawn = new WeakMap();
  const { fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
    drawn.get(this.canvas)?.push(text);
    return fillText.call(this, text, ...place);
  };
  const { clearRect } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.clearRect = function (...box) {
    drawn.set(this.canvas, []);
    return clearRect.apply(this, box);
  };
  const canvases = node => [...node.children, ...(node.shadowRoot?.children ?? [])].flatMap(
    child => child.tagName === 'CANVAS' ? [child] : canvases(child));
  new MutationObserver((changes) => {
    const box = changes.map(change => change.target).find(box => box.className === 'js-figure-box' && !box.style.visibility);
    if (box) window.firstSeen ??= canvases(box).flatMap(canvas => drawn.get(canvas) ?? []).join(' ');
  }).observe(el, { subtree: true, attributes: true, attributeFilter: ['style'] });
}"""
HURT = "() => window.hurt ?? document.querySelectorAll('img[src=x]').length"


@pytest.fixture
def book(request, open_notebook):
    """A notebook whose second cell shows three windows of two roads, one of whose rows came late."""

    def open_(*cells):
        opened = open_notebook("reader.ipynb", [SETUP, QUERY, *cells], getattr(request, "param", "lab"))
        for cell in (0, 1):
            opened.run(cell)
        view = opened.live(1)
        view.wait_for()
        opened.page.wait_for_function(DRAWN, arg=view.element_handle())
        opened.wait_idle()
        return opened, view

    return open_


in_notebook_7 = pytest.mark.parametrize("book", ["notebook"], indirect=True)


def point_at(book, view, layer, point):
    """Move the pointer onto a point of a layer; where that is on the page."""
    view.scroll_into_view_if_needed()
    x, y = book.page.evaluate(AT, [view.element_handle(), layer, point])
    book.page.mouse.move(x - 3, y - 3)
    book.page.mouse.move(x, y)
    return x, y


def said(book, cell):
    """What a cell printed, read as JSON."""
    book.run(cell)
    book.wait_idle()
    return json.loads(book.cell(cell).locator(".jp-OutputArea-output").inner_text())


@slow
def test_a_click_gives_the_points_row_as_a_frame_and_a_late_rows_cross_tells_what_it_missed(book):
    rows = "import json; print(json.dumps(top.selected.select('road', 'fastest', 'n').rows()))"
    book, view = book(rows, "raise ValueError(EVIL)", '%%stream\nSELECT "<img src=x onerror=window.hurt=1>" FROM cars')
    point_at(book, view, 1, 0)
    tip = view.locator(".js-tip:not(.js-card)")
    tip.wait_for(state="visible")
    data = view.evaluate(SHOWN)["sources"][1]
    book.page.mouse.click(*point_at(book, view, 1, 0))
    book.page.get_by_text("top.selected has 1 row").wait_for()
    [[road, fastest, n]] = said(book, 2)
    assert fastest == data["y"][0] and road in (EVIL, "B27" * 3_000) and n == 5
    # the late row is about second 5 and came after second 34: the answer it missed is that of seconds 0 to 10
    cross = view.evaluate(SHOWN)["sources"][-1]
    assert cross["y"] == [69.0] and cross["x"] == [1_704_110_410_000]
    point_at(book, view, -1, 0)
    tip.get_by_text("69.0, would have been 125.0").wait_for()
    assert EVIL in tip.inner_text() and "29 s late" in tip.inner_text()
    book.page.mouse.click(*point_at(book, view, -1, 0))
    card = view.locator(".js-card")
    card.get_by_text("5, would have been 6").wait_for()
    assert EVIL in card.inner_text()
    # errors are text too, Python's and ours
    for cell in (3, 4):
        book.run(cell)
    book.cell(4).get_by_text("onerror=window.hurt=1").first.wait_for()
    assert book.page.evaluate(HURT) == 0
    assert book.errors == []


@slow
@in_notebook_7
def test_a_running_view_becomes_another_chart_in_place(book):
    book, view = book(
        "top.chart('bar', x='road', y='n');",
        "top.chart('table', top=2);",
        "top.chart('number');",
        "top.chart('line', x='window_end', y='fastest');",
    )
    for cell, kind in ((2, "plot"), (3, "table"), (4, "number")):
        book.run(cell)
        book.page.wait_for_function(
            "([el, kind]) => el.querySelector('.js-stage').dataset.kind === kind", arg=[view.element_handle(), kind]
        )
        if cell == 2:
            bars = "([el, shown]) => { const [s] = eval(shown)(el).sources ?? []; return s?.top?.join() === '5,5'; }"
            book.page.wait_for_function(bars, arg=[view.element_handle(), SHOWN])
    view.evaluate(FIRST_SEEN)
    book.run(5)
    book.page.wait_for_function(DRAWN, arg=view.element_handle())
    seen = book.page.evaluate("window.firstSeen")
    assert "2024-01-01" in seen and "1970" not in seen, "a chart is shown before it is filled"
    assert book.page.locator(LIVE).count() == 1
    assert book.errors == []


@slow
@in_notebook_7
def test_a_view_is_saved_from_its_menu_and_the_page_needs_no_kernel(book, chromium, tmp_path):
    book, view = book()
    files = {}
    for form in ("png", "svg", "html"):
        with book.page.expect_download() as coming:
            view.locator(".js-save").select_option(form)
        files[form] = tmp_path / coming.value.suggested_filename
        coming.value.save_as(files[form])
        assert files[form].name == f"top.{form}"
    assert Image.open(io.BytesIO(files["png"].read_bytes())).width > 500
    assert files["svg"].read_text().lstrip().startswith("<svg")
    drawn = view.evaluate(SHOWN)["sources"]
    page = chromium.new_page()
    page.route("http*://**", lambda route: route.abort())
    page.goto(files["html"].as_uri())
    alone = page.locator(f"{LIVE}[data-key]")
    alone.wait_for()
    page.wait_for_function(DRAWN, arg=alone.element_handle())
    assert alone.evaluate(SHOWN)["sources"] == drawn
    x, y = page.evaluate(AT, [alone.element_handle(), 1, 0])
    page.mouse.move(x - 3, y - 3)
    page.mouse.move(x, y)
    alone.locator(".js-tip:not(.js-card)").wait_for(state="visible")
    assert page.evaluate(HURT) == 0
    page.close()


@slow
def test_a_chart_follows_the_theme(book):
    book, view = book()
    light = view.evaluate(SHOWN)["ink"]
    book.theme("Dark")
    book.page.wait_for_function(
        "([el, shown, old]) => eval(shown)(el).ink !== old", arg=[view.element_handle(), SHOWN, light]
    )
    for ink, dark in ((light, False), (view.evaluate(SHOWN)["ink"], True)):
        channels = [int(part) for part in ink[ink.index("(") + 1 : -1].split(",")[:3]]
        assert (sum(channels) > 382) is dark, ink
    book.theme("Light")
    book.page.wait_for_function(
        "([el, shown, old]) => eval(shown)(el).ink === old", arg=[view.element_handle(), SHOWN, light]
    )


FINISHED = """from demo import Demo
from jupyter_stream import views
ended = Demo(name='ended', shape='number').advance(20)
ended.finish()
views.display(ended);"""


@slow
@in_notebook_7
def test_a_view_says_when_nothing_comes_and_when_its_kernel_has_gone(book):
    book, view = book(FINISHED)
    book.run(2)
    finished = book.live(2)
    finished.locator(".js-state").get_by_text("finished", exact=True).wait_for()
    memory = finished.locator(".js-reading[data-label=state] .js-value")
    assert memory.inner_text() != "–"
    cut = """el => {
      const store = globalThis.__jupyterStreamPage.stores.get(el.dataset.key);
      store.lost(false);
      return store.gone;
    }"""
    assert finished.evaluate(cut) == "cut"  # the line alone: the kernel is asked, and answers
    back = "el => globalThis.__jupyterStreamPage.stores.get(el.dataset.key).gone === false"
    book.until(lambda: finished.evaluate(back), "the view knows that the kernel is there")
    finished.locator(".js-state").get_by_text("finished", exact=True).wait_for()
    pill, rates = view.locator(".js-state"), view.locator(".js-reading[data-label=in] .js-value")
    held = """([el, way]) => {
      const store = globalThis.__jupyterStreamPage.stores.get(el.dataset.key);
      store.model[way]('msg:custom', store.onMessage);
    }"""
    book.page.evaluate(held, [view.element_handle(), "off"])
    pill.get_by_text("no answer", exact=True).wait_for()
    book.until(lambda: rates.inner_text() == "–", "no rate is shown")
    book.page.evaluate(held, [view.element_handle(), "on"])
    pill.get_by_text("running", exact=True).wait_for()
    book.until(lambda: rates.inner_text().endswith("/s"), "a rate is shown")

    book.page.get_by_role("menuitem", name="Kernel", exact=True).click()
    book.page.get_by_text("Restart Kernel…", exact=True).first.click()
    book.page.locator("dialog .jp-mod-accept").click()
    pill.get_by_text("kernel gone: run the cell again", exact=True).wait_for()
    assert rates.inner_text() == "–"
    assert "as it was at" in view.locator(".js-note").inner_text()
    assert not view.locator(".js-buttons").is_visible()
    assert view.evaluate(SHOWN)["sources"][1]["y"]
    # so does one whose query had ended: what it counted stays, what is of the moment goes
    finished.scroll_into_view_if_needed()  # off the screen nothing is drawn
    finished.locator(".js-state").get_by_text("kernel gone: run the cell again", exact=True).wait_for()
    assert memory.inner_text() == "–"
    assert finished.locator(".js-reading[data-label=in] .js-value").inner_text() != "–"
    assert finished.locator(".js-note").inner_text().startswith("finished, as it was at ")
    assert not finished.locator(".js-buttons").is_visible()
    idle = "() => document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status === 'idle'"
    book.page.wait_for_function(idle)  # a kernel that begins can't be ended
