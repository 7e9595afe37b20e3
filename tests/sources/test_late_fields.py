"""Fields that come after the records from which the columns were found are told, with the declaration that reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
import pytest

from jupyter_stream import Session
from jupyter_stream.core.schema import Schema
from jupyter_stream.session.query import Query
from jupyter_stream.sources import Request, Source, open_source
from jupyter_stream.sources.file_columns import LOOKED_AT
from jupyter_stream.sources.messages import MessageFormat, Messages
from jupyter_stream.sources.protocol import Remarks
from tests.sources.conftest import collect
from tests.tiers import thinned

LONG = {"pad": "x" * 10_000}
HEAD = 110
"""So many long records are more than what is looked at to find the columns of a file."""
Rows = Sequence[Mapping[str, object]]


def written(path: Path, rows: Rows, array: bool = False) -> Path:
    text = [json.dumps(row) for row in rows]
    path.write_text("[" + ",\n".join(text) + "]" if array else "\n".join(text) + "\n")
    return path


def late(source: Source, *columns: str) -> dict[str, str]:
    """The late fields of one read, each with its type."""
    request = Request(columns or None)
    collect(source.read(request))
    found = request.remarks.late_fields
    if found is None:
        return {}
    return {".".join(p): str(Schema.of([("x", t)])).removeprefix("(x ")[:-1] for p, t in found.types.items()}


@pytest.mark.parametrize("array", thinned([False, True]))
@pytest.mark.parametrize(
    ("head", "later", "expected"),
    [
        ({"v": 1}, [{"v": 2, "hum": 1}, {"v": 3, "hum": 1.5}], {"hum": "DOUBLE"}),
        ({"v": 1}, [{"v": 1, "hum": "2024-05-01 10:00:00"}], {"hum": "TIMESTAMP"}),
        ({"m": {"t": 1}}, [{"m": {"t": 2, "on": True}}], {"m.on": "BOOLEAN"}),
        ({"m": [{"t": 1}]}, [{"m": [{"t": 1}, {"t": 2, "u": "x"}]}], {"m.u": "STRING"}),
        ({"v": 1}, [{"v": 2, "new": {"a": [1, 2.5]}}], {"new": "STRUCT<a: ARRAY<DOUBLE>>"}),
        ({"v": 1}, [{"V": 2}, {"v": 3, "": 4}, {"v": 5, "none": None}], {}),
        ({"v": '{"a": 1, "b": 2}'}, [{"v": '{"a": 1, "b": 2}', "new": 1}], {"new": "BIGINT"}),
    ],
)
def test_fields_that_come_later_are_found(
    head: Mapping[str, object], later: Rows, expected: dict[str, str], array: bool, tmp_path: Path
) -> None:
    path = written(tmp_path / "x.json", [*[{**head, **LONG}] * HEAD, *[{**row, **LONG} for row in later]], array)
    source = open_source(f"file://{path}", None, {}, {})
    assert late(source) == late(source, source.schema.names[0]) == expected
    assert late(open_source(f"file://{path}", source.schema, {}, {})) == {}, "these columns were declared"


def test_a_field_that_stays_is_found_where_others_are_missing(tmp_path: Path) -> None:
    rows = [{"a": 1, "b": 2, "c": 3}, *[LONG] * HEAD, *[{**LONG, "new": 2}] * 90]
    assert late(open_source(f"file://{written(tmp_path / 'x.jsonl', rows)}", None, {}, {})) == {"new": "BIGINT"}


def test_a_later_file_of_a_folder_may_have_them(tmp_path: Path) -> None:
    for i in range(LOOKED_AT + 3):
        written(tmp_path / f"{i:03}.jsonl", [{"v": 1} if i < LOOKED_AT else {"v": 1, f"f{i}": True}])
    found = late(open_source(f"file://{tmp_path}", None, {}, {}))
    assert found == {f"f{i}": "BOOLEAN" for i in range(LOOKED_AT, LOOKED_AT + 3)}


def test_dictionaries_of_the_notebook_too() -> None:
    items = [{"v": 1, "m": {"a": 1}}] * 500
    source = open_source("python://items", None, {}, {"items": items})
    items += [{"v": 1, "m": {"a": 1, "b": 2.5}}] * 500
    items.insert(777, {"v": 1, "new": "x"})
    assert late(source) == {"new": "STRING", "m.b": "DOUBLE"}
    assert late(open_source("python://items", source.schema, {}, {"items": items})) == {}


def test_messages_too() -> None:
    schema = Schema.of([("v", pl.Int64())])
    form = MessageFormat({}, schema, {}, Schema(()), "kafka://h/t")
    for found, expected in [(False, set[str]()), (True, {"hum"})]:
        form.is_found = found
        remarks = Remarks()
        parser = form.parser(schema.fields, remarks)
        for value in [b'{"v": 1}', b'{"v": 2,\n "hum": 3}', b"nothing"]:
            parser.parse(Messages([value], pl.DataFrame(), str))
        assert (set() if remarks.late_fields is None else {p[0] for p in remarks.late_fields.types}) == expected


def test_the_strip_says_it_once_with_a_declaration_that_reads_them(tmp_path: Path) -> None:
    row = {"at": "2024-05-01 10:00:00", "m": {"t": 1}}
    path = written(
        tmp_path / "x.jsonl", [*[{**row, **LONG}] * HEAD, *[{**row, "m": {"t": 1, "u": 2}, "order": 1.5}] * 3]
    )
    with Session({}) as session:
        session.run(f"CREATE STREAM s SOURCE 'file://{path}'")
        hint = answered(session, "SELECT count(*) AS n FROM s").snapshot().hint or ""
        assert hint.startswith("s: ") and "came after the first records: m.u, order." in hint
        statement = hint.partition("write ")[2].removesuffix(".")
        assert statement.startswith("CREATE STREAM s (at TIMESTAMP, ") and "ORDER BY at SOURCE" in statement
        session.run("DROP STREAM s")
        session.run(statement)
        query = answered(session, "SELECT m.u, `order` FROM s WHERE `order` > 1")
        assert query.to_polars().rows() == [(2, 1.5)] * 3 and query.snapshot().hint is None


def test_only_so_many_are_named() -> None:
    items: list[dict[str, int]] = [{"v": 1}]
    with Session({"items": items}) as session:
        session.run("CREATE STREAM s SOURCE 'python://items'")
        items += [{f"f{i:02}": i} for i in range(20)]
        hint = answered(session, "SELECT count(*) AS n FROM s").snapshot().hint or ""
        assert "f00, f01, " in hint and "f09 and others" in hint and "f10" not in hint


def answered(session: Session, text: str) -> Query:
    (query,) = session.execute(text)
    assert isinstance(query, Query) and query.wait(100)
    return query
