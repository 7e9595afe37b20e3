"""What a server does for programs: run, list, drop, read and write control tables, metrics, live pages; and how it ends."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from jupyter_stream import QueryError, Session
from tests.serving.conftest import Served
from tests.waiting import PATIENCE, until

COUNT = "SELECT k, count(*) AS n FROM rows [RANGE 1 MILLISECOND TUMBLING] GROUP BY k"
CORES = "SELECT core, avg(percent) AS p FROM 'system://cpu?every=100ms' [RANGE 300 MILLISECONDS TUMBLING] GROUP BY core"


def test_a_text_is_run_listed_looked_at_and_dropped(served: Served) -> None:
    told = served.client.post(
        "/queries",
        json={
            "text": "SHOW STREAMS; " + COUNT + " HAVING count(*) > :least",
            "name": "count",
            "parameters": {"least": 1},
        },
    )
    assert told.status_code == 201
    listing, query = told.json()["results"]
    assert {row["stream"] for row in listing["rows"]} == {"rows", "ticks", "wide"} and query["query"]["name"] == "count"
    assert served.session.query("count").wait(200)
    (listed,) = served.client.get("/queries").json()["queries"]
    assert (listed["name"], listed["state"], listed["rows_in"]) == ("count", "finished", 2000)
    shown = served.client.get("/queries/count").json()
    assert shown["columns"] == {"window_start": "BIGINT", "window_end": "BIGINT", "k": "BIGINT", "n": "BIGINT"}
    assert "dropped" in served.client.delete("/queries/count").json()["message"]
    assert served.client.get("/queries/count").status_code == 404
    assert served.client.delete("/queries/count").status_code == 404


def test_control_tables_are_read_and_written(served: Served) -> None:
    client, patch = served.client, served.client.patch
    (query,) = served.session.execute(CORES, name="load")
    assert client.patch("/control", json={"memory": "1 GB", "scheduler": "chain"}).json()["scheduler"] == "chain"
    assert client.get("/control").json()["memory"] == served.session.engine.memory == 10**9
    nodes = client.get("/control/queries/load").json()["nodes"]
    source = next(name for name, node in nodes.items() if node["kind"] == "source")
    assert (
        patch(f"/control/queries/load/{source}", json={"most_rows": 1000}).json()["settings"]["most_rows"]["now"]
        == 1000
    )
    assert query._pipeline.feeds and next(iter(query._pipeline.feeds)).queue.settings["most_rows"] == 1000  # type: ignore[union-attr]  # a Query
    for verb, state in (("paused", "paused"), ("running", "running"), ("stopped", "stopped")):
        assert patch("/control/queries/load", json={"state": verb}).status_code == 200
        until(lambda state=state: query.status.replace("waiting", "running") == state)  # type: ignore[misc, union-attr]  # bound now; a Query
    for path, said in (
        ("/control", {"memory": "much"}), ("/control", {"colour": 1}), ("/control/queries/load", {"state": "failed"}),
        ("/control/queries/load", {"x": 1}), (f"/control/queries/load/{source}", {"most_rows": "many"}),
        ("/control/queries/load/nowhere", {"most_rows": 1}),
    ):  # fmt: skip
        assert patch(path, json=said).status_code == 400, path
    assert client.get("/control/queries/load/nowhere").status_code == 404


def test_metrics_are_what_prometheus_reads(served: Served) -> None:
    served.session.execute(CORES, name="load")
    served.session.execute("SELECT max(n) AS n FROM ticks [RANGE 1 SECOND TUMBLING]", name="odd")
    until(lambda: served.session.query("load").snapshot(0).rows_in > 2)
    families = {f.name: f for f in text_string_to_metric_families(served.client.get("/metrics").text)}
    rows = {s.labels["query"]: s.value for s in families["jupyter_stream_query_rows_in"].samples}
    assert rows["load"] > 2 and set(rows) == {"load", "odd"}
    held = [s for s in families["jupyter_stream_operator_bytes"].samples if s.labels["query"] == "load"]
    assert len(held) == 1 + len(served.session.query("load")._pipeline.graph.steps)  # type: ignore[union-attr]  # in the kernel
    assert {s.labels["state"] for s in families["jupyter_stream_query_state"].samples} <= {"running", "waiting"}


class Page:
    """What a page does, without a browser."""

    def __init__(self, address: str) -> None:
        where, _, token = address.partition("?")
        self.socket = connect(f"{where}/live?{token}".replace("http", "ws", 1), max_size=None, open_timeout=PATIENCE)

    def say(self, **said: object) -> None:
        self.socket.send(json.dumps(said))

    def message(self) -> tuple[dict[str, Any], list[bytes]]:
        told = json.loads(self.socket.recv(PATIENCE))
        return told["message"], [bytes(self.socket.recv(PATIENCE)) for _ in range(told["count"])]


def test_a_page_is_told_everything_then_what_changes_and_changes_nothing_itself(served: Served) -> None:
    (query,) = served.session.execute(CORES, name="load")
    until(lambda: query.to_polars().height)  # type: ignore[union-attr]  # a Query
    page = Page(served.server.page("load"))
    with page.socket:
        page.say(say="hello", library=True, seen=True)
        while (told := page.message())[0]["do"] != "library":  # pictures from before it said hello
            pass
        library, (code,) = told
        assert library["version"] and code[:2] == b"\x1f\x8b"
        state, _ = page.message()
        assert state["head"]["name"] == "load" and state["fresh"]
        page.say(say="press", what="stop")
        page.say(say="pick", rows=[["x"]])
        page.say(say="save", format="svg")
        while (told_now := page.message())[0]["do"] != "save":
            pass
        assert told_now[0]["name"] == "load.svg" and b"<svg" in told_now[1][0]
        assert query.status == "running"  # type: ignore[union-attr]  # a Query
        query.stop()  # type: ignore[union-attr]  # a Query
        while page.message()[0].get("head", {}).get("state") != "stopped":
            pass


def test_a_page_that_talks_nonsense_or_comes_from_elsewhere_is_shut_out(served: Served) -> None:
    served.session.execute(CORES, name="load")
    for said in ("{", "[]", "x" * 5000, b"\x00\xff"):
        page = Page(served.server.page("load"))
        page.socket.send(said)
        with pytest.raises(ConnectionClosed):
            while True:
                page.socket.recv(PATIENCE)
    where, _, token = served.server.page("load").partition("?")
    for address, origin in ((f"{where}/live?{token}", "https://evil.example"), (f"{where}/live?token=wrong", None)):
        with pytest.raises(InvalidStatus):
            connect(address.replace("http", "ws", 1), origin=origin, open_timeout=PATIENCE)  # type: ignore[arg-type]  # a str will do
    with pytest.raises(InvalidStatus):
        connect(f"{where}x/live?token={served.server.token}".replace("http", "ws", 1), open_timeout=PATIENCE)
    assert served.client.get("/queries").status_code == 200


def test_a_name_with_html_in_it_stays_text(served: Served) -> None:
    query = served.session.execute(COUNT, name="count")[0]
    served.session.queries["<img src=x>"] = query  # type: ignore[assignment]  # a Query
    query.name = "<img src=x>"  # type: ignore[union-attr]  # a Query
    page = served.client.get("/view/%3Cimg%20src=x%3E")
    assert page.status_code == 200 and "<img src=x>" not in page.text
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    assert "unsafe-inline" not in page.headers["Content-Security-Policy"].partition("script-src")[2].partition(";")[0]


def test_stopping_ends_streams_and_frees_the_port(served: Served) -> None:
    served.session.execute("SELECT n FROM ticks", name="all")
    answer = served.client.send(served.client.build_request("GET", "/queries/all/results"), stream=True)
    port = served.server.port
    again = served.session.serve(port) if served.session.stop_serving() is None else None
    with pytest.raises(httpx.HTTPError):
        answer.read()
    assert again is not None and again.port == port and again.running
    assert served.client.get("/queries").status_code == 401  # with a token of its own
    served.session.close()
    assert not again.running
    with pytest.raises(httpx.ConnectError):  # by a connection of its own
        httpx.get(f"{again.url}/queries", timeout=PATIENCE)


def test_a_port_that_is_taken_is_said_and_without_one_the_next_is_found(served: Served) -> None:
    with Session() as session:
        with pytest.raises(QueryError, match=f"port {served.server.port}"):
            session.serve(served.server.port)
        for port in (-1, 65_536):
            with pytest.raises(QueryError, match="not a port"):
                session.serve(port)
        first = session.serve()
        with Session() as other:
            assert other.serve().port != first.port
