"""The plan view in a real page: the drawing, a look into an operator, a change of a setting, and the saved picture."""

import json

from lab import IN_NOTEBOOK

from jupyter_stream.views.words import count, size
from tests.tiers import slow

SETUP = """import numpy as np, polars as pl
rows = pl.DataFrame({"symbol": ["a", "<img src=x onerror=window.wrong=1>"] * 200_000, "price": np.arange(400_000) % 17 * 1.0,
                     "ts": pl.Series(np.arange(400_000) * 100_000).cast(pl.Datetime("us"))})
%load_ext jupyter_stream"""
QUERY = """%%stream hot --quiet
CREATE STREAM trades (symbol STRING, price DOUBLE, ts TIMESTAMP) ORDER BY ts SOURCE 'frame://rows' WITH (rate = '500/s');
SELECT symbol, avg(price) AS price FROM trades [RANGE 1 HOUR SLIDE 1 MINUTE] WHERE price < 12 GROUP BY symbol"""
DISTINCT = """%%stream hot --quiet
CREATE STREAM trades (symbol STRING, price DOUBLE, ts TIMESTAMP) ORDER BY ts SOURCE 'frame://rows' WITH (rate = '500/s');
SELECT DISTINCT price FROM trades [RANGE 1 HOUR]"""
BUDGETED = """%%stream few --quiet --budget 1%
CREATE SUMMARY seen ON trades (price) WITH GRANULARITY 1 MINUTE AND COLLAPSE (4, 3);
SELECT symbol, price FROM trades WHERE price < 12 WITH PREFERENCE WEIGHTED SUMMARY.Estimate.Count(price)"""
PLAN = ".jupyter-stream-plan"


@slow
def test_a_plan_is_drawn_live_and_can_be_looked_into_while_a_cell_sleeps(open_notebook, tmp_path):
    book = open_notebook("plan.ipynb", [SETUP, QUERY, "%stream plan hot", "import time; time.sleep(10_000)"])
    book.run_all()
    page, view = book.page, book.cell(2).locator(PLAN)
    view.locator("[data-node='operator 0']").wait_for()
    text = view.locator("svg").text_content
    first = text()
    assert "filter (price < 12" in first and "answers of hot" in first and "scan trades" in first
    page.wait_for_function("t => document.querySelector('.jupyter-stream-plan svg').textContent !== t", arg=first)
    page.wait_for_function(
        "() => /rows, [^ ]+( k)?\\/s/.test(document.querySelector('.jupyter-stream-plan svg').textContent)"
    )
    assert "[*]" in book.cell(3).inner_text()  # a cell sleeps, and clicks answer all the same
    view.locator("[data-node='operator 1']").click()
    view.get_by_text("head of its state").wait_for()
    panel = view.locator(".jupyter-stream-plan-panel")
    assert "open panes" in panel.inner_text() and "<img src=x" in panel.inner_text()
    view.locator("[data-node='source 0']").click()
    _write(view, "most_rows", "1234")
    view.get_by_text("most_rows is 1234 now").wait_for()
    view.locator("[data-node='result']").click()
    view.get_by_text("newest answers").wait_for()
    assert page.evaluate("window.wrong") is None and book.errors == []
    view.screenshot(path=str(tmp_path / "plan.png"))


@slow
def test_settings_are_changed_in_the_page_and_the_query_goes_on_so(open_notebook, tmp_path):
    told = "print({k: v[0] for n in hot.diagram().nodes + few.diagram().nodes for k, v in n.settings.items()})"
    cells = [SETUP, DISTINCT, "%stream plan hot", BUDGETED, "%stream plan few", told]
    book = open_notebook("settings.ipynb", cells)
    book.run_all()
    distinct, few = book.cell(2).locator(PLAN), book.cell(4).locator(PLAN)
    distinct.locator("[data-node]", has_text="δ*").wait_for()
    distinct.locator("[data-node]", has_text="δ*").click()
    distinct.get_by_text("10 expiry partitions").wait_for()
    _write(distinct, "partitions", "25")
    distinct.get_by_text("partitions is 25 now").wait_for()
    distinct.get_by_text("25 expiry partitions").wait_for()
    few.locator("[data-node]", has_text="promising rows").first.click()
    for name, value in (("budget", "30%"), ("weight", "3"), ("memory_limit", "32 MB")):
        _write(few, name, value)
        few.get_by_text(f"{name} is {value} now").wait_for()
    _write(few, "budget", "a lot")
    few.get_by_text("'a lot' is not a budget").wait_for()
    distinct.screenshot(path=str(tmp_path / "partitions.png"))
    few.screenshot(path=str(tmp_path / "budget.png"))
    book.run(5)
    book.cell(5).get_by_text("'partitions': 25").wait_for()
    book.cell(5).get_by_text("'budget': '30% of one core', 'weight': 3.0, 'memory_limit': 32000000").wait_for()
    assert book.errors == []


@slow
def test_a_slow_press_on_a_plan_that_is_drawn_meanwhile_is_a_click(open_notebook):
    book = open_notebook("presses.ipynb", [SETUP, DISTINCT, "%stream plan hot"])
    book.run_all()
    page, view = book.page, book.cell(2).locator(PLAN)
    panel = view.locator(".jupyter-stream-plan-panel")
    box = view.locator("[data-node]", has_text="δ*")
    box.wait_for()
    box.evaluate("box => { window.box = box; }")
    _press(page, box)
    view.locator("input[name=partitions]").fill("25")
    _press(page, view.locator("form:has(input[name=partitions]) button"))
    panel.get_by_text("partitions is 25 now").wait_for()
    # what is half typed, or marked to be copied, stays through the pictures to come
    view.locator("input[name=partitions]").fill("26")
    panel.locator("b").first.evaluate("title => getSelection().selectAllChildren(title)")
    marked = page.evaluate("() => getSelection().toString()")
    _drawn(page, view, 3)
    assert "δ*" in marked and page.evaluate("() => getSelection().toString()") == marked
    assert view.locator("input[name=partitions]").input_value() == "26"
    assert page.evaluate("() => window.box.isConnected") and book.errors == []


def _press(page, on):
    """As a person clicks who takes longer than the view for a picture."""
    on.hover()
    page.mouse.down()
    page.wait_for_timeout(1_500)
    page.mouse.up()


def _drawn(page, view, pictures):
    for _ in range(pictures):
        page.wait_for_function("([view, text]) => view.querySelector('svg').textContent !== text",
                               arg=[view.element_handle(), view.locator("svg").text_content()])  # fmt: skip


def _write(view, name, value):
    field = view.locator(f"input[name={name}]")
    field.wait_for()
    field.fill(value)
    view.locator(f"form:has(input[name={name}]) button").click()


@slow
def test_a_saved_notebook_keeps_the_plans_picture(open_notebook):
    book = open_notebook("saved_plan.ipynb", [SETUP, QUERY, "hot.plan"])
    book.run_all()
    book.cell(2).locator(f"{PLAN} svg").wait_for()
    book.wait_idle()
    book.save()
    outputs = book.lab.read("saved_plan.ipynb").cells[2].outputs
    saved = next(o.data for o in outputs if "text/html" in o.data)
    assert "data:image/svg+xml;base64," in saved["text/html"]
    assert "scan trades" in saved["text/plain"]


TOLD = """import json
diagram, stats = hot.diagram(), hot.stats
print(json.dumps({"nodes": {n.id: n.title for n in diagram.nodes}, "operators": stats["operators"],
                  "in": stats["rows_in"], "out": stats["rows_out"], "flows": [f.rows for f in diagram.flows]}))"""
PANEL = """panel => Object.fromEntries(
  [...panel.querySelector('table').rows].map(row => [row.cells[0].textContent, row.cells[1].textContent]))"""


def figures(panel):
    """What the panel shows of an operator; what it leaves out is nothing."""
    shown = panel.evaluate(PANEL)
    counts = {name: shown.get(name.replace("_", " "), "0") for name in ("rows_in", "rows_out", "live_groups")}
    return {**counts, "bytes": shown.get("bytes", "0 B")}


@slow
@IN_NOTEBOOK
def test_the_counts_of_a_plan_are_the_handles(open_notebook, frontend):
    wait = "import time\nwhile hot.stats['rows_out'] < 1: time.sleep(0.1)\nhot.pause()"
    wait += "\nwhile hot.status != 'paused': time.sleep(0.1)"
    book = open_notebook("counts.ipynb", [SETUP, QUERY, "%stream plan hot", wait, TOLD], frontend)
    book.run_all()
    page, view = book.page, book.cell(2).locator(PLAN)
    view.locator("[data-node='operator 0']").wait_for()
    page.wait_for_function("() => document.querySelector('.jupyter-stream-plan')?.textContent.includes('paused')")
    book.wait_idle()
    told = json.loads(book.cell(4).locator(".jp-OutputArea-output").inner_text())
    assert told["in"] > 0 and told["out"] > 0
    operators = [node for node in told["nodes"] if node.startswith("operator")]
    assert len(operators) == len(told["operators"]) >= 2
    for node, control in zip(operators, told["operators"], strict=True):
        view.locator(f"[data-node='{node}']").click()
        panel = view.locator(".jupyter-stream-plan-panel")
        panel.locator("b").get_by_text(told["nodes"][node], exact=True).wait_for()
        counts = {name: f"{control.get(name, 0):,}" for name in ("rows_in", "rows_out", "live_groups")}
        expected = {**counts, "bytes": size(control["bytes"])}
        book.until(lambda: figures(panel) == expected, f"{node} is drawn as it is: {expected}")  # noqa: B023
    svg, result = view.locator("svg"), view.locator("[data-node=result]")
    book.until(
        lambda: all(f"{count(rows)} rows" in svg.text_content() for rows in told["flows"]), "all flows are drawn"
    )
    book.until(lambda: f"{count(told['out'])} rows" in result.text_content(), "the answers are drawn")
    assert book.errors == []
