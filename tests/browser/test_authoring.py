"""What helps while writing, in a real page: completion, `?`, defaults, and the system view."""

import json
from contextlib import suppress

from lab import IN_BOTH, IN_LAB, IN_NOTEBOOK
from playwright.sync_api import TimeoutError as OutOfTime

from jupyter_stream.views.words import size
from tests.tiers import slow

SETUP = """import itertools, time
import polars as pl
def frames():
    for i in itertools.count():
        time.sleep(0.02)
        yield pl.DataFrame({"symbol": ["a", "b"] * 50, "price": [float(n % 17) for n in range(100)],
                            "ts": pl.Series([i * 1_000_000 + n for n in range(100)]).cast(pl.Datetime("us"))})
ticks = frames()
%load_ext jupyter_stream"""
HOT = """%%stream hot --quiet
CREATE STREAM trades (symbol STRING, price DOUBLE, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS) SOURCE 'python://ticks';
SELECT symbol, avg(price) AS price FROM trades [RANGE 10 SECONDS SLIDE 1 SECOND] GROUP BY symbol"""
WIDE = """%%stream wide --quiet
SELECT DISTINCT price FROM trades [RANGE 1 HOUR] WHERE price > 3"""
STILL = """while wide.stats['rows_out'] < 3 or hot.stats['rows_out'] < 3: time.sleep(0.1)
hot.pause(); wide.pause()
while not hot.status == wide.status == 'paused': time.sleep(0.1)"""
TOLD = """import json
print(json.dumps({q.name: q.stats for q in (hot, wide)}, default=str))"""
TABLES = """cell => [...cell.querySelectorAll('table')].map(table => {
  const [names, ...rows] = [...table.rows].map(row => [...row.cells].map(c => c.textContent.trim()));
  return rows.map(row => Object.fromEntries(row.map((text, i) => [names[i], text])));
})"""
ITEMS = """items => items.map(item =>
  ['match', 'typeExtended'].map(part => item.querySelector(`.jp-Completer-${part}`).textContent))"""


@slow
@IN_NOTEBOOK
def test_the_system_view_says_what_the_handles_say_and_who_has_which_share(open_notebook, frontend):
    book = open_notebook("system.ipynb", [SETUP, HOT, WIDE, STILL, "%stream status", TOLD], frontend)
    book.run_all()
    told_at = book.cell(5).locator(".jp-OutputArea-output")
    told_at.wait_for()
    told = json.loads(told_at.inner_text())
    queries, sources = book.cell(4).element_handle().evaluate(TABLES)
    assert [q["query"] for q in queries] == ["hot", "wide"] and {q["state"] for q in queries} == {"paused"}
    for shown in queries:
        stats = told[shown["query"]]
        assert stats["rows_out"] >= 3
        assert shown["state bytes"] == size(stats["state_bytes"])
        assert [int(shown[f"rows {way}"].replace(",", "")) for way in ("in", "out")] == [
            stats["rows_in"],
            stats["rows_out"],
        ]
    held = [told[q]["state_bytes"] for q in ("hot", "wide")]
    assert [q["memory"] for q in queries] == [f"{part / sum(held):.0%}" for part in held]
    assert sum(int(q["processor"].rstrip("%")) for q in queries) in (99, 100, 101)
    (source,) = sources
    assert (source["source"], source["read by"]) == ("trades", "hot, wide")
    assert float(source["rows per second"].replace(",", "")) > 0
    assert source["watermark lag"] == "5 s" and source["behind the clock"] not in ("", "null")
    assert book.errors == []


@slow
@IN_BOTH
def test_completion_offers_columns_with_types_functions_with_signatures_options_and_values(open_notebook, frontend):
    book = open_notebook("complete.ipynb", [SETUP, HOT, ""], frontend)
    book.run_all()
    book.page.wait_for_function("() => document.querySelectorAll('.jp-InputPrompt')[1].textContent === '[2]:'")

    def offered(text, *wanted):
        """What is offered there. The page waits a second for the kernel, then shows what it knows itself: it is asked again."""
        found = {}

        def is_there():
            book.page.keyboard.press("Escape")
            write(book, 2, text)
            book.page.keyboard.press("Tab")
            items = book.page.locator(".jp-Completer-item")
            with suppress(OutOfTime):
                items.first.wait_for(timeout=5_000)
            found.clear()
            found.update(items.evaluate_all(ITEMS))
            return set(wanted) <= set(found)

        book.until(is_there, f"{wanted} are offered")
        book.page.keyboard.press("Escape")
        book.page.locator(".jp-Completer-item").first.wait_for(state="hidden")
        return found

    found = offered("%%stream more\nSELECT * FROM trades WHERE s", "symbol", "sum")
    assert found["symbol"] == "column string" and found["sum"] == "function sum([distinct] x)"
    found = offered("%%stream more\nSELECT avg(price) FROM trades WHERE q", "quantile")
    assert found["quantile"] == "function quantile(x, q)"
    offered("%%stream more --", "--chart", "--by", "--budget")
    offered("%%stream more --chart s", "scatter", "summary")
    # nothing of ours in Python
    write(book, 2, "symb")
    book.page.keyboard.press("Tab")
    book.page.wait_for_timeout(2_000)
    assert "symbol" not in book.page.locator(".jp-Completer").all_inner_texts()
    assert book.errors == []


@slow
@IN_LAB
def test_a_question_mark_tells_of_streams_and_queries_and_config_of_defaults(open_notebook, frontend):
    cells = [SETUP, HOT, "trades?", "?hot", "%config StreamMagics", "%config StreamMagics.chart = 'table'",
             "%%stream shown\nSELECT symbol, price, ts FROM trades"]  # fmt: skip
    book = open_notebook("ask.ipynb", cells, frontend)
    book.run_all()
    said = book.cell(2).locator(".jp-OutputArea-output")
    said.first.wait_for()
    assert "price" in said.first.inner_text() and "DOUBLE" in said.first.inner_text()
    said.get_by_text("python://ticks").wait_for()
    query = book.cell(3).locator(".jp-OutputArea-output").first
    query.get_by_text("column price").first.wait_for()
    defaults = book.cell(4).locator(".jp-OutputArea-output").first
    defaults.get_by_text("how queries are shown").wait_for()
    assert "as --chart" in defaults.inner_text() and "'auto'" in defaults.inner_text()
    # a query without a --chart is shown so from now on
    book.cell(6).scroll_into_view_if_needed()
    book.page.wait_for_function(
        "() => document.querySelector('.jupyter-stream-live .js-stage')?.dataset.kind === 'table'"
    )
    assert book.errors == []


def write(book, number, text):
    book.cell(number).locator(".cm-content").fill(text)
    book.page.keyboard.press("Control+End")
