"""A text that isn't read as the TIMESTAMP it was declared to be: the reason names the declaration that reads it."""

from __future__ import annotations

import datetime as dt
import json
import re
from pathlib import Path

import polars as pl
import pytest

from jupyter_stream import QueryError, Session
from jupyter_stream.core import time_texts
from jupyter_stream.core.time_texts import pattern_to_declare
from jupyter_stream.session.query import Query
from tests.tiers import thinned

TEN = dt.datetime(2024, 5, 1, 10)


@pytest.fixture(autouse=True)
def in_2026(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which of two places holds a year depends on what year it is."""
    monkeypatch.setattr(time_texts, "_this_year", lambda: 2026)


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("01.05.2024 10:00", "dd.MM.yyyy HH:mm"),
        ("1.5.2024 10:00:00,5", "d.M.yyyy HH:mm:ss,S"),
        ("2024/05/01 10:00", "yyyy/MM/dd HH:mm"),
        ("31/12/24 23:59", "dd/MM/yy HH:mm"),
        ("01/May/2024:10:00:00 +0000", "dd/MMM/yyyy:HH:mm:ss Z"),
        ("1 May 2024 10:00", "d MMM yyyy HH:mm"),
        ("01 May 2024 10:00:00 GMT", "dd MMM yyyy HH:mm:ss 'GMT'"),
        ("May 1, 2024", "MMM d, yyyy"),
        ("September 12, 2024 9:05 PM", "MMMM dd, yyyy h:mm a"),
        ("Sep 12, 2024, 10:00:00", "MMM dd, yyyy, HH:mm:ss"),
        ("May 1", None),
        ("24-05-01 10:00:00", "yy-MM-dd HH:mm:ss"),
        ("24/05/31 10:00", "yy/MM/dd HH:mm"),
        ("01/02/24 10:00", "MM/dd/yy HH:mm"),
        ("00/05/31 10:00", "yy/MM/dd HH:mm"),
        ("20240501T100000Z", "yyyyMMdd'T'HHmmssX"),
        ("20240501 1000", "yyyyMMdd HHmm"),
        ("20240501T100000.123", "yyyyMMdd'T'HHmmss.SSS"),
        ("45.13.2024 10:00", None),
        ("31.04.2024", None),
        ("2024-02-30 10:00", None),
        ("2024-05-01 25:00", None),
        ("1.2.3", None),
        ("10:00", None),
        ("soon", None),
    ],
)
def test_the_pattern_to_declare(text: str, pattern: str | None) -> None:
    assert pattern_to_declare(pl.Series([text])) == pattern


@pytest.mark.parametrize(
    ("texts", "pattern"),
    [
        (["24/05/01 10:00", "24/05/02 10:00"], "yy/MM/dd HH:mm"),
        (["03/05/06 10:00", "03/05/07 10:00", "03/06/08 10:00"], "yy/MM/dd HH:mm"),
        (["01/05/06 10:00", "02/05/06 10:00", "03/05/06 10:00"], "MM/dd/yy HH:mm"),
        (["30/05/06 10:00", "30/05/06 11:00"], "dd/MM/yy HH:mm"),
    ],
)
def test_of_two_places_for_a_year_that_which_differs_less_is_one(texts: list[str], pattern: str) -> None:
    assert pattern_to_declare(pl.Series(texts)) == pattern


@pytest.mark.parametrize(
    "text",
    thinned([
        "Wed, 01 May 2024 10:00:00 +0000", "Wed, 01 May 2024 10:00:00 GMT", "Wed May  1 10:00:00 2024",
        "Wednesday, May 1, 2024 10:00 AM",
        "1 May 2024 10:00", "May 1, 2024 10:00", "May 1, 2024 10:00:00 AM", "20240501T100000Z", "20240501 1000",
        "01/May/2024:10:00:00 +0000", "[01/May/2024:12:00:00 +0200]", "01.05.2024 10:00", "2024/05/01 10:00:00.000",
        "24/05/01 10:00:00", "24-05-01 10:00",
    ]),
)  # fmt: skip
def test_what_the_first_window_asks_for_reads_it(text: str) -> None:
    with Session({"items": pl.DataFrame({"at": [text, text], "n": [1, 2]})}) as session:
        session.run("CREATE STREAM s SOURCE 'frame://items'")
        with pytest.raises(QueryError, match="looks like it, but is text") as asked:
            session.run("SELECT count(*) AS c FROM s [RANGE 1 MINUTE TUMBLING]")
        (line,) = re.findall(r"Write (CREATE STREAM .*?)\. For the", asked.value.hint or "")
        session.run(line.replace("CREATE", "CREATE OR REPLACE", 1))
        query = answered(session, "SELECT window_start, count(*) AS c FROM s [RANGE 1 MINUTE TUMBLING]")
        assert query.to_polars().select("window_start", "c").rows() == [(TEN, 2)]


@pytest.mark.parametrize("source", ["x.csv", "x.jsonl", "x.parquet", "python://items", "frame://items"])
def test_the_reason_names_the_declaration_that_reads_it(source: str, tmp_path: Path) -> None:
    texts = [f"{day:02}.05.2024 10:00" for day in (1, 13)]
    frame = pl.DataFrame({"at": texts, "n": [1, 2]})
    path = tmp_path / source
    namespace: dict[str, object] = {"items": frame if source.startswith("frame") else frame.to_dicts()}
    if source.endswith(".csv"):
        frame.write_csv(path)
    elif source.endswith(".jsonl"):
        frame.write_ndjson(path)
    elif source.endswith(".parquet"):
        frame.write_parquet(path)
    uri = source if "://" in source else f"file://{path}"
    statement = f"CREATE STREAM s (at TIMESTAMP, n INT) ORDER BY at SOURCE '{uri}'"
    with Session(namespace) as session:
        session.run(statement)
        query = answered(session, "SELECT at, n FROM s")
        reasons = query.errors["reason"].to_list()
        assert len(reasons) == 2
        for reason in reasons:
            assert "column at: '" in reason and "WITH (timestamp_format = 'dd.MM.yyyy HH:mm')" in reason
        session.run(f"{statement} {reasons[0].partition('is written: ')[2].partition(')')[0]})")
        assert answered(session, "SELECT at FROM s").to_polars()["at"].to_list() == [TEN, TEN + dt.timedelta(days=12)]


@pytest.mark.parametrize("source", ["parquet", "frame"])
def test_rows_that_are_refused_are_shown_as_json(source: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"k": ['a "b"'], "v": ["x"], "t": [TEN], "l": [[1, 2]], "m": [{"a": None}], "b": [b"caf\xe9"]})
    frame.write_parquet(tmp_path / "x.parquet")
    uri = f"file://{tmp_path}/x.parquet" if source == "parquet" else "frame://df"
    with Session({"df": frame}) as session:
        columns = "(k STRING, v INT, t TIMESTAMP, l ARRAY<INT>, m STRUCT<a: STRING>, b STRING)"
        session.run(f"CREATE STREAM s {columns} ORDER BY t SOURCE '{uri}'")
        (raw,) = answered(session, "SELECT * FROM s").errors["raw"].to_list()
    assert json.loads(raw) == {
        "k": 'a "b"', "v": "x", "t": "2024-05-01 10:00:00", "l": [1, 2], "m": {"a": None}, "b": "caf\ufffd",
    }  # fmt: skip


def answered(session: Session, text: str) -> Query:
    (query,) = session.execute(text)
    assert isinstance(query, Query) and query.wait(100)
    return query
