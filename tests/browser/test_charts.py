"""Every chart kind in a real page: it draws what the rows say. Dashboards, clicks, files, text that looks like markup."""

import urllib.request

import pytest
from lab import IN_LAB, IN_NOTEBOOK, Notebook

from jupyter_stream.views.heatmap import SHADES
from tests.tiers import slow
from tests.views.demo import Demo

DEMO = "from demo import Demo\nfrom jupyter_stream import views\nfrom jupyter_stream.views import ViewOptions as V\n"
LIVE = ".jupyter-stream-live"
EVIL = '<img src=x onerror="window.hurt=1">\'"&</script><script>window.hurt=1</script>'

KINDS = {
    "line": {},
    "area": {"chart": "area"},
    "bar": {"chart": "bar"},
    "scatter": {"chart": "scatter", "x": "n"},
    "heatmap": {"chart": "heatmap"},
    "table": {"chart": "table", "top": 3},
    "number": {"chart": "number"},
    "multiples": {"multiples": True},
}
ALL = DEMO + (
    "queries = [Demo(name=n, keys=('a', 'b')).advance(6) for n in KINDS]\n"
    "for q, o in zip(queries, KINDS.values()): views.change(q, **o)\nviews.dashboard(queries)"
)

DRAWN = """() => {
  const plain = v => ArrayBuffer.isView(v) ? Array.from(v) : Array.isArray(v) ? v.map(plain) : v;
  const found = {};
  if (!globalThis.__jupyterStreamPage) return null;
  for (const store of globalThis.__jupyterStreamPage.stores.values()) {
    const [view] = store.views;
    if (!store.head || !view) return null;
    const { kind, name } = store.head;
    if (view.stage.dataset.kind !== kind) return null;
    if (kind === 'plot' && (!view.plots.length || view.plots.some(p => !p.figure || !p.sources.length))) return null;
    found[name] = {
      kind, plots: view.plots.map(p => ({
        title: p.title.textContent, x: p.figure.x_range.properties.start ? [p.figure.x_range.start, p.figure.x_range.end] : null,
        sources: p.sources.map(s => Object.fromEntries(Object.entries(s.data).map(([k, v]) => [k, plain(v)]))),
      })),
      text: view.stage.innerText,
    };
  }
  const filled = Object.values(found).every(f => f.plots.every(p => Object.values(p.sources[0])[0].length));
  return Object.keys(found).length === COUNT && filled ? found : null;
}"""

SETTLED = """el => {
  const page = globalThis.__jupyterStreamPage;
  const [view] = page?.stores.get(el.dataset.key)?.views ?? [];
  return view?.onScreen && !view.building && !page.dirty.has(view);
}"""


def drawn(page, count):
    """What all views of the page have drawn, by name, once they have."""
    handle = page.wait_for_function(DRAWN.replace("COUNT", str(count)))
    return handle.json_value()


def settled(book):
    """Until each view has been on the screen and has drawn what it heard, also of the others."""
    for view in book.page.locator(LIVE).all():
        view.scroll_into_view_if_needed()
        book.page.wait_for_function(SETTLED, arg=view.element_handle())


def expected():
    """The demo's rows: (milliseconds, key, speed, n, final)."""
    snapshot = Demo(keys=("a", "b")).advance(6).snapshot()
    rows = snapshot.rows.with_columns(snapshot.rows["window_end"].dt.timestamp("ms").alias("at"))
    return list(zip(rows["at"], rows["place"], rows["speed"], rows["n"], snapshot.final, strict=True))


@slow
@IN_NOTEBOOK
def test_one_query_stands_in_two_charts_on_a_dashboard(open_notebook, frontend):
    cell = "q = Demo(name='one', keys=('a', 'b')).advance(6)\nviews.dashboard([views.panel(q, 'line'), views.panel(q, 'table')])"
    book = open_notebook("both.ipynb", [DEMO + cell], frontend)
    book.run(0)
    kinds = "[...document.querySelectorAll('.js-stage')].map(e => e.dataset.kind).join()"
    book.page.wait_for_function(f"() => {kinds} === 'plot,table'")


@slow
@IN_LAB
def test_every_chart_draws_the_rows_and_a_dashboard_moves_as_one(open_notebook, frontend):
    cells = [ALL.replace("KINDS", repr(KINDS)), "print(queries[5].name, views.selected(queries[5]))"]
    book = open_notebook("kinds.ipynb", cells, frontend)
    book.run(0)
    found = drawn(book.page, len(KINDS))
    rows = expected()
    points = sorted((at, round(speed, 6)) for at, _, speed, _, _ in rows)

    def shown(name, layer, x="x", y="y", plot=0):
        data = found[name]["plots"][plot]["sources"][layer]
        return sorted((a, round(b, 6)) for a, b in zip(data[x], data[y], strict=True))

    assert shown("line", 1) == points
    assert sum(map(len, found["line"]["plots"][0]["sources"][0]["xs"])) >= len(points)
    tops = dict(shown("area", 2))  # the last of a time is the highest: areas stand on one another
    assert tops == {at: pytest.approx(sum(y for x, y in points if x == at), abs=1e-4) for at in dict(points)}
    assert shown("scatter", 0) == sorted((n, round(speed, 6)) for _, _, speed, n, _ in rows)
    assert [y for _, y in shown("bar", 0, "left", "top")] == [round(r[2], 6) for r in rows[-2:]]
    cells = found["heatmap"]["plots"][0]["sources"][0]
    shades = [SHADES.index(colour) for _, colour in sorted(zip(cells["row"], cells["color"], strict=True))]
    assert len(shades) == len(rows) and set(shades) >= {0, len(SHADES) - 1}
    by_speed = [shade for _, shade in sorted((row[2], shade) for row, shade in zip(rows, shades, strict=True))]
    assert by_speed == sorted(shades)
    assert [plot["title"] for plot in found["multiples"]["plots"]] == ["a", "b"]
    assert shown("multiples", 1, plot=1) == sorted((at, round(s, 6)) for at, key, s, _, _ in rows if key == "b")
    largest = sorted((r[2] for r in rows), reverse=True)[:3]
    assert all(f"{value:.6g}" in found["table"]["text"] for value in largest)
    assert f"{rows[-1][2]:.6g}"[:5] in found["number"]["text"]
    past = book.page.locator(".js-number:visible .js-spark .js-over").first.get_attribute("d")
    assert past.count("L") == len([r for r in rows if r[1] == "a"]) - 1
    # what is not final is lighter
    light = dict(
        zip(
            found["line"]["plots"][0]["sources"][1]["row"],
            found["line"]["plots"][0]["sources"][1]["alpha"],
            strict=True,
        )
    )
    assert all((light[i] == 1) == final for i, (*_, final) in enumerate(rows))
    # one time axis, once all that have heard of the last one's times have been on the screen
    settled(book)
    found = drawn(book.page, len(KINDS))
    over_time = ("line", "area", "heatmap", "multiples")
    assert len({tuple(plot["x"]) for name in over_time for plot in found[name]["plots"]}) == 1
    # zooming one zooms all, and a double click lets go
    view = book.page.locator(LIVE).first
    view.scroll_into_view_if_needed()
    box = view.locator(".js-figure-box").bounding_box()
    book.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60)
    book.page.keyboard.down("Control")
    book.page.mouse.wheel(0, -400)
    book.page.keyboard.up("Control")
    book.page.wait_for_function("() => document.querySelector('.js-note')?.textContent.includes('zoomed')")
    settled(book)
    zoomed = drawn(book.page, len(KINDS))
    spans = {tuple(plot["x"]) for name in over_time for plot in zoomed[name]["plots"]}
    assert len(spans) == 1 and spans != {tuple(found["line"]["plots"][0]["x"])}
    # headings sort, a click on a row selects it
    table = book.page.locator(".js-table:visible")
    table.get_by_text("speed", exact=True).click()
    table.get_by_text("speed", exact=True).click()
    book.page.wait_for_function("() => document.querySelector('.js-table th[aria-sort=ascending]')")
    cells = [float(c) for c in table.locator("tbody td:nth-child(4)").all_inner_texts()]
    assert cells == sorted(cells) and len(cells) == 3
    table.locator("tbody tr").first.click()
    book.page.get_by_text("table.selected has 1 row").wait_for()
    book.run(1)
    book.wait_idle()
    assert "shape: (1, 5)" in book.cell(1).inner_text()
    assert book.errors == []


@slow
@IN_NOTEBOOK
def test_markup_in_names_and_values_is_text_everywhere_also_in_a_page_without_kernel(
    open_notebook, chromium, lab, frontend
):
    cells = [
        DEMO + f"EVIL = {EVIL!r}\nkeys = (EVIL, 'x' * 10_000)\n"
        "made = [Demo(name=EVIL, keys=keys, units={'speed': EVIL}).advance(4) for _ in range(4)]\n"
        "made[0].error = made[1].hint = EVIL\n"
        "for q, o in zip(made, (dict(), dict(chart='table'), dict(multiples=True), dict(chart='number'))): views.change(q, **o)\n"
        "views.dashboard(made)\nviews.save(made[0], 'evil.html');",
    ]  # fmt: skip
    book = open_notebook("evil.ipynb", cells, frontend)
    book.run(0)
    book.page.wait_for_function(f"() => document.querySelectorAll('{LIVE}[data-rows=\"8\"]').length === 4")
    book.wait_idle()
    box = book.page.locator(LIVE).first.locator(".js-figure-box").bounding_box()
    for x in range(10, 90, 4):
        book.page.mouse.move(box["x"] + box["width"] * x / 100, box["y"] + box["height"] * 0.5)
    assert book.page.evaluate("() => window.hurt") is None
    assert book.page.locator(f"{LIVE} img, {LIVE} script").count() == 0
    assert EVIL[:20] in book.page.locator(LIVE).first.inner_text()
    assert book.errors == []

    page = chromium.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.route("http*://**", lambda route: route.abort())
    page.goto((lab.root / "evil.html").as_uri())
    page.wait_for_selector(f"{LIVE}[data-rows='8'] .js-figure-box *")
    assert page.evaluate("() => window.hurt") is None
    assert EVIL[:20] in page.locator(".js-name").inner_text()
    page.locator(".js-series-entry").first.click()
    page.wait_for_selector(".js-series-entry.js-hidden")
    assert page.get_by_text("Stop", exact=True).count() == 0 or not page.get_by_text("Stop", exact=True).is_visible()
    assert errors == []
    page.close()


OTHER = """key => {
  const live = document.querySelector('.jupyter-stream-live')?.dataset;
  return live?.rows > 0 && live.key !== key;
}"""

GIVE_UP = "e => { e.textContent = 'Error displaying widget: model not found'; }"


def ask(lab, what):
    kernel = lab.kernels()[0]
    request = urllib.request.Request(f"{lab.url}/api/kernels/{kernel}/{what}?token=t", method="POST", data=b"{}")
    urllib.request.urlopen(request)


@slow
@IN_LAB
def test_an_interrupt_leaves_a_query_running_tabs_come_and_go_and_a_restart_lets_the_cell_run_again(
    open_notebook, lab, chromium, frontend
):
    cell = DEMO + "query = Demo(keys=['k']).run(0.2)\nviews.display(query);"
    book = open_notebook("tabs.ipynb", [cell, "import time\nprint('asleep')\ntime.sleep(10_000)"], frontend)
    book.run_all()
    book.live(0).wait_for()
    grown = "n => [...document.querySelectorAll('.jupyter-stream-live')].some(e => +e.dataset.rows > n)"
    book.page.wait_for_function(grown, arg=3)
    book.cell(1).get_by_text("asleep", exact=True).wait_for()
    ask(lab, "interrupt")
    book.wait_idle()
    at = int(book.live(0).get_attribute("data-rows"))
    book.page.wait_for_function(grown, arg=at + 3)
    book.save()
    # a busy page may give a widget up that comes just then: ours is asked for again
    book.page.locator(".jp-OutputArea-output:has(.jupyter-stream-live)").evaluate(GIVE_UP)
    book.live(0).wait_for()
    book.page.wait_for_function(grown, arg=at + 4)

    # another tab on the same notebook, then the first one closed
    def tab():
        return Notebook(chromium.new_page(viewport={"width": 1200, "height": 1000}), lab, "tabs.ipynb", frontend)

    second = tab()
    second.live(0).wait_for()
    second.page.wait_for_function(grown, arg=at + 5)
    rows = int(book.live(0).get_attribute("data-rows"))
    second.page.wait_for_function(grown, arg=rows - 1)
    rows = int(second.live(0).get_attribute("data-rows"))
    book.page.wait_for_function(grown, arg=rows + 2)
    book.page.close()
    second.page.wait_for_function(grown, arg=rows + 6)
    # all tabs closed, and the notebook opened again: the query went on meanwhile
    rows = int(second.live(0).get_attribute("data-rows"))
    second.page.close()
    second = tab()
    second.live(0).wait_for()
    second.page.wait_for_function(grown, arg=rows + 2)
    key = second.live(0).get_attribute("data-key")
    ask(lab, "restart")
    second.live(0).get_by_text("kernel gone: run the cell again", exact=True).wait_for()
    second.run(0)
    second.page.wait_for_function(OTHER, arg=key)
    second.page.close()


@slow
def test_a_chart_draws_pauses_and_stops_in_notebook_7_while_a_cell_sleeps(open_notebook):
    cells = [DEMO + "query = Demo().run()\nviews.display(query);", "import time\ntime.sleep(10_000)"]
    book = open_notebook("seven.ipynb", cells, "notebook")
    book.run_all()
    book.live(0).wait_for()
    book.page.wait_for_function(f"() => +document.querySelector('{LIVE}')?.dataset.rows > 12")
    assert drawn(book.page, 1)["demo"]["kind"] == "plot"
    for press, state in (("Pause", "paused"), ("Resume", "running"), ("Stop", "stopped")):
        book.live(0).get_by_text(press, exact=True).click()
        book.page.wait_for_selector(f"{LIVE}[data-state={state}]")
    assert "[*]" in book.cell(1).inner_text()
    assert book.errors == []


FOUR = """%load_ext jupyter_stream
import datetime as dt, time
def ticks():
    for i in range(1_000_000):
        time.sleep(0.02)
        yield {"k": "ab"[i % 2], "v": i % 9, "at": dt.datetime(2024, 1, 1) + dt.timedelta(seconds=i)}"""
STREAM = """%%stream --quiet one
CREATE STREAM ticks (k STRING, v BIGINT, at TIMESTAMP) ORDER BY at SOURCE 'python://ticks';
SELECT window_end, k, avg(v) AS mean FROM ticks [RANGE 10 SECONDS SLIDE 10 SECONDS] GROUP BY k"""
OTHERS = """%%stream --quiet two
SELECT window_end, k, count(*) AS n FROM ticks [RANGE 30 SECONDS SLIDE 10 SECONDS] GROUP BY k"""
DASHBOARD = "%%dashboard\none --chart line\none --chart table --top 3\ntwo --chart area\ntwo --chart number"


ONE_AXIS = """() => {
  const views = [...globalThis.__jupyterStreamPage.stores.values()].flatMap(store => [...store.views]);
  const axes = views.filter(view => view.filled).map(view => view.plots[0].figure.x_range);
  return axes.length === 2 && axes[0].start === axes[1].start && axes[0].end === axes[1].end;
}"""
"""Whether the two plots stand on the same axis: one is drawn a frame after the other, so that they seldom do not."""


@slow
@IN_LAB
def test_a_dashboard_of_four_is_live_on_one_time_axis_and_its_buttons_stop_one_query_alone(open_notebook, frontend):
    book = open_notebook("four.ipynb", [FOUR, STREAM, OTHERS, DASHBOARD], frontend)
    book.run_all()
    kinds = "[...document.querySelectorAll('.jupyter-stream-dashboard .js-stage')].map(e => e.dataset.kind).join()"
    book.page.wait_for_function(f"() => {kinds} === 'plot,table,plot,number'")
    panels = book.page.locator(f".jupyter-stream-dashboard {LIVE}")
    rows = "([el, n]) => +el.dataset.rows > n"
    for i in range(4):
        panel = panels.nth(i)
        book.page.wait_for_function(rows, arg=[panel.element_handle(), int(panel.get_attribute("data-rows"))])
    book.page.wait_for_function(ONE_AXIS)
    panels.nth(1).get_by_text("Stop", exact=True).click()
    for i, state in enumerate(("stopped", "stopped", "running", "running")):  # the first two are of one query
        book.page.wait_for_function(
            "([el, state]) => el.dataset.state === state", arg=[panels.nth(i).element_handle(), state]
        )
    at = int(panels.nth(2).get_attribute("data-rows"))
    book.page.wait_for_function(rows, arg=[panels.nth(2).element_handle(), at])
    assert book.errors == []


@slow
def test_changed_cells_of_a_table_light_up_and_no_others(open_notebook):
    cells = [
        DEMO
        + "q = Demo(keys=('a', 'b', 'c'), shape='keys').advance(2)\nviews.change(q, chart='table')\nviews.display(q);",
        "q.advance();",
    ]
    book = open_notebook("flash.ipynb", cells)
    book.run(0)
    view = book.live(0)
    view.locator("td").first.wait_for()
    book.page.evaluate(
        """() => {
      window.lit = [];
      const animate = Element.prototype.animate;
      Element.prototype.animate = function (...all) {
        if (this.closest('.js-table')) window.lit.push(this.textContent);
        return animate.apply(this, all);
      };
    }"""
    )
    book.run(1)
    book.page.wait_for_function("() => window.lit.length > 0")
    numbers = [int(text) for text in view.locator("td.js-right").all_inner_texts()]
    assert sorted(map(int, book.page.evaluate("() => window.lit"))) == sorted(numbers) == [6, 9, 12]
