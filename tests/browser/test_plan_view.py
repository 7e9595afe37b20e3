"""The plan view in a real page: the drawing, a look into an operator, a change of a setting, and the saved picture."""

SETUP = """import numpy as np, polars as pl
rows = pl.DataFrame({"symbol": ["a", "<img src=x onerror=window.wrong=1>"] * 200_000, "price": np.arange(400_000) % 17 * 1.0,
                     "ts": pl.Series(np.arange(400_000) * 100_000).cast(pl.Datetime("us"))})
%load_ext jupyter_stream"""
QUERY = """%%stream hot --quiet
CREATE STREAM trades (symbol STRING, price DOUBLE, ts TIMESTAMP) ORDER BY ts SOURCE 'frame://rows' WITH (rate = '5000/s');
SELECT symbol, avg(price) AS price FROM trades [RANGE 1 HOUR SLIDE 1 MINUTE] WHERE price < 12 GROUP BY symbol"""
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
    field = view.locator("input[name=most_rows]")
    field.wait_for(timeout=60_000)
    field.fill("1234")
    view.locator("form:has(input[name=most_rows]) button").click()
    view.get_by_text("most_rows is 1234 now").wait_for(timeout=60_000)
    assert page.evaluate("window.wrong") is None and book.errors == []
    view.screenshot(path=str(tmp_path / "plan.png"))


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
