import gc
import time
import weakref

import pytest

from jupyter_stream.errors import QueryError
from jupyter_stream.views import ViewOptions, change, close, dashboard, options_of, panel, selected, thread
from jupyter_stream.views.live import LiveView
from jupyter_stream.views.page import Page as ThePage
from jupyter_stream.views.strip import ENDED
from tests.tiers import slow
from tests.waiting import until


class Page:
    """What a page hears: stands at the widget's send, the last step before the comm."""

    def __init__(self, view):
        self.messages = []
        self.threads = set()
        view.widget.send = self._take

    def _take(self, message, buffers=None):
        import threading

        self.messages.append(message)
        self.threads.add(threading.current_thread().name)

    def heads(self):
        head = {}
        for message in self.messages:
            if message["do"] == "state":
                head = dict(message["head"]) if message["fresh"] else {**head, **message["head"]}
        return head


@pytest.fixture
def views():
    made = thread.ViewThread()
    yield made
    made.close()


def serve(views, query, **options):
    view = LiveView(query, ViewOptions(**options))
    page = Page(view)
    views.add(view)
    return view, page


def test_a_view_follows_its_query_to_the_end(demo, views):
    query = demo().advance(3)
    _, page = serve(views, query)
    until(lambda: page.heads().get("rowCount") == 9)
    query.advance(2)
    until(lambda: page.heads().get("rowCount") == 15)
    query.stop()
    until(lambda: page.heads().get("state") == "stopped")


def test_only_the_view_thread_sends(demo, views):
    query = demo().advance(3)
    view, page = serve(views, query)
    until(lambda: page.messages)
    views._heard(view, {"say": "hello", "library": True})
    until(lambda: any(m["do"] == "library" for m in page.messages))
    assert page.threads == {"jupyter-stream-views"}


def test_two_views_of_one_query_agree(demo, views):
    query = demo(keys=[f"k{i}" for i in range(14)]).advance(5)
    _, first = serve(views, query)
    until(lambda: first.heads().get("rowCount"))
    query.keys = (*query.keys[4:], "new", "newer")
    query.advance(5)
    _, second = serve(views, query)
    until(lambda: second.heads() and first.heads()["rowCount"] == second.heads()["rowCount"])
    shared = ("legend", "x", "y", "rowCount", "names", "watermark")
    until(lambda: [first.heads()[k] for k in shared] == [second.heads()[k] for k in shared])


def test_a_page_that_comes_late_is_given_everything(demo, views):
    query = demo().advance(4)
    view, page = serve(views, query)
    until(lambda: page.messages)
    query.finish()
    until(lambda: page.heads().get("state") == "finished")
    page.messages.clear()
    views._heard(view, {"say": "hello", "library": False})
    until(lambda: page.messages)
    assert page.messages[0]["fresh"] and page.messages[0]["head"]["rowCount"] == 12
    assert "doc" in page.messages[0] and page.messages[0]["columns"]["r.0"]["text"]


def test_buttons_reach_the_query_and_nothing_else_does(demo):
    query = demo().advance()
    view = LiveView(query)
    for what in ("pause", "resume", "stop", "snapshot", "__class__", None):
        view.hear({"say": "press", "what": what})
    assert query.presses == ["pause", "resume", "stop"]


def test_a_change_of_chart_reaches_views_in_place_and_later_ones(demo):
    query = demo().advance(4)
    view = LiveView(query)
    page = Page(view)
    thread.add(view)
    try:
        until(lambda: page.heads().get("kind") == "plot")
        change(query, "table")
        until(lambda: page.heads().get("kind") == "table")
        change(query, last=3)
        until(lambda: page.heads().get("rowCount") == 3)
        assert options_of(query) == ViewOptions(chart="table", last=3)
        with pytest.raises(QueryError, match="Did you mean table"):
            change(query, "tabel")
    finally:
        thread.close()


def said(table, *rows):
    return [[column[r] for column in table.columns] for r in rows]


def test_a_click_selects_the_rows_that_read_so_even_after_the_query_ended(demo, views):
    query = demo().advance(4)
    view, page = serve(views, query)
    until(lambda: page.heads().get("rowCount") == 12)
    table = view.drawn(query.snapshot())[0].rows
    query.stop()
    until(lambda: view.ended)
    views._heard(view, {"say": "pick", "rows": said(table, 5)})
    assert selected(query)["place"].to_list() == ["east"]
    until(lambda: page.heads().get("picked") == 1)
    views._heard(view, {"say": "pick", "rows": said(table, 0, 1), "more": True})
    assert selected(query).height == 3
    views._heard(view, {"say": "pick", "rows": []})
    assert selected(query) is None


def test_a_page_can_ask_for_a_file(demo, views):
    query = demo().advance(4)
    view, page = serve(views, query)
    until(lambda: page.heads().get("rowCount") == 12)
    views._heard(view, {"say": "save", "format": "svg", "dark": True})
    until(lambda: any(m["do"] == "save" for m in page.messages))
    file = next(m for m in page.messages if m["do"] == "save")
    assert (file["name"], file["type"]) == ("demo.svg", "image/svg+xml")


def test_panels_of_a_dashboard_share_a_page_and_hear_their_own_buttons(demo):
    first, second = demo(name="one").advance(3), demo(name="two").advance(3)
    page = ThePage(2)
    views = [LiveView(first, page=page), LiveView(second, page=page)]
    heard = []
    for view in views:
        view.line.listen(lambda message, view=view: heard.append((view.name, view.hear(message))))
        view.keep()
    page.widget._handle_custom_msg({"say": "press", "what": "stop", "panel": 1}, [])
    assert (first.presses, second.presses, [name for name, _ in heard]) == ([], ["stop"], ["two"])
    html = page._bundle()["text/html"]
    assert html.count("<img") == 2 and html.count("jupyter-stream-saved") > 0


def test_a_key_has_one_colour_on_a_dashboard_and_in_the_other_views_of_its_queries(demo):
    first, second = demo(keys="uvw").advance(3), demo(keys="wxv").advance(3)
    before = dict(LiveView(second).drawn(second.snapshot())[0].legend)
    dashboard([first, panel(second, "area")])
    try:
        one, two = (dict(LiveView(query).drawn(query.snapshot())[0].legend) for query in (first, second))
        assert set(one) == set("uvw") and set(two) == set("vwx") == set(before)
        assert (one["v"], one["w"]) == (two["v"], two["w"]) == (before["v"], before["w"])
        assert two["x"] not in one.values()
    finally:
        close()


def test_an_ended_query_is_let_go_by_its_view(demo, views):
    query = demo().advance(2)
    view, page = serve(views, query)
    query.stop()
    until(lambda: page.heads().get("state") in ENDED and view.ended)
    gone = weakref.ref(query)
    del query
    until(lambda: gc.collect() is not None and gone() is None)


def test_a_wrong_column_is_shown_as_text_and_the_view_goes_on(demo, views):
    query = demo()
    _, page = serve(views, query, y="sped")
    until(lambda: "Did you mean speed" in (page.heads().get("error") or ""))
    query.advance(2)
    until(lambda: page.heads().get("rowCount") == 6)


@slow
def test_frames_are_at_most_eight_a_second_and_each_costs_only_what_changed(demo, views):
    query = demo().advance(100)
    view, page = serve(views, query)
    view.hear({"say": "hello"})  # to a page that says nothing everything is sent again
    until(lambda: page.messages)
    begun, at = len(page.messages), time.monotonic()
    while time.monotonic() - at < 1.0:
        query.advance()
        time.sleep(0.005)
    assert len(page.messages) - begun <= thread.FRAMES * (time.monotonic() - at) + 2
    until(lambda: page.heads().get("watermark") == query.watermark / 1000)  # the page has seen all of it
    query.advance()
    until(lambda: page.heads().get("watermark") == query.watermark / 1000)
    whole = sum(len(c.get("text", ())) for c in page.messages[0]["columns"].values())
    later = sum(len(c.get("text", ())) for c in page.messages[-1]["columns"].values())
    assert later < whole


def test_nothing_big_is_in_synced_traits(demo):
    view = LiveView(demo().advance(500))
    state = {k: v for k, v in view.widget.get_state().items() if isinstance(v, str)}
    assert sum(map(len, state.values())) < 60_000


def test_closing_the_thread_takes_views_off_their_pages(demo):
    made = thread.ViewThread()
    view, _ = serve(made, demo().advance())
    until(lambda: view.due() is False)
    made.close()  # which waits two seconds at most
    until(lambda: view.widget.comm is None)
    assert not made.alive
