"""Reading a source to its end, as an engine would."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import polars as pl
import pytest

from jupyter_stream.sources import Chunk, Request, Source
from tests.faults import threads
from tests.sources.servers import Live


@dataclass(frozen=True)
class Read:
    frame: pl.DataFrame
    rejected: list[tuple[str, str]]
    sizes: list[int]

    @property
    def rows(self) -> list[tuple[object, ...]]:
        return self.frame.rows()


def collect(chunks: Iterable[Chunk]) -> Read:
    chunks = list(chunks)
    rejected = [row for c in chunks if c.rejected is not None for row in c.rejected.iter_rows()]
    frame = pl.concat([c.frame for c in chunks]) if chunks else pl.DataFrame()
    return Read(frame, rejected, [c.frame.height for c in chunks])


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    """What a failed test leaves reading would disturb the next ones. Threads are counted from here on."""
    threads.begin()
    yield
    Live.end_all()


@pytest.fixture
def read() -> Callable[..., Read]:
    def whole(source: Source, *columns: str) -> Read:
        return collect(source.read(Request(columns or None)))

    return whole


@pytest.fixture(name="collect")
def _collect() -> Callable[[Iterable[Chunk]], Read]:
    return collect


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A certificate of this machine, signed by itself, and its key: the paths of both files."""
    folder = tmp_path_factory.mktemp("certificate")
    cert, key = str(folder / "cert.pem"), str(folder / "key.pem")
    names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run([*command, "-addext", names, "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key
