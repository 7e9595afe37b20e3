"""Makes the pictures of tutorials/reference/charts.md in a real JupyterLab, light and dark: `python tests/browser/pictures.py`.

The queries are the demo queries of the views' tests: the same rows every time. `live-view` is README's picture, of tutorial 1.
"""

import io
import sys
import tempfile
from pathlib import Path

import nbformat
from lab import ARGUMENTS, VIEWS, Lab, Notebook, browser_path
from PIL import Image
from playwright.sync_api import sync_playwright

TUTORIALS = Path(__file__).parents[2] / "tutorials"
TUTORIAL = TUTORIALS / "01-first-light.ipynb"
PICTURES = TUTORIALS / "reference" / "pictures"
LIVE = ".jupyter-stream-live"
ROWS = 260
"""Answers of README's query in three days."""
START = """
from demo import Demo
from jupyter_stream import views
from jupyter_stream.views import ViewOptions as V
PLACES = ("east", "north", "south", "west")
def show(name, shape="window", steps=40, **options):
    query = Demo(name=name, shape=shape, keys=PLACES).advance(steps)
    views.display(query, V(**options))
    return query
"""
CROSS = """el => {
  const store = globalThis.__jupyterStreamPage.stores.get(el.dataset.key);
  const plot = [...store.views][0].plots[0];
  const { data } = plot.sources[plot.sources.length - 1];
  const { xscale, yscale } = plot.figureView.frame.x_scale
    ? { xscale: plot.figureView.frame.x_scale, yscale: plot.figureView.frame.y_scale } : {};
  return [xscale.compute(data.x[0]), yscale.compute(data.y[0])];
}"""
QUIET = """() => {
  const page = globalThis.__jupyterStreamPage;
  const seen = [...page.stores.values()].flatMap(store => [...store.views]).filter(view => view.onScreen);
  const filled = view => view.plots.length && view.plots.every(plot => !plot.el.style.visibility);
  const told = view => view.store.head?.rowCount > 0 && view.stage.dataset.kind;
  const drawn = view => !page.dirty.has(view) && !view.building && (view.stage.dataset.kind !== 'plot' || filled(view));
  return seen.length && seen.every(view => told(view) && drawn(view));
}"""
LATE = """
import datetime as dt, time, jupyter_stream
def cars():
    start = dt.datetime(2024, 1, 1, 12)
    for i in range(240):
        late = 40 if i in (130, 171, 205) else 0
        yield {"road": "A8" if i % 2 else "B27", "speed": 60 + 25 * (i % 7) / 7 + 20 * (i % 2) + i / 12 + late,
               "at": start + dt.timedelta(seconds=i - late)}
    time.sleep(600)
session = jupyter_stream.Session(namespace=globals())
session.execute("CREATE STREAM cars (road STRING, speed DOUBLE, at TIMESTAMP) ORDER BY at SOURCE 'python://cars'")
top_speed = session.execute(
    "SELECT window_end, road, max(speed) AS top, count(*) AS n FROM cars "
    "[RANGE 20 SECONDS SLIDE 10 SECONDS] GROUP BY road", name="top_speed")[0]
top_speed.chart("line")
time.sleep(3)
top_speed
"""
KINDS = {
    "line": "line = show('speed_by_road')",
    "area": "show('traffic', chart='area', by='none', shape='total')",
    "bar": "bars = show('cars', shape='keys')",
    "bar-over-time": "show('cars_a_window', chart='bar', x='window_end', y='n', steps=12)",
    "scatter": "show('speed_and_cars', chart='scatter', x='n', y='speed')",
    "heatmap": "heat = show('speed_map', chart='heatmap')",
    "table": "fastest = show('fastest', chart='table', top=8)",
    "number": "show('now', chart='number')",
    "multiples": "show('each_road', multiples=True)",
    "late": LATE,
    "dashboard": "views.dashboard([line, bars, heat, fastest])",
}


def small(png, width=1000):
    """The picture in 128 colours: a fifth of the bytes, and no difference to the eye."""
    image = Image.open(io.BytesIO(png)).convert("RGB")
    if image.width > width:
        image = image.resize((width, round(image.height * width / image.width)), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    image.quantize(128, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


def point_at_a_cross(page, view):
    """Show what the first cross of a chart says."""
    box = view.locator(".js-figure-box").first.bounding_box()
    x, y = view.evaluate(CROSS)
    page.mouse.move(box["x"] + x - 3, box["y"] + y - 3)
    page.mouse.move(box["x"] + x, box["y"] + y)
    page.wait_for_timeout(500)


def live_view(lab, browser):
    """README's picture: the first live chart of tutorial 1 after three days of flights, with its cell."""
    cells = [c.source for c in nbformat.read(TUTORIAL, as_version=4).cells if c.cell_type == "code"]
    first = next(i for i, source in enumerate(cells) if source.startswith("%%stream") and "SELECT" in source)
    lab.write("first.ipynb", cells[: first + 1])
    page = browser.new_page(viewport={"width": 1280, "height": 1000}, device_scale_factor=1.5)
    book = Notebook(page, lab, "first.ipynb")
    page.keyboard.press("Control+b")  # the file browser makes room
    book.run_all()
    page.wait_for_function(f"n => +document.querySelector('{LIVE}')?.dataset.rows > n", arg=ROWS, timeout=300_000)
    page.mouse.move(5, 400)
    page.wait_for_timeout(500)
    (PICTURES / "live-view.png").write_bytes(small(book.cell(first).screenshot(), width=1400))
    page.close()


def main():
    """Make them all, or those named."""
    chosen = sys.argv[1:] or [*KINDS, "live-view"]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        lab = Lab(Path(folder), windowed=False)
        browser = playwright.chromium.launch(executable_path=browser_path(), args=list(ARGUMENTS))
        try:
            if "live-view" in chosen:
                live_view(lab, browser)
                chosen.remove("live-view")
            if not chosen:
                return
            lab.write("pictures.ipynb", [START, *KINDS.values()])
            page = browser.new_page(viewport={"width": 1280, "height": 1000})
            book = Notebook(page, lab, "pictures.ipynb")
            book.run_all()
            book.wait_idle()
            print("drawn", flush=True)
            for theme in ("Light", "Dark"):
                book.theme(theme)
                page.mouse.move(5, 400)
                page.wait_for_timeout(2_000)
                for name in chosen:
                    cell = book.cell(1 + list(KINDS).index(name))
                    shown = cell.locator(".jupyter-stream-dashboard, .jupyter-stream-live").first
                    shown.scroll_into_view_if_needed()
                    page.wait_for_function(QUIET)
                    page.wait_for_timeout(500)
                    if name == "late":
                        point_at_a_cross(page, shown)
                    file = PICTURES / f"chart-{name}-{theme.lower()}.png"
                    file.write_bytes(small(shown.screenshot()))
                    print(file.name, file.stat().st_size, flush=True)
            if book.errors:
                sys.exit("\n".join(book.errors))
        finally:
            browser.close()
            lab.close()


if __name__ == "__main__":
    assert VIEWS.is_dir()
    main()
