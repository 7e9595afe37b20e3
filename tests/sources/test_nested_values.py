"""Objects and arrays, found and declared: every type at every place, each right, told of, or refused; never a raw error."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from jupyter_stream import Session
from tests.tiers import slow

GOOD: dict[str, tuple[Any, Any]] = {
    "BOOLEAN": (True, True),
    "INT": (7, 7),
    "BIGINT": (2**40, 2**40),
    "DOUBLE": (1.5, 1.5),
    "STRING": ("x", "x"),
    "DATE": ("2024-05-01", dt.date(2024, 5, 1)),
    "TIMESTAMP": ("2024-05-01T10:00:00.25", dt.datetime(2024, 5, 1, 10, 0, 0, 250_000)),
    "ARRAY<INT>": ([1, None, 2], [1, None, 2]),
    "STRUCT<x: INT>": ({"x": 1}, {"x": 1}),
    "ARRAY<STRUCT<x: BOOLEAN>>": ([{"x": True}, {}], [{"x": True}, {"x": None}]),
}
"""By type a value as JSON has it, and as the answer has it."""

BAD: dict[str, Any] = {
    "BOOLEAN": "perhaps", "INT": 1.5, "BIGINT": 2**70, "DOUBLE": "abc", "DATE": "no day", "TIMESTAMP": "noon",
    "ARRAY<INT>": [1, 1.5], "STRUCT<x: INT>": {"x": "y"}, "ARRAY<STRUCT<x: BOOLEAN>>": [{"x": 5}],
}  # fmt: skip
"""By type a value that is none."""

PLACES: dict[str, tuple[str, Any, str]] = {
    "top level": ("{}", lambda v: v, "v"),
    "in a struct": ("STRUCT<a: INT, f: {}>", lambda v: {"a": 1, "f": v}, "v.f"),
    "in a list": ("ARRAY<{}>", lambda v: [v], "v[0]"),
    "in a struct in a list": ("ARRAY<STRUCT<f: {}>>", lambda v: [{"f": v}], "v[0].f"),
}
"""By place the type around it, the value around it, and how it is read."""


def answers(
    source: str, tmp_path: Path, rows: list[dict[str, Any]], columns: str, *queries: str
) -> list[tuple[list[Any], list[str]]]:
    """What queries answer, in the first column, and the reasons in errors(s) of each."""
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    uri = f"file://{path}" if source == "json" else "python://rows"
    with Session({"rows": rows}) as session:
        session.run(f"CREATE STREAM s {columns} SOURCE '{uri}' WITH (time = 'latent')")
        found = []
        started: list[Any] = list(session.execute("; ".join(queries)))
        for query in started:
            assert query.wait(60)
            told = query.errors.get_column("reason").to_list()
            found.append((query.to_polars().to_series(0).to_list(), told))
        return found


@pytest.mark.parametrize(("source", "place"), [(s, p) for s in ("json", "python") for p in PLACES])
def test_every_declared_type_is_read_at_every_place_and_a_bad_value_only_harms_who_asks_for_it(
    tmp_path: Path, source: str, place: str
) -> None:
    around, value, read = PLACES[place]
    types = list(GOOD)
    columns = ", ".join(f"v{i} {around.format(dtype)}" for i, dtype in enumerate(types))
    good = {f"v{i}": value(GOOD[t][0]) for i, t in enumerate(types)}
    rows = [good, {f"v{i}": value(None) for i in range(len(types))}, {f"v{i}": None for i in range(len(types))}, {}]
    rows += [{**good, f"v{i}": value(BAD[t])} for i, t in enumerate(types) if t in BAD]
    nested = [i for i, t in enumerate(types) if place != "top level" or "<" in t]
    queries = [f"SELECT {read.replace('v', f'v{i}', 1)} AS x FROM s" for i in range(len(types))]
    found = answers(source, tmp_path, [{"n": n, **row} for n, row in enumerate(rows)], f"(n INT, {columns})", *queries)
    elsewhere = len([t for i, t in enumerate(types) if t in BAD and i not in nested])  # they take their rows from all
    for i, (values, reasons) in enumerate(found):
        dtype, expected = types[i], GOOD[types[i]][1]
        own = dtype in BAD and i in nested
        assert values == [expected, None, None, None] + [expected] * (len(BAD) - elsewhere - own), dtype
        told = [r for r in reasons if f"column v{i}" in r]
        assert len(reasons) == elsewhere + own and len(told) == (dtype in BAD), dtype
        assert all("can't be read as" in r for r in told)


@pytest.mark.parametrize("source", ["json", "python"])
def test_a_value_of_another_shape_spoils_only_its_own_part(tmp_path: Path, source: str) -> None:
    rows: list[dict[str, Any]] = [
        {"n": 1, "m": {"a": 1, "b": {"c": 1}}},
        {"n": 2, "m": {"a": 2, "b": 5}},
        {"n": 3, "m": [1]},
        {"n": 4, "m": {"a": [1], "b": {"c": 4}}},
    ]
    columns = "(n INT, m STRUCT<a: INT, b: STRUCT<c: INT>>)"
    queries = ["SELECT m.a FROM s", "SELECT m.b.c FROM s", "SELECT count(*) FROM s", "SELECT n FROM s WHERE m.b.c > 0"]
    found = answers(source, tmp_path, rows, columns, *queries)
    assert [values for values, _ in found] == [[1, 2], [1, 4], [4], [1, 4]]
    assert [len(reasons) for _, reasons in found] == [2, 2, 0, 2]
    assert any("m.b: " in r and "STRUCT<c: INT>" in r for r in found[1][1])


WIDENED: list[tuple[list[Any], str]] = [
    ([{"temp": 21}, {"temp": 21.5}], "STRUCT<temp: DOUBLE>"),
    ([{"temp": 21}, {"temp": 20, "hum": 3}], "STRUCT<temp: BIGINT, hum: BIGINT>"),
    ([[1], [1.5]], "ARRAY<DOUBLE>"),
    ([[], [1]], "ARRAY<BIGINT>"),
    ([[{"a": 1}], [{"a": 1.5, "b": True}]], "ARRAY<STRUCT<a: DOUBLE, b: BOOLEAN>>"),
    ([{"a": {"b": None}}, {"a": {"b": [1]}}], "STRUCT<a: STRUCT<b: ARRAY<BIGINT>>>"),
    ([{"a": 1}, {"a": "x"}], "STRUCT<a: STRING>"),
    ([{"a": 1}, [1]], "STRING"),
    ([{"a": 2**70}, {"a": 1}], "STRUCT<a: STRING>"),
    ([None, {"on": True}], "STRUCT<on: BOOLEAN>"),
]


@pytest.mark.parametrize(("source", "values", "dtype"), [(s, *w) for s in ("json", "python") for w in WIDENED])
def test_types_are_those_of_all_values_at_every_level(
    tmp_path: Path, source: str, values: list[Any], dtype: str
) -> None:
    rows = [{"m": v} for v in values]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with Session({"rows": rows}) as session:
        session.run(f"CREATE STREAM s SOURCE '{f'file://{path}' if source == 'json' else 'python://rows'}'")
        listing: Any = session.run("DESCRIBE s")[0]
        assert listing.frame.row(0)[1] == dtype
        query: Any = session.execute("SELECT m FROM s")[0]
        assert query.wait(60)
        assert query.errors.height == 0 and query.to_polars().height == len(values)


def test_texts_that_are_all_times_are_times_inside_objects_too(tmp_path: Path) -> None:
    rows = [{"m": {"t": "2024-05-01T10:00:00", "d": ["2024-05-01"]}}, {"m": {"t": "2024-05-01T10:00:01Z", "d": []}}]
    found = answers("json", tmp_path, rows, "", "SELECT m.t FROM s", "SELECT get(m.d, 0) FROM s")
    assert found[0] == ([dt.datetime(2024, 5, 1, 10), dt.datetime(2024, 5, 1, 10, 0, 1)], [])
    assert found[1] == ([dt.date(2024, 5, 1), None], [])


def test_a_field_is_told_from_a_column_of_its_name(tmp_path: Path) -> None:
    rows = [{"raw": "top", "m": {"raw": "inner"}}]
    queries = ["SELECT m.raw FROM s", "SELECT raw FROM s", "SELECT s.m.raw FROM s", "SELECT s.raw FROM s"]
    assert [v for v, _ in answers("json", tmp_path, rows, "", *queries)] == [["inner"], ["top"], ["inner"], ["top"]]


@slow
@pytest.mark.parametrize("size", [1, 7, 100])
def test_queries_that_share_a_live_stream_each_lose_what_they_ask_for(size: int) -> None:
    rows = [{"n": i, "m": {"a": i if i % 3 else "x", "b": i if i % 5 else "y"}} for i in range(1, 101)]
    batches = [rows[i : i + size] for i in range(0, len(rows), size)]
    with Session({"rows": (row for batch in batches for row in batch)}) as session:
        session.run("CREATE STREAM s (n INT, m STRUCT<a: INT, b: INT>) SOURCE 'python://rows'")
        queries: list[Any] = session.execute("SELECT n FROM s; SELECT m.a FROM s; SELECT m.b FROM s; SELECT m FROM s")
        assert all(q.wait(60) for q in queries)
        assert [q.to_polars().height for q in queries] == [100, 67, 80, 53]
        assert [q.errors.height for q in queries] == [0, 33, 20, 47]


def test_two_equal_records_with_a_bad_part_are_two_errors() -> None:
    rows = [{"n": 1, "m": {"a": "x"}}, {"n": 1, "m": {"a": "x"}}, {"n": 2, "m": {"a": 2}}]
    with Session({"rows": iter(rows)}) as session:
        session.run("CREATE STREAM s (n INT, m STRUCT<a: INT>) SOURCE 'python://rows'")
        queries: list[Any] = session.execute("SELECT n FROM s; SELECT m.a FROM s; SELECT m FROM s")
        assert all(q.wait(200) for q in queries)
        assert [(q.to_polars().height, q.errors.height) for q in queries] == [(3, 0), (1, 2), (1, 2)]
        assert session.side_stream("errors", "s").frame().height == 2


FOLDERS: dict[str, tuple[list[Any], str, list[Any]]] = {
    "a wider number": ([{"a": 1}, {"a": 1.5}], "v.a", [1.0, 1.5]),
    "a field of later files": ([{"a": 1}, {"a": 2, "b": "x"}], "v.b", [None, "x"]),
    "deeper": ([{"a": {"b": [1]}}, {"a": {"b": [1.5], "c": True}}], "v.a.b[0]", [1.0, 1.5]),
    "in a list": ([[{"a": 1}], [{"a": 2, "b": True}]], "v[0].b", [None, True]),
    "no value first": ([None, 1.5], "v", [None, 1.5]),
    "no object first": ([None, {"a": 1}], "v.a", [None, 1]),
    "an object without fields first": ([{}, {"a": 1}], "v.a", [None, 1]),
    "a field without a value first": ([{"a": None}, {"a": 1.5}], "v.a", [None, 1.5]),
    "an empty list first": ([[], [1.5]], "v", [[], [1.5]]),
    "no value at all": ([None, None], "v", [None, None]),
    "a field without a value at all": ([{"a": None}, {"a": None}], "v.a", [None, None]),
    "objects and lists": ([{"a": 1}, [1]], "v", ['{"a": 1}', "[1]"]),
    "numbers and texts": ([{"a": 1}, {"a": "x"}], "v.a", ["1", "x"]),
}
"""By what differs between two files the value in each, how it is read and what is read."""


@pytest.mark.parametrize("differs", FOLDERS)
def test_types_hold_the_values_of_all_files_of_a_folder(differs: str, tmp_path: Path) -> None:
    values, read, expected = FOLDERS[differs]
    for number, value in enumerate(values):
        row = {"at": f"2024-05-01T10:00:0{number}", "v": value}
        (tmp_path / f"{number}.jsonl").write_text(json.dumps(row, separators=(",", ":")) + "\n")
    with Session({}) as session:
        session.run(f"CREATE STREAM s SOURCE 'file://{tmp_path}'")
        query: Any = session.run(f"SELECT {read} AS v FROM s")[-1]
        assert query.wait(60)
        assert query.errors.height == 0
        assert query.to_polars().to_series(0).to_list() == expected


def test_fields_of_structs_in_parquet_may_differ_between_files(tmp_path: Path) -> None:
    at = dt.datetime(2024, 5, 1)
    pl.DataFrame({"at": [at], "m": [{"a": 1}]}).write_parquet(tmp_path / "0.parquet")
    pl.DataFrame({"at": [at], "m": [{"a": 1.5, "b": "x"}]}).write_parquet(tmp_path / "1.parquet")
    with Session({}) as session:
        session.run(f"CREATE STREAM s SOURCE 'file://{tmp_path}'")
        query: Any = session.run("SELECT m.a, m.b FROM s")[-1]
        assert query.wait(60)
        assert query.errors.height == 0
        assert query.to_polars().rows() == [(1.0, None), (1.5, "x")]


@pytest.mark.parametrize("folder", ["", "day=2024-05-01"])
@pytest.mark.parametrize("kind", ["json", "csv"])
def test_a_bad_part_is_told_of_where_columns_come_from_elsewhere_too(folder: str, kind: str, tmp_path: Path) -> None:
    """From the name of a folder, or from nowhere: another file has a column that this one lacks."""
    place = tmp_path / "files" / folder
    place.mkdir(parents=True)
    values = [(1, '{"a":1,"b":"x"}'), (2, '{"a":2,"b":3}')]
    if kind == "json":
        (place / "a.jsonl").write_text("".join(f'{{"n":{n},"m":{m}}}\n' for n, m in values))
        (place / "b.jsonl").write_text('{"n":3,"w":7}\n')
    else:
        quoted = [(n, m.replace('"', '""')) for n, m in values]
        (place / "a.csv").write_text("n,m\n" + "".join(f'{n},"{m}"\n' for n, m in quoted))
        (place / "b.csv").write_text("n,w\n3,7\n")
    columns = "n BIGINT, m STRUCT<a: INT, b: INT>, w INT" + (", day DATE" if folder else "")
    with Session() as session:
        session.execute(f"CREATE STREAM s ({columns}) SOURCE 'file://{tmp_path / 'files'}' WITH (time = 'latent')")
        answers: list[Any] = [session.run(f"SELECT n, m.{part} AS v FROM s")[-1] for part in "ab"]
        assert all(query.wait(200) for query in answers)
        assert [sorted(query.to_polars().rows(), key=repr) for query in answers] == [
            [(1, 1), (2, 2), (3, None)],
            [(2, 3), (3, None)],
        ]
        assert [query.errors.height for query in answers] == [0, 1]
