"""The plan view in a real page: the drawing, a look into an operator, a change of a setting, and the saved picture."""

SETUP = """import numpy as np, polars as pl
rows = pl.DataFrame({"symbol": ["a", "<img src=x onerror=window.wrong=1>"] * 200_000, "price": np.arange(400_000) % 17 * 1.0,
                     "ts": pl.Series(np.arange(400_000) * 100_000).cast(pl.Datetime("us"))})
%load_ext jupyter_stream"""
QUERY = """%%stream hot --quiet
CREATE STREAM trades (symbol STRING, price DOUBLE, ts TIMESTAMP) ORDER BY ts SOURCE 'frame://rows' WITH (rate = '5000/s');
SELECT symbol, avg(price) AS price FROM trades [RANGE 1 HOUR SLIDE 1 MINUTE] WHERE price < 12 GROUP BY symbol"""
DISTINCT = """%%stream hot --quiet
CREATE STREAM trades (symbol STRING, price DOUBLE, ts TIMESTAMP) ORDER BY ts SOURCE 'frame://rows' WITH (rate = '5000/s');
SELECT DISTINCT price FROM trades [RANGE 1 HOUR]"""
BUDGETED = """%%stream few --quiet --budget 1%
CREATE SUMMARY seen ON trades (price) WITH GRANULARITY 1 MINUTE AND COLLAPSE (4, 3);
SELECT symbol, price FROM trades WHERE price < 12 WITH PREFERENCE WEIGHTED SUMMARY.Estimate.Count(price)"""
PLAN = ".jupyter-stream-plan"


def test_a_plan_is_drawn_live_and_can_be_looked_into_while_a_cell_sleeps(open_notebook, tmp_path):
    book = open_notebook("plan.ipynb", [SETUP, QUERY, "%stream plan hot", "import time; time.sleep(60)"])
    book.run_all()
    page, view = book.page, book.cell(2).locator(PLAN)
    view.locator("[data-node='operator 0']").wait_for(timeout=150_000)
    text = view.locator("svg").text_content
    first = text()
    assert "filter (price < 12" in first and "answers of hot" in first and "scan trades" in first
    page.wait_for_function("t => document.querySelector('.jupyter-stream-plan svg').textContent !== t", arg=first)
    page.wait_for_function(
        "() => /rows, [^ ]+( k)?\\/s/.test(document.querySelector('.jupyter-stream-plan svg').textContent)"
    )
    assert "[*]" in book.cell(3).inner_text()  # a cell sleeps, and clicks answer all the same
    view.locator("[data-node='operator 1']").click()
    view.get_by_text("head of its state").wait_for(timeout=60_000)
    panel = view.locator(".jupyter-stream-plan-panel")
    assert "open panes" in panel.inner_text() and "<img src=x" in panel.inner_text()
    view.locator("[data-node='source 0']").click()
    _write(view, "most_rows", "1234")
    view.get_by_text("most_rows is 1234 now").wait_for(timeout=60_000)
    view.locator("[data-node='result']").click()
    view.get_by_text("newest answers").wait_for(timeout=60_000)
    assert page.evaluate("window.wrong") is None and book.errors == []
    view.screenshot(path=str(tmp_path / "plan.png"))


def test_settings_are_changed_in_the_page_and_the_query_goes_on_so(open_notebook, tmp_path):
    told = "print({k: v[0] for n in hot.diagram().nodes + few.diagram().nodes for k, v in n.settings.items()})"
    cells = [SETUP, DISTINCT, "%stream plan hot", BUDGETED, "%stream plan few", told]
    book = open_notebook("settings.ipynb", cells)
    book.run_all()
    distinct, few = book.cell(2).locator(PLAN), book.cell(4).locator(PLAN)
    distinct.locator("[data-node]", has_text="δ*").wait_for(timeout=150_000)
    distinct.locator("[data-node]", has_text="δ*").click()
    distinct.get_by_text("10 expiry partitions").wait_for(timeout=60_000)
    _write(distinct, "partitions", "25")
    distinct.get_by_text("partitions is 25 now").wait_for(timeout=60_000)
    distinct.get_by_text("25 expiry partitions").wait_for(timeout=60_000)
    few.locator("[data-node]", has_text="promising rows").first.click()
    for name, value in (("budget", "30%"), ("weight", "3"), ("memory_limit", "32 MB")):
        _write(few, name, value)
        few.get_by_text(f"{name} is {value} now").wait_for(timeout=60_000)
    _write(few, "budget", "a lot")
    few.get_by_text("'a lot' is no budget").wait_for(timeout=60_000)
    distinct.screenshot(path=str(tmp_path / "partitions.png"))
    few.screenshot(path=str(tmp_path / "budget.png"))
    book.run(5)
    book.cell(5).get_by_text("'partitions': 25").wait_for(timeout=60_000)
    book.cell(5).get_by_text("'budget': '30% of one core', 'weight': 3.0, 'memory_limit': 32000000").wait_for(
        timeout=5_000
    )
    assert book.errors == []


def _write(view, name, value):
    field = view.locator(f"input[name={name}]")
    field.wait_for(timeout=60_000)
    field.fill(value)
    view.locator(f"form:has(input[name={name}]) button").click()


def test_a_saved_notebook_keeps_the_plans_picture(open_notebook):
    book = open_notebook("saved_plan.ipynb", [SETUP, QUERY, "hot.plan"])
    book.run_all()
    book.cell(2).locator(f"{PLAN} svg").wait_for(timeout=150_000)
    book.wait_idle()
    book.save()
    outputs = book.lab.read("saved_plan.ipynb").cells[2].outputs
    saved = next(o.data for o in outputs if "text/html" in o.data)
    assert "data:image/svg+xml;base64," in saved["text/html"]
    assert "scan trades" in saved["text/plain"]
