"""A frame of the notebook, a file or an address in FROM, without CREATE STREAM; and what is said where that can't be."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from jupyter_stream import Session
from jupyter_stream.errors import QueryError
from jupyter_stream.session.query import Query

START = dt.datetime(2024, 1, 1)
ORDERS = pl.DataFrame({"ts": [START + dt.timedelta(minutes=i) for i in range(120)], "n": range(120)})


@pytest.fixture
def session() -> Iterator[Session]:
    namespace: dict[str, object] = {
        "orders": ORDERS,
        "Deliveries": ORDERS,
        "words": pl.DataFrame({"w": ["a"]}),
        "ticks": [{"n": 1}],
        "column": ORDERS["n"],
        "columns": {"n": [1]},
        "numbers": np.arange(3),
    }
    with Session(namespace) as made:
        yield made


def answer(session: Session, text: str) -> pl.DataFrame:
    (query,) = session.execute(text)
    assert isinstance(query, Query) and query.wait(200)
    return query.to_polars()


def test_a_frame_is_a_stream_of_its_name_in_the_order_of_its_rows(session: Session) -> None:
    text = "SELECT count(*) AS n FROM orders [RANGE 1 HOUR TUMBLING]"
    said = session.run(text)
    assert "Stream orders declared: 2 columns" in str(said[0]) and len(said) == 2
    assert answer(session, text)["n"].to_list() == [60, 60]
    assert len(session.run(text)) == 1, "it is said once"
    assert answer(session, "SELECT n, row_num FROM orders WHERE n = 7").rows() == [(7, 8)]
    assert answer(session, "SELECT o.n FROM ORDERS [NOW] o JOIN deliveries [NOW] d ON o.n = d.n").height == 120


def test_a_frame_assigned_anew_has_its_new_columns(session: Session) -> None:
    answer(session, "SELECT n FROM orders")
    session.namespace["orders"] = pl.DataFrame({"amount": [1.5, 2.5]})
    assert answer(session, "SELECT sum(amount) AS total FROM orders")["total"].to_list() == [4.0]
    del session.namespace["orders"]
    with pytest.raises(QueryError, match="there is no stream called orders"):
        session.execute("SELECT * FROM orders")


def test_what_was_declared_goes_before_a_frame_of_that_name(session: Session) -> None:
    session.execute("CREATE STREAM orders SOURCE 'frame://words'")
    assert answer(session, "SELECT w FROM orders").rows() == [("a",)]


def test_a_folder_of_files_is_called_by_its_name(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("readings", "orders"):
        (tmp_path / name).mkdir()
        ORDERS[:7].write_ndjson(tmp_path / name / "a.jsonl")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("no data")
    for name in ("'readings'", "'readings/'", "readings"):
        assert answer(session, f"SELECT n FROM {name}").height == 7
    assert answer(session, "SELECT n FROM orders").height == 120, "the frame of that name"
    with pytest.raises(QueryError, match="there is no stream called notes"):
        session.execute("SELECT * FROM 'notes'")


def test_files_and_addresses_stand_in_quotes(session: Session, tmp_path: Path) -> None:
    for i in range(2):
        ORDERS[60 * i : 60 * i + 60].write_ndjson(tmp_path / f"{i}.jsonl")
    path = f"'{tmp_path}/*.jsonl'"
    assert answer(session, f"SELECT count(*) AS n FROM {path} [RANGE 1 HOUR TUMBLING]")["n"].to_list() == [60, 60]
    assert answer(session, f"SELECT l.n FROM {path} AS l WHERE l.n = 3").rows() == [(3,)]
    assert answer(session, f"SELECT count(*) AS n FROM TUMBLE({path}, ts, INTERVAL 2 HOURS)")["n"].to_list() == [120]
    assert answer(session, "SELECT count(*) AS n FROM 'generate://packets?rows=9'")["n"].to_list() == [9]


@pytest.mark.parametrize(
    ("name", "start", "hint"),
    [
        ("a.txt", b"ts\tn\n", "CREATE STREAM name SOURCE 'file://a.txt' WITH (format = 'csv')"),
        ("access.log", b"127.0.0.1 - -", "WITH (format = 'csv')"),
        ("a.xlsx", b"PK\x03\x04", "df = pd.read_excel(...)"),
        ("a.csv.bz2", b"BZh9", "pack it by gzip"),
        ("a.feather", b"ARROW1", "df = pl.read_ipc(...)"),
        ("a.db", b"SQLite format 3\0", "SOURCE 'sqlite://path'"),
    ],
)
def test_a_file_with_another_ending_is_refused_as_a_file(
    name: str, start: bytes, hint: str, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(start)
    for text in (f"SELECT * FROM '{name}'", f"CREATE STREAM s SOURCE 'file://{name}'"):
        with pytest.raises(QueryError) as caught:
            session.execute(text)
        assert hint in str(caught.value.hint)


def test_a_name_longer_than_any_path_is_a_name(session: Session) -> None:
    with pytest.raises(QueryError, match="there is no stream called"):
        session.execute(f"SELECT * FROM {'a' * 300}")


def test_a_file_that_is_not_there_is_an_error_at_its_place(session: Session, tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="No file matches") as caught:
        session.execute(f"SELECT *\nFROM '{tmp_path}/x.jsonl'")
    assert (caught.value.line, caught.value.column) == (2, 6)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("SELECT * FROM odrers", "Did you mean orders?"),
        ("SELECT * FROM ticks", "SOURCE 'python://ticks'"),
        ("SELECT * FROM column", "df = column.to_frame(), and write FROM df"),
        (
            "SELECT * FROM columns",
            "columns is a dict of the notebook, and no frame. Make one of it: df = pd.DataFrame(columns)",
        ),
        ("SELECT * FROM numbers", "df = pd.DataFrame(numbers)"),
        ("CREATE STREAM s SOURCE 'orders'", "Write SOURCE 'frame://orders'."),
        ("CREATE STREAM s SOURCE 'ticks'", "Write SOURCE 'python://ticks'."),
        ("CREATE STREAM s SOURCE 'logs/a.jsonl'", "Write SOURCE 'file://logs/a.jsonl'."),
    ],
)
def test_the_message_gives_the_line_to_write(session: Session, text: str, hint: str) -> None:
    with pytest.raises(QueryError) as caught:
        session.execute(text)
    assert hint in str(caught.value.hint)


def test_a_failed_statement_leaves_its_sayings_behind(session: Session) -> None:
    with pytest.raises(QueryError):
        session.run("SELECT nothing FROM orders")
    assert len(session.run("SHOW STREAMS")) == 1


def test_now_is_the_time_the_statement_began_wherever_it_stands(session: Session) -> None:
    text = "SELECT now() AS a, current_timestamp() AS b, CURRENT_TIMESTAMP AS c, localtimestamp AS d, current_date AS e"
    before = dt.datetime.now(dt.UTC).replace(tzinfo=None)
    ((a, b, c, d, e),) = answer(session, f"{text} FROM words").rows()
    assert a == b == c == d and before <= a <= dt.datetime.now(dt.UTC).replace(tzinfo=None)
    assert e == a.date()
