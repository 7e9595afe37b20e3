"""What holds for every source of messages: a server that goes away is told on the view, and no password is shown."""

from __future__ import annotations

import pytest

from jupyter_stream import Query, Session, secrets
from tests.sources.senders import Senders
from tests.sources.servers import free_port, receivers
from tests.tiers import thinned
from tests.waiting import until

WORD = "hunter2-very-secret"
SCHEMES = sorted(Senders.schemes)
WITH_PASSWORDS = sorted(Senders.schemes - {"socket"})


@pytest.fixture
def forgotten():
    secrets._known.clear()
    yield
    secrets._known.clear()


@pytest.fixture(autouse=True)
def often(monkeypatch):
    monkeypatch.setattr("jupyter_stream.sources.web._EVERY", 20_000)


@pytest.fixture(scope="module")
def senders(tmp_path_factory):
    made = Senders(tmp_path_factory.mktemp("servers"))
    yield made
    made.close()


@pytest.mark.parametrize("scheme", thinned(SCHEMES))
def test_a_query_over_messages_answers_and_stops(scheme, senders):
    with Session({}) as session:
        session.execute(f"CREATE STREAM s (ts BIGINT, n BIGINT) ORDER BY ts SOURCE '{senders.address(scheme)}'")
        (query,) = session.execute("SELECT n + 1 AS m FROM s")
        assert isinstance(query, Query)
        until(lambda: senders.send(scheme, '{"ts": 1, "n": 41}') or len(query.to_polars()), step=0.05)
        assert query.to_polars()["m"][0] == 42
        query.stop()
        query.wait(200)
    until(lambda: not receivers())


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_view_of_a_query_says_that_the_server_is_away(scheme, senders):
    address = senders.address(scheme)
    where = address.partition("://")[2].partition("/")[0]
    with Session({}) as session:
        source = address.replace(where, f"127.0.0.1:{free_port()}")
        session.execute(f"CREATE STREAM s (ts BIGINT, n BIGINT) ORDER BY ts SOURCE '{source}'")
        (query,) = session.execute("SELECT * FROM s")
        assert isinstance(query, Query)
        until(lambda: "goes on when it is back" in (query.snapshot().hint or ""))
        assert query.status == "waiting"
