"""Tables of databases: their types, what is read anew and becomes a change, and a server that is killed and started again."""

from __future__ import annotations

import queue
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import psycopg
import pytest

from jupyter_stream import QueryError, Session
from jupyter_stream.core.schema import TIMESTAMP, Schema
from jupyter_stream.errors import SourceError
from tests.sinks.takers import postgres
from tests.sources.servers import opened
from tests.tiers import slow
from tests.waiting import PATIENCE, until

VALUES = pl.DataFrame(
    {
        "n": [1, 2],
        "word": ['a, "b"\n\\N', ""],
        "x": [1.5, None],
        "yes": [True, None],
        "day": ["2024-03-05", None],
        "moment": ["2024-03-05 10:30:00.25", None],
        "raw": [b"\x00\xff", None],
    }
).with_columns(pl.col("day").str.to_date(), pl.col("moment").str.to_datetime(time_unit="us"))
COLUMNS = "n BIGINT, word TEXT, x DOUBLE PRECISION, yes BOOLEAN, day DATE, moment TIMESTAMP, raw {bytes}"


@pytest.fixture
def database(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[str, Callable[[str], Any]]]:
    """An address without table, and what runs a statement there."""
    kind, name = request.param, request.node.name.partition("[")[0]
    if kind == "postgresql":
        server = postgres()
        with psycopg.connect(server.address, autocommit=True) as connection:
            yield server.address, connection.execute
            connection.execute("DROP TABLE IF EXISTS things")
        return
    at = tmp_path / f"{name}.{kind}"

    def run(statement: str) -> None:
        if kind == "sqlite":
            with sqlite3.connect(at, timeout=PATIENCE) as connection:
                connection.execute(statement)
            connection.close()
        else:
            until(lambda: _done(at, statement))  # for a moment, the file may be open to be read

    yield f"{kind}://{at}", run


def _done(at: Path, statement: str) -> bool:
    try:
        with duckdb.connect(str(at)) as made:
            made.execute(statement)
    except duckdb.Error as error:
        if not isinstance(error, duckdb.ConnectionException) and "Unique file handle" not in str(error):
            raise
        return False  # it is open to be read, or just being closed
    return True


every = pytest.mark.parametrize("database", ["postgresql", "sqlite", "duckdb"], indirect=True)


@every
def test_values_of_every_type_come_as_they_are(database: tuple[str, Callable[[str], Any]]) -> None:
    address, run = database
    blob = {
        "postgresql": ("BYTEA", "decode('00ff', 'hex')"),
        "sqlite": ("BLOB", "x'00ff'"),
        "duckdb": ("BLOB", "'\\x00\\xFF'::BLOB"),
    }
    declared, made = blob[address.partition(":")[0]]
    run(f"CREATE TABLE things ({COLUMNS.format(bytes=declared)})")
    run(f"INSERT INTO things VALUES (1, 'a, \"b\"\n\\N', 1.5, true, '2024-03-05', '2024-03-05 10:30:00.25', {made})")
    run("INSERT INTO things VALUES (2, '', NULL, NULL, NULL, NULL, NULL)")
    with Session() as session:
        session.execute(f"CREATE TABLE t SOURCE '{address}?table=things'")
        q = session.execute("SELECT * FROM t")[0]
        assert q.wait(200)
        assert q.to_polars().sort("n").equals(VALUES)
        session.execute(
            f"CREATE TABLE u (n INT, N2 DOUBLE) SOURCE '{address}' WITH (query = 'SELECT n, n * 2 AS n2 FROM things WHERE n > 1')"
        )
        q = session.execute("SELECT * FROM u")[0]
        assert q.wait(200) and q.to_polars().rows() == [(2, 4.0)]
        for wrong, said in (
            ("", "names no table"),
            ("?table=nothing", "nothing"),
            ("?tabel=t", "Did you mean 'table'"),
        ):
            with pytest.raises(SourceError, match=said):
                session.execute(f"CREATE TABLE v SOURCE '{address}{wrong}'")
        with pytest.raises(QueryError, match="Declare a table"):
            session.execute(f"CREATE STREAM v SOURCE '{address}?table=things'")


@every
def test_what_is_read_anew_revises_and_only_what_differs_is_told(database: tuple[str, Callable[[str], Any]]) -> None:
    address, run = database
    run("CREATE TABLE things (id INTEGER, name TEXT)")
    run("INSERT INTO things VALUES (1, 'one'), (2, 'two')")
    rows = pl.DataFrame({"id": [1, 2, 3], "ts": [1, 2, 3]})
    with Session({"rows": rows}) as session:
        session.execute("CREATE STREAM s (id INT, ts BIGINT) ORDER BY ts SOURCE 'frame://rows'")
        session.execute(f"CREATE RETROACTIVE TABLE t SOURCE '{address}?table=things' WITH (refresh = '100 ms')")
        q = session.execute("CREATE VIEW v AS SELECT s.id, t.name FROM s JOIN t ON s.id = t.id")[0]
        assert q.wait(200)
        until(lambda: sorted(q.to_polars().rows()) == [(1, "one"), (2, "two")], lambda: q.to_polars())
        run("UPDATE things SET name = 'ONE' WHERE id = 1")
        until(lambda: (1, "ONE") in q.to_polars().rows(), lambda: q.to_polars())
        run("INSERT INTO things VALUES (3, 'three')")
        run("DELETE FROM things WHERE id = 2")
        until(lambda: sorted(q.to_polars().rows()) == [(1, "ONE"), (3, "three")], lambda: q.to_polars())
        assert sorted(pl.DataFrame(q.changes()).select("op", "id", "name").rows()) == [
            (-1, 1, "one"),
            (-1, 2, "two"),
            (1, 1, "ONE"),
            (1, 1, "one"),
            (1, 2, "two"),
            (1, 3, "three"),
        ]
        with pytest.raises(QueryError, match="would undo this"):
            session.execute("DELETE FROM t")


def test_a_duckdb_file_that_another_connection_is_just_closing_is_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = tmp_path / "things.duckdb"
    assert _done(at, "CREATE TABLE things AS SELECT 1 AS id, 5 AS ts")
    connect, refused = duckdb.connect, iter(range(3))

    def closing(*args: Any, **options: Any) -> Any:
        if next(refused, None) is not None:
            raise duckdb.Error('Unique file handle conflict: the file is already attached by database "things"')
        return connect(*args, **options)

    monkeypatch.setattr(duckdb, "connect", closing)
    with Session({}) as session:
        session.execute(f"CREATE TABLE t SOURCE 'duckdb://{at}?table=things'")
        (q,) = session.execute("SELECT id FROM t")
        assert q.wait(200) and q.to_polars().rows() == [(1,)]
    assert next(refused, None) is None


@slow
def test_a_database_that_is_away_leaves_the_table_as_it_was_and_the_view_says_so() -> None:
    server = postgres()
    with psycopg.connect(server.address, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS prices")
        connection.execute("CREATE TABLE prices (id INT, price NUMERIC(8, 2), tags TEXT[])")
        connection.execute("INSERT INTO prices VALUES (1, 7.50, ARRAY['a'])")
    given: queue.SimpleQueue[dict[str, object] | None] = queue.SimpleQueue()
    with Session({"given": iter(given.get, None)}) as session:
        session.execute("CREATE STREAM s (id INT, ts BIGINT) ORDER BY ts SOURCE 'python://given'")
        session.execute(f"CREATE TABLE prices SOURCE '{server.address}?table=prices' WITH (refresh = '100 ms')")
        (q,) = session.execute("SELECT s.id, price, tags FROM s JOIN prices ON s.id = prices.id")

        def ask() -> list[tuple[Any, ...]]:
            before = q.to_polars().height
            given.put({"id": 1, "ts": time.time_ns() // 1000})
            until(lambda: q.to_polars().height > before, lambda: q.snapshot().hint)
            return [tuple(map(str, row)) for row in q.to_polars().rows()]

        assert ask() == [("1", "7.50", '["a"]')]
        server.kill()
        until(lambda: "Its rows stay as they were" in (q.snapshot().hint or ""), lambda: q.snapshot().hint)
        assert ask()[-1] == ("1", "7.50", '["a"]')
        server.start()
        with psycopg.connect(server.address, autocommit=True) as connection:
            connection.execute("UPDATE prices SET price = 8")
            until(lambda: q.snapshot().hint is None and ask()[-1][1] == "8.00", lambda: q.snapshot().hint)
            connection.execute("DROP TABLE prices")
        given.put(None)


def test_a_value_of_another_type_is_left_out_and_counted(tmp_path: Path) -> None:
    at = tmp_path / "odd.db"
    with sqlite3.connect(at) as connection:
        connection.execute("CREATE TABLE things (n INTEGER, at TIMESTAMP)")
        connection.executemany("INSERT INTO things VALUES (?, ?)", [(1, 1_700_000_000), ("many", 1_700_000_001)])
    connection.close()
    assert opened(f"sqlite://{at}?table=things").schema.find("at").dtype == pl.Int64  # type: ignore[union-attr]
    with pytest.raises(SourceError, match="timestamp_unit"), Session() as session:
        session.execute(f"CREATE TABLE t (n INT, at TIMESTAMP) SOURCE 'sqlite://{at}?table=things'")
    source = opened(
        f"sqlite://{at}?table=things", Schema.of([("n", pl.Int64()), ("at", TIMESTAMP)]), timestamp_unit="s"
    )
    with Session() as session:
        (said,) = session.run(
            f"CREATE TABLE t (n BIGINT, at TIMESTAMP) SOURCE 'sqlite://{at}?table=things' WITH (timestamp_unit = 's')"
        )
        assert "1 records could not be used" in str(said)
        (q,) = session.execute("SELECT * FROM t")
        assert q.wait(200) and [str(v) for v in q.to_polars().row(0)] == ["1", "2023-11-14 22:13:20"]
    assert source.replayable
