"""Whatever a source raises while it is read ends the queries that read it, which say what happened, and no others.

All connectors there are, found by discovery.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from jupyter_stream import Query, QueryError, Session
from jupyter_stream.sources import SOURCES, Chunk
from tests.faults.raised import RAISED, call_number, combinations
from tests.faults.threads import begun
from tests.sources.senders import Senders
from tests.tiers import thinned
from tests.topics import Kafka
from tests.waiting import until

ROWS = pl.DataFrame({"ts": range(300_000), "n": [1, 2, 3] * 100_000})
CHUNKS = 4
"""Chunks each source gives here."""
PLAIN = {"https": "http", "sse+https": "sse+http"}
"""The same without encryption."""
FOR_TABLES = ("postgresql", "sqlite", "duckdb")
"""Sources of tables alone."""


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    with closing(Kafka()) as made:
        made.send("rows", *(f'{{"ts": {i}, "n": {i}}}' for i in range(1000)))
        yield made


@pytest.fixture(scope="module")
def senders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Senders]:
    made = Senders(tmp_path_factory.mktemp("servers"))
    yield made
    made.close()


def declared(scheme: str, folder: Path, kafka: Kafka, senders: Senders) -> str:
    """A stream of something that source can read."""
    if scheme == "file":
        ROWS.write_csv(folder / "rows.csv")
    source = {
        "frame": "SOURCE 'frame://rows'",
        "file": f"SOURCE 'file://{folder}/rows.csv'",
        "python": "(ts BIGINT, n BIGINT) ORDER BY ts SOURCE 'python://ticks'",
        "generate": "SOURCE 'generate://packets?rows=300000'",
        "system": "SOURCE 'system://cpu?every=100ms'",
        "kafka": f"(ts BIGINT, n BIGINT) ORDER BY ts SOURCE 'kafka://{kafka.address}/rows'",
    }
    if scheme not in source:
        return (
            f"CREATE STREAM s (ts BIGINT, n BIGINT) ORDER BY ts SOURCE '{senders.address(PLAIN.get(scheme, scheme))}'"
        )
    return f"CREATE STREAM s {source[scheme]}"


@pytest.mark.parametrize(
    ("scheme", "place", "kind"), thinned(list(combinations(c.scheme for c in SOURCES if c.scheme not in FOR_TABLES)), 9)
)
def test_what_a_source_raises_ends_its_queries_alone(
    scheme: str, place: str, kind: str, tmp_path: Path, kafka: Kafka, senders: Senders
) -> None:
    ticks = [{"ts": i, "n": i} for i in range(1000)]
    with Session({"rows": ROWS, "ticks": lambda: iter(ticks * 400), "others": ROWS}) as session:
        session.execute(declared(scheme, tmp_path, kafka, senders))
        session.execute("CREATE STREAM o (ts BIGINT, n BIGINT) ORDER BY ts SOURCE 'frame://others'")
        source: Any = session.catalog.find("s").source  # type: ignore[union-attr]
        read = source.read

        def broken(request: object) -> Iterator[Chunk]:
            at = call_number(place, CHUNKS)
            for number, chunk in enumerate(read(request), 1):
                if number == at:
                    break
                yield chunk
            raise RAISED[kind][0]()

        source.read = broken
        one, other, exact = session.execute(
            """SELECT * FROM s; SELECT * FROM s LIMIT 1000000;
               SELECT count(*) AS c FROM o [RANGE 100000 MICROSECONDS TUMBLING]"""
        )
        if scheme == "kafka":  # its chunks come as its messages do
            until(lambda: kafka.send("rows", '{"ts": 1, "n": 1}') or one.status == other.status == "failed", step=0.05)
        sent = PLAIN.get(scheme, scheme)
        if sent in senders.schemes:
            row = '{"ts": 1, "n": 1}'
            until(lambda: senders.send(sent, row) or one.status == other.status == "failed", step=0.05)
        for query in (one, other):
            assert isinstance(query, Query)
            with pytest.raises(QueryError) as told:
                query.wait(200)
            assert query.status == "failed" and re.search(RAISED[kind][1], str(told.value))
        assert isinstance(exact, Query) and exact.wait(200)
        assert exact.to_polars()["c"].to_list() == [100_000] * 3
        until(lambda: not session.engine.submit(lambda: session.engine.feeds).result(200))
        until(lambda: not any(" source " in t.name for t in begun()))
