"""A read goes on where a former one was, in another source object as in another process: every message once."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from jupyter_stream import Session
from jupyter_stream.core.schema import Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.protocol import Request, Resumes
from tests.sources.senders import Events, Nats, Redis
from tests.sources.servers import opened
from tests.waiting import PATIENCE, until

NUMBERS = Schema.of([("n", pl.Int64())])


class Reading:
    """A read from a place, in a thread."""

    def __init__(self, uri: str, place: object, **options: str) -> None:
        source = opened(uri, NUMBERS, **options)
        assert isinstance(source, Resumes)
        self.request, self.rows, self.places = Request(), list[int](), [place]
        self.rejected: list[str] = []
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._run, args=(source,), daemon=True)
        self._thread.start()

    def _run(self, source: Resumes) -> None:
        try:
            for chunk in source.read_on(self.request, self.places[0]):
                if chunk.rejected is not None:
                    self.rejected += chunk.rejected["reason"].to_list()
                self.places.append(pickle.loads(pickle.dumps(chunk.place)))
                self.rows += chunk.frame["n"].to_list()  # last, for they are waited for
        except SourceError as error:
            self.error = error

    def end(self, last: int) -> list[int]:
        """End it behind a row."""
        until(lambda: self.rows[-1:] == [last], lambda: (self.rows, self.request.trouble.text, self.error))
        self.request.stop.set()
        self._thread.join(PATIENCE)
        return self.rows


@pytest.fixture(params=["redis", "nats", "sse"])
def server(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[str, Callable[[int], Any], dict[str, str]]]:
    """An address, what sends a number there, and the options."""
    if request.param == "redis":
        redis = Redis(tmp_path)
        yield redis.address, lambda n: redis.client.xadd("ticks", {"n": n}), {}
        redis.close()
    elif request.param == "nats":
        nats = Nats(tmp_path)
        yield nats.address.replace("/t", "/kept.t"), lambda n: nats.keep(f'{{"n": {n}}}'), {"type": "jetstream"}
        nats.close()
    else:
        events = Events(tmp_path)
        yield events.address, lambda n: events.send(f'{{"n": {n}}}'), {}
        events.close()


def test_a_read_goes_on_behind_the_last_message_of_another(
    server: tuple[str, Callable[[int], Any], dict[str, str]],
) -> None:
    uri, send, options = server
    first = Reading(uri, None, **options)
    if not uri.startswith("sse"):  # where it begins is known before anything comes
        until(lambda: len(first.places) > 1, lambda: first.request.trouble.text)
        assert first.places[1] is not None
    else:  # this server tells everybody all from the beginning
        send(0)
        until(lambda: first.rows, lambda: first.request.trouble.text)
    before = len(first.rows)
    for n in range(1, 4):
        send(n)
    assert first.end(3)[before:] == [1, 2, 3]
    for n in range(4, 8):
        send(n)
    assert Reading(uri, first.places[-1], **options).end(7) == [4, 5, 6, 7]
    middle = first.places[-2]
    assert Reading(uri, middle, **options).end(7)[-5:] == [3, 4, 5, 6, 7]


def test_what_redis_no_longer_has_is_told(tmp_path: Path) -> None:
    server = Redis(tmp_path)
    try:
        for n in range(1, 6):
            server.client.xadd("ticks", {"n": n}, id=f"{n}-0")
        server.client.xtrim("ticks", maxlen=2, approximate=False)
        reading = Reading(server.address, "1-0")
        assert reading.end(5) == [4, 5]
        assert any("begins with entry 4-0: entries behind 1-0 may be lost" in reason for reason in reading.rejected)
        reading = Reading(server.address, "4-0")
        assert reading.end(5) == [5] and not reading.rejected
        server.client.delete("ticks")
        server.client.xadd("ticks", {"n": 1}, id="1-0")
        reading = Reading(server.address, "5-0")
        until(lambda: reading.error)
        assert "was made anew" in str(reading.error)
    finally:
        server.close()


def test_a_replay_of_redis_ends_with_what_was_there_and_goes_on_in_its_middle(tmp_path: Path) -> None:
    server = Redis(tmp_path)
    try:
        for n in range(5):
            server.client.xadd("ticks", {"n": n}, id=f"{n + 1}-0")
        replay = opened(server.address, NUMBERS, end="latest")
        server.client.xadd("ticks", {"n": 99})
        assert replay.replayable
        for _ in range(2):
            assert [n for chunk in replay.read(Request()) for n in chunk.frame["n"]] == [0, 1, 2, 3, 4]
        assert isinstance(replay, Resumes)
        assert [n for chunk in replay.read_on(Request(), "3-0") for n in chunk.frame["n"]] == [3, 4]
        with Session(to_end=True) as session:
            session.execute(f"CREATE STREAM s SOURCE '{server.address}'")
            (q,) = session.execute("SELECT n FROM s")
            assert q.wait(200) and q.to_polars()["n"].to_list() == [0, 1, 2, 3, 4, 99]
    finally:
        server.close()


def test_events_without_ids_are_said_to_be_lost_by_a_kill(tmp_path: Path) -> None:
    source = opened("sse+http://127.0.0.1:9/t", NUMBERS)
    assert isinstance(source, Resumes)
    request = Request()
    source.look_at_place(None, request)  # type: ignore[attr-defined]  # of sources with positions
    assert "gives its messages no ids" in str(request.trouble.text)


def test_what_has_no_positions_does_not_claim_to_have_them(tmp_path: Path) -> None:
    for uri, options in (
        ("redis://127.0.0.1:9/news", {"type": "pubsub"}),
        ("nats://127.0.0.1:9/t", {}),
        ("ws://127.0.0.1:9/t", {}),
        ("mqtt://127.0.0.1:9/t", {}),
    ):
        assert not isinstance(opened(uri, NUMBERS, **options), Resumes)
