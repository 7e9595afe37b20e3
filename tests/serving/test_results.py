"""Answers over HTTP: all of them in every form, resumable, to any number of readers; a slow one costs nobody anything."""

from __future__ import annotations

import json
import socket
from typing import Any

import httpx
import pyarrow as pa
import pytest

from jupyter_stream.serving import encodings
from tests.serving.conftest import Served
from tests.waiting import PATIENCE, until

COUNT = "SELECT k, count(*) AS n FROM rows [RANGE 1 MILLISECOND TUMBLING] GROUP BY k"
ALL = "SELECT n FROM ticks"


def events(text: str) -> list[dict[str, str]]:
    """Server-sent events by their fields."""
    blocks = [b for b in text.split("\n\n") if b and not b.startswith(":")]
    return [dict(line.partition(": ")[::2] for line in block.split("\n")) for block in blocks]


def test_every_form_has_every_answer(served: Served) -> None:
    (query,) = served.session.execute(COUNT, name="count")
    assert query.wait(200)
    expected = query.to_polars()  # type: ignore[union-attr]  # a Query
    lines = served.client.get("/queries/count/results")
    assert lines.headers["Content-Type"] == "application/x-ndjson"
    assert [json.loads(line)["n"] for line in lines.text.splitlines()] == expected["n"].to_list()
    told = events(served.client.get("/queries/count/results", headers={"Accept": "text/event-stream"}).text)
    assert [json.loads(e["data"])["n"] for e in told if "id" in e] == expected["n"].to_list()
    assert json.loads(told[-1]["data"]) == {"state": "finished", "error": None} and told[-1]["event"] == "end"
    arrow = served.client.get("/queries/count/results", headers={"Accept": "application/vnd.apache.arrow.stream"})
    assert pa.ipc.open_stream(arrow.content).read_all().column("n").to_pylist() == expected["n"].to_list()


def test_a_relation_gives_its_changes(served: Served) -> None:
    (query,) = served.session.execute("SELECT k, count(*) AS n FROM rows GROUP BY k", name="live")
    assert query.wait(200)
    rows = [json.loads(line) for line in served.client.get("/queries/live/results").text.splitlines()]
    assert [r["op"] for r in rows] == query.changes()["op"].to_list()  # type: ignore[union-attr]  # a Query
    arrow = served.client.get("/queries/live/results", headers={"Accept": "application/vnd.apache.arrow"})
    assert pa.ipc.open_stream(arrow.content).read_all().column_names == ["k", "n", "op", "at"]


def test_readers_get_answers_as_they_come_and_go_on_where_they_were(served: Served) -> None:
    served.session.execute(ALL, name="all")
    seen: list[dict[str, Any]] = []
    with served.client.stream("GET", "/queries/all/results") as answer:
        first = answer.headers["First-Event-ID"]
        for line in answer.iter_lines():
            seen.append(json.loads(line))
            if len(seen) == 7:  # three more are there, and ten still to come
                break
    served.more.set()
    mark, _, number = first.rpartition("-")
    last = f"{mark}-{int(number) + 6}"
    for accept in ("application/x-ndjson", "text/event-stream"):
        rest = served.client.get("/queries/all/results", headers={"Last-Event-ID": last, "Accept": accept})
        assert rest.headers["First-Event-ID"] == f"{mark}-{int(number) + 7}"
        rows = events(rest.text) if accept == "text/event-stream" else []
        given = [json.loads(e["data"])["n"] for e in rows if "id" in e] or [
            json.loads(line)["n"] for line in rest.text.splitlines()
        ]
        assert [r["n"] for r in seen] + given == list(range(20))


@pytest.mark.parametrize("last", ["nonsense", "1-5", "-", "9" * 40, "x-99999999999999999999"])
def test_a_place_in_another_run_or_in_none_begins_at_the_beginning(served: Served, last: str) -> None:
    (query,) = served.session.execute(COUNT, name="count")
    assert query.wait(200)
    answer = served.client.get("/queries/count/results", headers={"Last-Event-ID": last})
    assert len(answer.text.splitlines()) == query.to_polars().height  # type: ignore[union-attr]  # a Query


def test_a_reader_can_ask_for_what_comes_or_for_what_is_there(served: Served) -> None:
    (query,) = served.session.execute(ALL, name="all")
    until(lambda: query.to_polars().height >= 5)  # type: ignore[union-attr]  # a Query
    there = query.to_polars().height  # type: ignore[union-attr]  # a Query
    assert len(served.client.get("/queries/all/results?follow=false").text.splitlines()) >= there
    with served.client.stream("GET", "/queries/all/results?from=now") as answer:
        served.more.set()
        assert json.loads(list(answer.iter_lines())[-1])["n"] == 19
        assert int(answer.headers["First-Event-ID"].rpartition("-")[2]) > there - 1


def test_a_slow_reader_holds_up_nobody_and_is_told_that_rows_are_missing(served: Served) -> None:
    (query,) = served.session.execute("SELECT ts, text FROM wide", name="wide", keep=100)
    until(lambda: query.to_polars().height)  # type: ignore[union-attr]  # a Query
    # whatever the machine's buffers are, what it doesn't read doesn't fit into them
    little = httpx.HTTPTransport(socket_options=[(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)])
    own = {"Authorization": f"Bearer {served.server.token}"}
    reader = httpx.Client(base_url=served.server.url, headers=own, timeout=PATIENCE, transport=little)
    slow = reader.send(reader.build_request("GET", "/queries/wide/results"), stream=True)
    quick = served.client.send(
        served.client.build_request("GET", "/queries/wide/results?from=now", headers={"Accept": "text/event-stream"}),
        stream=True,
    )
    served.go.set()
    assert query.wait(200)  # it read nothing meanwhile: 40 MB have passed it by
    told = events(quick.read().decode())
    assert told[-1]["event"] == "end"
    gone = sum(json.loads(e["data"])["forgotten"] for e in told if e.get("event") == "gap")
    given = [json.loads(e["data"])["ts"] for e in told if "id" in e]
    first = int(quick.headers["First-Event-ID"].rpartition("-")[2])
    assert given == sorted(set(given)) and given[-1] == 2999 and len(given) + gone + first - 1 == 3000
    with pytest.raises(httpx.RemoteProtocolError):
        slow.read()
    reader.close()


def test_what_a_reader_missed_before_it_came_is_said_at_the_beginning(served: Served) -> None:
    (query,) = served.session.execute(COUNT, name="count", keep=2)
    assert query.wait(200)
    answer = served.client.get("/queries/count/results")
    assert len(answer.text.splitlines()) == 2
    assert "Forgotten-Rows" not in answer.headers  # it asked for what there is
    mark, _, number = answer.headers["First-Event-ID"].rpartition("-")
    late = served.client.get("/queries/count/results", headers={"Last-Event-ID": f"{mark}-1"})
    assert int(late.headers["Forgotten-Rows"]) == int(number) - 2
    assert late.text == answer.text


def test_a_failed_query_ends_with_its_reason_or_breaks_off(served: Served) -> None:
    served.session.namespace["broken"] = lambda: (_ for _ in ()).throw(ValueError("no more"))
    served.session.execute("CREATE STREAM broken (ts BIGINT) ORDER BY ts SOURCE 'python://broken'")
    (query,) = served.session.execute("SELECT ts FROM broken", name="broken_query")
    until(lambda: query.status == "failed")  # type: ignore[union-attr]  # a Query
    told = events(served.client.get("/queries/broken_query/results", headers={"Accept": "text/event-stream"}).text)
    assert "no more" in json.loads(told[-1]["data"])["error"]
    for accept in ("application/x-ndjson", "application/vnd.apache.arrow.stream"):
        with pytest.raises(httpx.RemoteProtocolError):
            served.client.get("/queries/broken_query/results", headers={"Accept": accept})


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("", "application/x-ndjson"),
        ("*/*", "application/x-ndjson"),
        ("text/*", "text/event-stream"),
        ("application/json", "application/x-ndjson"),
        ("text/html, text/event-stream;q=0.5", "text/event-stream"),
        (
            "application/x-ndjson;q=0.1, application/vnd.apache.arrow.stream;q=0.9",
            "application/vnd.apache.arrow.stream",
        ),
        ("text/event-stream;q=soon, application/*;q=0.2", "application/x-ndjson"),
        ("image/png", None),
        ("text/event-stream;q=0", None),
    ],
)
def test_accept_chooses_the_form(accept: str, media: str | None) -> None:
    found = encodings.encoding_for(accept)
    assert (None if found is None else found.media) == media


def test_a_form_there_is_not_is_refused(served: Served) -> None:
    served.session.execute(COUNT, name="count")
    assert served.client.get("/queries/count/results", headers={"Accept": "image/png"}).status_code == 406
