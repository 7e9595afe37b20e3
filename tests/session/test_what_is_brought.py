"""Files and words as people bring them from elsewhere: what they are told to write is what reads them."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from jupyter_stream import Query, QueryError, Session
from tests.tiers import thinned

ROWS = [{"at": "2024-05-01 10:00:00", "v": 1}, {"at": "2024-05-01 10:00:30", "v": 2}]


@pytest.fixture
def session() -> Iterator[Session]:
    with Session({}) as session:
        yield session


def declared(session: Session, path: Path, more: str = "") -> str:
    """What is said of a stream of that file."""
    (said,) = session.run(f"CREATE OR REPLACE STREAM s SOURCE 'file://{path}'{more}")
    return str(said)


def answered(session: Session, text: str) -> Query:
    (query,) = session.execute(text)
    assert isinstance(query, Query) and query.wait(100)
    return query


@pytest.mark.parametrize(
    ("name", "text", "says", "more"),
    [
        (
            "decimals.csv",
            "at;v\n2024-05-01 10:00:00;1,5\n2024-05-01 10:00:30;1,5\n",
            "looks like numbers",
            "decimal = ','",
        ),
        (
            "missing.csv",
            "at,v\n2024-05-01 10:00:00,NA\n2024-05-01 10:00:30,3\n",
            "STRING for the word NA",
            "null = 'NA'",
        ),
        (
            "units.csv",
            "at,v\n2024-05-01 10:00:00,degC\n2024-05-01 10:00:30,3\n",
            "for its first word, degC",
            "null = 'degC'",
        ),
    ],
)
def test_the_sum_of_a_column_of_text_says_what_makes_numbers_of_it(
    session: Session, tmp_path: Path, name: str, text: str, says: str, more: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    declared(session, path)
    with pytest.raises(QueryError, match="sum takes a number, not STRING") as wrong:
        session.run("SELECT sum(v) AS t FROM s [RANGE 1 MINUTE TUMBLING]")
    hint = str(wrong.value.hint)
    assert hint.startswith("In s, v ") and says in hint and f"WITH ({more})" in hint
    declared(session, path, f" WITH ({more})")
    assert answered(session, "SELECT sum(v) AS t FROM s [RANGE 1 MINUTE TUMBLING]").to_polars()["t"].to_list() == [3]


def test_the_sum_of_numbers_beyond_bigint_says_that_they_are_text(session: Session, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("v\n89441100682562700541\n")
    declared(session, tmp_path / "x.csv")
    with pytest.raises(QueryError) as wrong:
        session.run("SELECT sum(v) AS t FROM s")
    assert wrong.value.hint == "In s, v has whole numbers beyond BIGINT, so it is STRING."


def test_a_day_and_a_time_of_day_are_put_together(session: Session, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("day,clock,v\n2024-05-01,10:00:00,1\n2024-05-01,10:01:30,2\n")
    said = declared(session, tmp_path / "x.csv")
    (line,) = re.findall(r"for both together write (CREATE STREAM .*)\.", said)
    session.run(line.replace("CREATE", "CREATE OR REPLACE", 1))
    frame = answered(session, "SELECT v, count(*) AS c FROM s [RANGE 1 MINUTE TUMBLING] GROUP BY v").to_polars()
    assert frame["window_start"].to_list() == [dt.datetime(2024, 5, 1, 10), dt.datetime(2024, 5, 1, 10, 1)]


def test_a_computed_time_takes_a_name_that_is_free(session: Session, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("day,clock,day_clock\n2024-05-01,10:00:00,1\n")
    (line,) = re.findall(r"for both together write (CREATE STREAM .*)\.", declared(session, tmp_path / "x.csv"))
    session.run(line.replace("CREATE", "CREATE OR REPLACE", 1))
    assert answered(session, "SELECT * FROM s").to_polars().height == 1


@pytest.mark.parametrize(
    "text", ["day,v\n2024-05-01,soon\n", "day,a,b\n2024-05-01,10:00,11:00\n", "day,v\n2024-05-01,1\n"]
)
def test_a_day_alone_is_put_together_with_nothing(session: Session, tmp_path: Path, text: str) -> None:
    (tmp_path / "x.csv").write_text(text)
    assert "both together" not in declared(session, tmp_path / "x.csv")


@pytest.mark.parametrize(
    "whole",
    [
        {"at": {"0": ROWS[0]["at"], "1": ROWS[1]["at"]}, "v": {"0": 1, "1": 2}},
        {"columns": ["at", "v"], "index": [0, 1], "data": [list(row.values()) for row in ROWS]},
        {"schema": {"fields": [{"name": "at", "type": "string"}]}, "data": ROWS},
    ],
)
def test_a_table_in_one_object_is_told(session: Session, tmp_path: Path, whole: dict[str, object]) -> None:
    (tmp_path / "x.json").write_text(json.dumps(whole))
    assert "df.to_json(path, orient='records', lines=True)" in declared(session, tmp_path / "x.json")


@pytest.mark.parametrize("text", ["{}\n{}\n", "[{}]", '{"a": {}}'])
def test_objects_without_fields_are_no_table(session: Session, tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    try:
        said = declared(session, tmp_path / "x.json")
    except QueryError as wrong:
        said = str(wrong)
    assert "to_json" not in said


@pytest.mark.parametrize("name", thinned(["$type", "$fault", "$ts", "$broken"]))
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "frame", "list"])
def test_columns_that_begin_as_the_engines_own_are_left_out(
    session: Session, tmp_path: Path, kind: str, name: str
) -> None:
    frame = pl.DataFrame(
        {"at": [dt.datetime(2024, 5, 1, 10, 0, i) for i in (0, 2, 1)], name: [7, 8, 9], "v": [1, 2, 3]}
    )
    path = tmp_path / f"x.{kind}"
    if kind in ("csv", "jsonl", "parquet"):
        {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}[kind](path)
    session.namespace["rows"] = frame if kind == "frame" else frame.to_dicts()
    uri = {"frame": "frame://rows", "list": "python://rows"}.get(kind, f"file://{path}")
    (said,) = session.run(f"CREATE STREAM s WATERMARK FOR at AS at SOURCE '{uri}'")
    assert (f"No query can name {name}" in str(said)) == (kind != "list")
    both = "SELECT a.*, b.v AS w FROM s a LEFT JOIN s b [RANGE 1 SECOND] ON a.v = b.v"
    assert answered(session, both).to_polars().select("v", "w").sort("v").rows() == [(1, 1), (2, 2)]
    whole = answered(session, "SELECT * FROM s")
    assert whole.to_polars().columns == ["at", "v"] and not whole.errors.height
    assert answered(session, "SELECT v FROM late(s)").to_polars()["v"].to_list() == [3]


def test_a_source_of_such_columns_alone_is_refused(session: Session) -> None:
    session.namespace["rows"] = pl.DataFrame({"$a": [1]})
    with pytest.raises(QueryError, match=r"All columns begin with \$: \$a"):
        session.run("SELECT * FROM rows")


@pytest.mark.parametrize("value", [ROWS[0], {"at": ROWS[0]["at"], "m": {"a": 1, "0": 2}}, {"schema": "public", "v": 1}])
def test_a_row_is_none(session: Session, tmp_path: Path, value: dict[str, object]) -> None:
    (tmp_path / "x.json").write_text(json.dumps(value))
    assert "to_json" not in declared(session, tmp_path / "x.json")


def test_an_object_over_several_lines_is_told(session: Session, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps(ROWS[0], indent=2) + "\n" + json.dumps(ROWS[1], indent=2))
    with pytest.raises(QueryError) as wrong:
        declared(session, tmp_path / "x.json")
    assert "write one object a line" in str(wrong.value.hint)


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "[1, NaN]"])
def test_what_python_writes_for_no_number_is_told(session: Session, tmp_path: Path, number: str) -> None:
    lines = [f'{{"at": "2024-05-01 10:00:00", "v": {v}, "t": "a NaN"}}' for v in ("1.5", number, "nonsense")]
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    declared(session, tmp_path / "x.jsonl")
    told = answered(session, "SELECT * FROM s").errors["reason"].to_list()
    assert len(told) == 2
    assert told[0].startswith("not JSON: NaN and Infinity are no numbers there, write null")
    assert told[1].startswith("not JSON: Expecting value")


@pytest.mark.parametrize(
    ("first", "unit"), [("1714557600", "s"), ("1714557600000", "ms"), ("1714557600000000000", "ns")]
)
def test_numbers_since_1970_in_texts_are_told_with_the_line_that_reads_them(
    session: Session, tmp_path: Path, first: str, unit: str
) -> None:
    (tmp_path / "x.jsonl").write_text("\n".join(json.dumps({"at": first, "k": "0123456789", "v": v}) for v in (1, 2)))
    said = declared(session, tmp_path / "x.jsonl")
    (line,) = re.findall(r"if it is the event time, write (CREATE STREAM .*)\.", said)
    assert f"timestamp_unit = '{unit}'" in line
    session.run(line.replace("CREATE", "CREATE OR REPLACE", 1))
    frame = answered(session, "SELECT count(*) AS c FROM s [RANGE 1 MINUTE TUMBLING]").to_polars()
    assert frame.select("window_start", "c").rows() == [(dt.datetime(2024, 5, 1, 10), 2)]


def test_a_header_further_down_is_told(session: Session, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("Report of sensors\n\nat,v\n2024-05-01 10:00:00,1\n2024-05-01 10:00:30,2\n")
    assert "take the lines above it away" in declared(session, tmp_path / "x.csv")


@pytest.mark.parametrize(
    "function", ["read_csv", "read_csv_auto", "READ_PARQUET", "scan_ndjson", "parquet_scan", "read_json"]
)
def test_functions_that_read_files_are_told_to_be_names(session: Session, tmp_path: Path, function: str) -> None:
    pl.DataFrame(ROWS).write_csv(tmp_path / "x.csv")
    with pytest.raises(QueryError) as wrong:
        session.run(f"SELECT v FROM {function}('{tmp_path / 'x.csv'}')")
    (name,) = re.findall(r"by its name: FROM ('.*')\. Options", str(wrong.value.hint))
    assert answered(session, f"SELECT v FROM {name}").to_polars()["v"].to_list() == [1, 2]


def test_top_is_limit(session: Session) -> None:
    session.namespace["rows"] = pl.DataFrame(ROWS)
    with pytest.raises(QueryError, match="TOP 5 isn't expected here") as wrong:
        session.run("SELECT TOP 5 v FROM rows")
    assert "LIMIT 5" in str(wrong.value.hint)
