"""A live page without a notebook: the chart of the cell, in a browser that has a token for this query alone."""

from jupyter_stream import Session
from tests.tiers import slow


@slow
def test_a_shared_page_draws_what_the_cell_draws_and_can_only_look_on(chromium):
    with Session() as session:
        server = session.serve(0)
        (query,) = session.execute(
            "SELECT core, avg(percent) AS percent FROM 'system://cpu?every=100ms' "
            "[RANGE 1 SECOND SLIDE 200 MILLISECONDS] GROUP BY core",
            name="load",
        )
        page = chromium.new_page()
        faults = []
        page.on("pageerror", lambda fault: faults.append(str(fault)))
        page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
        page.goto(server.page("load"))
        page.wait_for_selector(".js-stage[data-kind=plot]")
        page.wait_for_selector(".js-figure-box > *")
        assert page.inner_text(".js-name") == "load"
        page.locator(".js-series", has_text="all").first.wait_for()
        assert {"all", "0"} <= set(page.locator(".js-series").all_inner_texts())
        assert not page.get_by_text("Stop", exact=True).is_visible()
        assert not page.get_by_text("Pause", exact=True).is_visible()
        with page.expect_download() as saved:
            page.select_option(".js-save", "svg")
        assert "<svg" in saved.value.path().read_text()
        query.stop()
        page.wait_for_selector(".jupyter-stream-live[data-state=stopped]")
        assert faults == []
        page.close()
