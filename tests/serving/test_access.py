"""Who may: nobody without the token, no page of another site, no name of another machine. Hostile input costs nothing."""

from __future__ import annotations

import json
import socket
from functools import partial

import httpx
import pytest

from jupyter_stream import QueryError, Session
from jupyter_stream.serving.access import Access, access
from tests.serving.conftest import Served
from tests.waiting import PATIENCE

ask = partial(httpx.get, timeout=PATIENCE)
PATHS = (
    "/queries",
    "/queries/q",
    "/queries/q/results",
    "/control",
    "/control/queries/q",
    "/metrics",
    "/view/q",
    "/nothing",
)
COUNT = "SELECT k, count(*) AS n FROM rows [RANGE 1 MILLISECOND TUMBLING] GROUP BY k"


def test_without_the_token_nothing_is_answered(served: Served) -> None:
    with served.client_with(None) as other:
        for token in (None, "wrong", "ä", served.server.token[:-1]):  # type: ignore[index]  # it has one
            headers = {} if token is None else {"Authorization": f"Bearer {token}".encode()}
            for path in PATHS:
                answer = other.get(path, headers=headers)
                assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer"), path
        assert other.post("/queries", json={"text": COUNT}).status_code == 401
    assert not served.session.queries


def test_the_token_may_stand_in_the_address(served: Served) -> None:
    assert ask(f"{served.server.url}/queries", params={"token": served.server.token or ""}).status_code == 200


def test_the_token_of_a_page_reads_its_query_and_does_nothing_else(served: Served) -> None:
    served.session.execute(COUNT, name="one")
    served.session.execute(COUNT, name="other")
    page = served.server.page("one")
    token = page.partition("token=")[2]
    assert ask(page).status_code == 200
    with served.client_with(token) as reader:
        assert reader.get("/queries/one/results?follow=false").status_code == 200
        for path in ("/queries/other/results", "/view/other", "/queries", "/queries/one", "/control", "/metrics"):
            assert reader.get(path).status_code == 401, path
        assert reader.delete("/queries/one").status_code == 401
        assert reader.patch("/control/queries/one", json={"state": "stopped"}).status_code == 401
        assert reader.post("/queries", json={"text": COUNT}).status_code == 401
    with pytest.raises(QueryError, match="noone"):
        served.server.page("noone")


@pytest.mark.parametrize("token", [None, False])
def test_a_name_that_is_rebound_and_a_page_of_another_site_are_refused_with_a_token_and_without(
    token: bool | None,
) -> None:
    with Session() as session:
        server = session.serve(0, token=token)
        own = {"Authorization": f"Bearer {server.token}"}
        with httpx.Client(base_url=server.url, headers=own, timeout=PATIENCE) as client:
            for host, status in (
                ("evil.example", 403), (f"evil.example:{server.port}", 403), ("localhost.evil.example", 403), ("", 403),
                (f"127.0.0.1:{server.port}", 200), ("localhost", 200), (f"[::1]:{server.port}", 200), ("192.168.0.7", 200),
            ):  # fmt: skip
                assert client.get("/queries", headers={"Host": host}).status_code == status, host
            text = {"text": "CREATE STREAM s (ts BIGINT) ORDER BY ts SOURCE 'frame://none'"}
            for origin in ("https://evil.example", "null", f"http://localhost:{server.port + 1}"):
                assert client.post("/queries", json=text, headers={"Origin": origin}).status_code == 403
            for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):  # of forms
                refused = client.post("/queries", content=json.dumps(text), headers={"Content-Type": kind})
                assert refused.status_code in (400, 415)
            assert client.get("/queries", headers={"Origin": server.url}).status_code == 200


def test_names_it_may_be_called_by_can_be_added() -> None:
    rules = access(None, ["Streams.Example"])
    assert rules.known_host("streams.example:8765") and not Access(rules.token).known_host("streams.example")
    assert not any(rules.known_host(host) for host in ("[::1", "a@b", "exa mple", "streams.example.evil"))


def test_bodies_that_cannot_be_are_refused_with_a_reason(served: Served) -> None:
    post = served.client.post
    as_json = {"Content-Type": "application/json"}
    deep = "[" * 100_000
    for body in ("", "{", "[1]", "null", deep, "\x00"):
        assert post("/queries", content=body, headers=as_json).status_code == 400
    for said in ({}, {"text": ""}, {"text": 1}, {"text": COUNT, "keep": True}, {"text": COUNT, "engines": "x"}):
        assert post("/queries", json=said).status_code == 400
    told = post("/queries", json={"text": "SELECT k,\n nn FROM rows [RANGE 1 SECOND TUMBLING]"})
    assert (told.status_code, told.json()["line"], told.json()["column"]) == (400, 2, 2)
    assert "Traceback" not in told.text
    assert not served.session.queries
    assert post("/queries", json={"text": COUNT}).status_code == 201  # it goes on


def test_requests_too_large_or_no_requests_are_cut_off(served: Served) -> None:
    def sent(data: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", served.server.port)) as raw:
            raw.settimeout(PATIENCE)
            try:
                raw.sendall(data)
                return raw.recv(100)
            except ConnectionError:  # cut off before or after all was sent
                return b""

    head = b"POST /queries HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    assert b"200" not in sent(head + b"Content-Length: 99999999\r\n\r\n")
    assert b"200" not in sent(b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000 + b"\r\n\r\n")
    assert b"200" not in sent(b"\x16\x03\x01\x00\xff\r\n\r\n")
    assert served.client.get("/queries").status_code == 200


def test_names_in_addresses_are_names_only(served: Served) -> None:
    for name in ("..%2F..%2Fetc%2Fpasswd", "%00", "<script>", "a" * 5000):
        told = served.client.get(f"/queries/{name}")
        assert told.status_code == 404
        assert told.headers["Content-Type"].startswith("application/json")
        assert len(told.text) < 3000


def test_whatever_a_text_raises_is_an_error_of_its_request_alone(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Panic(BaseException):
        pass

    for raised in (SystemExit(3), KeyboardInterrupt(), Panic("secret detail"), ZeroDivisionError()):

        def broken(*_words: object, raised: BaseException = raised, **_more: object) -> None:
            raise raised

        with monkeypatch.context() as patch:
            patch.setattr(served.session, "run", broken)
            told = served.client.post("/queries", json={"text": COUNT})
        assert told.status_code == 500
        assert "Traceback" not in told.text
    assert served.client.get("/queries").status_code == 200
