"""A session that is served, with rows that come when a test says so."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import httpx
import polars as pl
import pytest

from jupyter_stream import Session
from jupyter_stream.serving import HttpServer
from tests.sources.servers import free_port
from tests.waiting import PATIENCE


class Served:
    """A session with a server, and a client that may do everything."""

    def __init__(self) -> None:
        rows = pl.DataFrame({"ts": range(2000), "k": [i % 3 for i in range(2000)]}).cast(pl.Int64)
        self.go = threading.Event()
        self.more = threading.Event()
        self.session = Session({"rows": rows, "wide": self._wide, "ticks": self._ticks})
        self.session.execute(
            "CREATE STREAM rows (ts BIGINT, k BIGINT) ORDER BY ts SOURCE 'frame://rows';"
            "CREATE STREAM wide (ts BIGINT, text STRING) ORDER BY ts SOURCE 'python://wide';"
            "CREATE STREAM ticks (ts BIGINT, n BIGINT) ORDER BY ts SOURCE 'python://ticks'"
        )
        self.server: HttpServer = self.session.serve(free_port())
        self.client = self.client_with(self.server.token)

    def client_with(self, token: str | None, **headers: str) -> httpx.Client:
        own = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=self.server.url, headers={**own, **headers}, timeout=PATIENCE)

    def _wide(self) -> Iterator[dict[str, object]]:
        """Some rows at once, the others when the test says so: 60 MB of them."""
        for i in range(3000):
            if i == 1000:
                self.go.wait(PATIENCE)
            yield {"ts": i, "text": "x" * 20_000}

    def _ticks(self) -> Iterator[dict[str, object]]:
        for i in range(20):
            if i == 10:
                self.more.wait(PATIENCE)
            yield {"ts": i, "n": i}

    def close(self) -> None:
        self.go.set()
        self.more.set()
        try:
            self.client.close()
        finally:
            self.session.close()


@pytest.fixture
def served() -> Iterator[Served]:
    made = Served()
    yield made
    made.close()
