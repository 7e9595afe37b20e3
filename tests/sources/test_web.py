from __future__ import annotations

import json

import polars as pl
import pytest

from jupyter_stream.core.schema import Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.web import events
from tests.sources.senders import Events, Web
from tests.sources.servers import Live, opened
from tests.waiting import until

NUMBERS = Schema.of([("n", pl.Int64())])
OFTEN = {"every": "10 ms"}


def numbers(*some: int) -> list[str]:
    return [json.dumps({"n": n}) for n in some]


@pytest.mark.parametrize("kind", ["text/plain", "application/json"])
def test_what_was_not_in_the_answer_before_is_new(kind):
    web = Web()
    web.kind = kind
    web.messages += numbers(1, 1, 2)
    live = Live(opened(web.address, NUMBERS, **OFTEN))
    assert live.until(3) == [(1,), (1,), (2,)]
    web.messages[:] = numbers(1, 2, 2, 3)  # one leaves, as in a list of the newest
    assert live.until(5)[3:] == [(2,), (3,)]
    until(lambda: any("If-None-Match" in headers for _, headers in web.asked))
    assert len(live.rows) == 5
    live.stop()
    web.close()


def test_all_records_of_an_answer_that_has_changed():
    web = Web()
    web.messages += numbers(1, 2)
    live = Live(opened(web.address, NUMBERS, repeat="true", **OFTEN))
    live.until(2)
    web.messages += numbers(3)
    assert live.until(5) == [(1,), (2,), (1,), (2,), (3,)]
    live.stop()
    web.close()


def test_records_inside_an_object_and_columns_that_are_not_declared():
    web = Web()
    web.messages.append('{"data": {"items": [{"n": 1, "s": "a"}, {"n": 2, "s": "b"}]}}')
    source = opened(web.address, records="data.items", **OFTEN)
    assert source.schema == Schema.of([("n", pl.Int64()), ("s", pl.String())])
    live = Live(source)
    assert live.until(2) == [(1, "a"), (2, "b")]
    live.stop()
    web.close()


@pytest.mark.parametrize("server", [Web, Events])
def test_a_server_that_is_killed_and_comes_back(server):
    web = server()
    web.messages += numbers(1, 2)
    options = {} if server is Events else OFTEN
    live = Live(opened(web.address, NUMBERS, **options))
    live.until(2)
    web.close()
    until(lambda: live.trouble)
    assert f"127.0.0.1:{web.port}" in live.trouble
    again = server(port=web.port, messages=web.messages)
    again.messages += numbers(3)
    assert live.until(3) == [(1,), (2,), (3,)]
    if server is Events:
        assert again.asked[0][1]["Last-Event-ID"] == "2"
    live.stop()
    again.close()


def test_events_have_ids_and_types_and_begin_behind_one():
    web = Events()
    web.messages += numbers(1, 2, 3)
    schema = Schema.of([("n", pl.Int64()), ("which", pl.String()), ("kind", pl.String())])
    live = Live(opened(web.address, schema, start="1", id="which", event="kind"))
    assert live.until(2) == [(2, "2", "tick"), (3, "3", "tick")]
    live.stop()
    web.close()


def test_lines_of_events_are_read_as_the_standard_says():
    text = "data: a\ndata:b\n\n: comment\nid: 7\nevent: x\ndata:  c\n\nid: 8\n\ndata\n\nretry: 5\nid:\ndata: d\n\ndata: half"
    found = list(events(text.split("\n"), "6"))
    assert found == [(b"a\nb", "6", "message"), (b" c", "7", "x"), (b"", "8", "message"), (b"d", "", "message")]


def test_credentials_are_sent_and_refused():
    web = Web()
    web.messages += numbers(1)
    live = Live(opened(web.address, NUMBERS, {"mine": {"token": "hunter2-secret"}}, config="mine", **OFTEN))
    live.until(1)
    assert web.asked[0][1]["Authorization"] == "Bearer hunter2-secret"
    live.stop()
    web.status = 403
    live = Live(opened(web.address, NUMBERS, **OFTEN))
    until(lambda: live.error)
    assert "HTTP status 403" in str(live.error)
    web.close()


def test_what_can_not_be_is_refused():
    with pytest.raises(SourceError, match="not a length of time"):
        opened("https://h/x", NUMBERS, every="often")
    web = Web()
    live = Live(opened(web.address.replace("http", "sse+http"), NUMBERS))
    web.kind = "text/plain"
    until(lambda: live.rows or live.error or web.asked)
    live.stop()
    web.close()
