"""Types x places x sources: what a frame or a Parquet file holds is read right, told, or refused by name; never a raw error.

One frame has a column of every type, so that a few queries see them all.
"""

from __future__ import annotations

import datetime as dt
import io
import uuid
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jupyter_stream import Query, Session
from jupyter_stream.errors import QueryError
from tests.tiers import only

AT = [dt.datetime(2024, 5, 1, 10, 0, s) for s in range(3)]
DAY = dt.date(2024, 5, 1)
FIRST, LAST = uuid.UUID(int=5), uuid.UUID(int=7)
D = Decimal


def _of(values: list[object], kind: pa.DataType) -> pa.Array:
    return pa.array(values, kind)


def _extension(kind: pa.DataType, values: list[object]) -> pa.Array:
    return pa.ExtensionArray.from_storage(kind, pa.array(values, kind.storage_type))


def _span(months: int) -> pa.Array:
    return pa.scalar((months, 2, 3_000_000_000), pa.month_day_nano_interval()).as_py()


def zones() -> list[str]:
    """Offsets at every quarter of an hour, and names."""
    offsets = [f"{'-' if q < 0 else '+'}{abs(q) // 4:02d}:{abs(q) % 4 * 15:02d}" for q in range(-14 * 4, 14 * 4 + 1)]
    return [*offsets, "UTC", "Z", "Europe/Vienna", "Asia/Kathmandu", "Nowhere/Land"]


# name: the column, and what is read of it
ARROW: dict[str, tuple[object, list[object]]] = {
    "nothing": (_of([None] * 3, pa.null()), [None] * 3),
    "truth": (_of([True, None, False], pa.bool_()), [True, None, False]),
    **{
        str(kind): (_of([1, None, 100], kind), [1, None, 100])
        for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
    },
    "half": (pa.array(np.array([1.5, 2, 3], np.float16)), [1.5, 2.0, 3.0]),
    "float": (_of([1.5, None, 2.5], pa.float32()), [1.5, None, 2.5]),
    "double": (_of([1.5, None, 2.5], pa.float64()), [1.5, None, 2.5]),
    "decimal32": (_of([D("1.5"), None, D("2.5")], pa.decimal32(5, 1)), [D("1.5"), None, D("2.5")]),
    "decimal64": (_of([D("1.5"), None, D("2.5")], pa.decimal64(12, 1)), [D("1.5"), None, D("2.5")]),
    "decimal128": (_of([D("1.5"), None, D("2.5")], pa.decimal128(20, 1)), [D("1.5"), None, D("2.5")]),
    "decimal256": (_of([D("1.5"), None, D("2.5")], pa.decimal256(30, 1)), [D("1.5"), None, D("2.5")]),
    "long_decimal": (_of([D("1.5"), None, D("2.5")], pa.decimal256(50, 1)), ["1.5", None, "2.5"]),
    "hundreds": (_of([D(100), None, D(200)], pa.decimal128(5, -2)), [D(100), None, D(200)]),
    "text": (_of(["a", None, "c"], pa.string()), ["a", None, "c"]),
    "large_text": (_of(["a", None, "c"], pa.large_string()), ["a", None, "c"]),
    "text_view": (_of(["a", None, "c"], pa.string_view()), ["a", None, "c"]),
    "bytes": (_of([b"a", None, b"\xff"], pa.binary()), [b"a", None, b"\xff"]),
    "two_bytes": (_of([b"ab", None, b"\xff\xff"], pa.binary(2)), [b"ab", None, b"\xff\xff"]),
    "day": (_of([DAY, None, dt.date(1950, 1, 1)], pa.date32()), [DAY, None, dt.date(1950, 1, 1)]),
    "clock": (_of([dt.time(10), None, dt.time(11, 30)], pa.time64("us")), ["10:00:00", None, "11:30:00"]),
    **{f"at_{u}": (_of([AT[0], None, AT[2]], pa.timestamp(u)), [AT[0], None, AT[2]]) for u in ("s", "ms", "us", "ns")},
    "for": (_of([1, None, 3], pa.duration("s")), [dt.timedelta(seconds=1), None, dt.timedelta(seconds=3)]),
    "months": (_of([_span(1), None, _span(4)], pa.month_day_nano_interval()), ["P1M2DT3S", None, "P4M2DT3S"]),
    "view": (_of([[1], None, [2, 3]], pa.list_view(pa.int64())), [[1], None, [2, 3]]),
    "pair": (_of([[1, 2], None, [3, 4]], pa.list_(pa.int64(), 2)), [[1, 2], None, [3, 4]]),
    "map": (_of([[("a", 1)], None, [("b", 2)]], pa.map_(pa.string(), pa.int64())), ['{"a":1}', None, '{"b":2}']),
    "word": (_of(["a", None, "b"], pa.string()).dictionary_encode(), ["a", None, "b"]),
    "coded": (_of([5, None, 7], pa.int64()).dictionary_encode(), [5, None, 7]),
    "coded_at": (_of([AT[0], None, AT[2]], pa.timestamp("us", "+05:45")).dictionary_encode(), [AT[0], None, AT[2]]),
    "runs": (pa.RunEndEncodedArray.from_arrays([2, 3], ["a", "b"]), ["a", "a", "b"]),
    "uuid": (_extension(pa.uuid(), [FIRST.bytes, None, LAST.bytes]), [str(FIRST), None, str(LAST)]),
    "json": (_extension(pa.json_(), ['{"a":1}', None, "[1]"]), ['{"a":1}', None, "[1]"]),
    "truth8": (_extension(pa.bool8(), [1, None, 0]), [True, None, False]),
    "tensor": (pa.FixedShapeTensorArray.from_numpy_ndarray(np.arange(6).reshape(3, 2)), [[0, 1], [2, 3], [4, 5]]),
    "opaque": (_extension(pa.opaque(pa.int64(), "x", "y"), [1, None, 2]), [1, None, 2]),
    "either": (
        pa.UnionArray.from_sparse(_of([0, 1, 0], pa.int8()), [pa.array([1, 2, 3]), pa.array(["a", "b", "c"])]),
        ["1", "b", "3"],
    ),
    **{f"zone {z}": (_of([AT[0], None, AT[2]], pa.timestamp("us", z)), [AT[0], None, AT[2]]) for z in zones()},
}
NOT_IN_PARQUET = {"hundreds", "months", "runs", "either"}
NOT_IN_POLARS = {*NOT_IN_PARQUET, "decimal256", "long_decimal", "view", "coded_at", "decimal32", "decimal64", "uuid"}


def nested(column: pa.Array, place: str) -> pa.Array:
    if place == "all NULL":
        return pa.nulls(len(column), column.type)
    if "struct" in place:
        absent = pa.array([False, False, True]) if place == "NULL struct" else None
        return pa.StructArray.from_arrays([column, pa.array([1, 2, 3])], ["x", "n"], mask=absent)
    if "list" in place:
        return pa.ListArray.from_arrays(pa.array([0, 1, None if place == "NULL list" else 2, 3], pa.int32()), column)
    return column


def wanted(values: list[object], place: str) -> list[object]:
    if place == "all NULL":
        return [None] * len(values)
    if "struct" in place:
        held = [{"x": v, "n": n} for n, v in enumerate(values, 1)]
        return [*held[:2], None] if place == "NULL struct" else held
    if place == "NULL list":
        return [values[:1], values[1:], None]
    return [[v] for v in values] if place == "list" else values


def table(place: str, names: Iterator[str] | list[str]) -> pa.Table:
    return pa.table({"at": AT, "v": [1, 2, 3], **{n: nested(ARROW[n][0], place) for n in names}})


def read(frames: Mapping[str, object], uri: str, *columns: str) -> pl.DataFrame:
    """What a query gives, with no row refused."""
    with Session(dict(frames)) as session:
        wanted_columns = ", ".join(f"`{c}`" for c in columns) or "*"
        (query,) = session.execute(f"CREATE STREAM s SOURCE '{uri}'; SELECT {wanted_columns} FROM s")
        assert isinstance(query, Query) and query.wait(200)
        assert query.errors.height == 0
        assert query.to_arrow().num_rows == 3
        query.to_pandas()
        return query.to_polars()


def check(found: pl.DataFrame, place: str, names: list[str]) -> None:
    for name in names:
        assert found[name].to_list() == wanted(ARROW[name][1], place), name


PLACES = ["top", "struct", "list"]
EACH = only([*PLACES, "all NULL", "NULL struct", "NULL list"], "top")


@pytest.mark.parametrize("place", EACH)
def test_every_type_of_an_arrow_table_is_read(place: str) -> None:
    whole = table(place, list(ARROW))
    check(read({"df": whole}, "frame://df"), place, list(ARROW))
    cut = pa.concat_tables([whole.slice(2), whole]).slice(1)  # columns that don't begin where their memory does
    check(read({"df": cut}, "frame://df"), place, list(ARROW))
    assert read({"df": whole}, "frame://df", "v").rows() == [(1,), (2,), (3,)]


def is_written(name: str, place: str) -> bool:
    """Whether pyarrow writes such a column into a Parquet file: of these each release writes more."""
    try:
        pq.write_table(table(place, [name]), io.BytesIO())
    except pa.ArrowNotImplementedError:
        return False
    return True


@pytest.mark.parametrize("place", EACH)
def test_every_type_of_a_parquet_file_is_read(place: str, tmp_path: Path) -> None:
    lately = {n for n in ("decimal32", "decimal64", "pair", "text_view", "view") if not is_written(n, place)}
    names = [n for n in ARROW if n not in NOT_IN_PARQUET | lately]
    plain = [n for n in names if not n.startswith(("zone", "coded_at", "view", "long", "decimal256"))]
    for group in (names, plain):  # those that Polars reads, by themselves: the way is another
        path = tmp_path / f"{len(group)}.parquet"
        pq.write_table(table(place, group), path)
        check(read({}, f"file://{path}"), place, group)
        assert read({}, f"file://{path}", "v").rows() == [(1,), (2,), (3,)]


@pytest.mark.parametrize("place", EACH)
def test_every_type_of_a_polars_frame_is_read(place: str) -> None:
    names = [n for n in ARROW if n not in NOT_IN_POLARS and not n.startswith("zone")]
    frame = pl.DataFrame([pl.Series(n, c) for n, c in zip(["at", "v", *names], table(place, names), strict=True)])
    check(read({"df": frame}, "frame://df"), place, names)
    check(read({"df": frame.lazy()}, "frame://df"), place, names)


@pytest.mark.parametrize("place", EACH)
def test_every_type_of_arrow_in_a_pandas_frame_is_read(place: str) -> None:
    names = [n for n in ARROW if n not in {"runs", "either", "months"}]
    frame = pd.DataFrame({
        n: pd.Series(pd.arrays.ArrowExtensionArray(c.combine_chunks()))
        for n, c in zip(["at", "v", *names], table(place, names), strict=True)
    })  # fmt: skip
    check(read({"df": frame}, "frame://df"), place, names)


def _objects(*values: object) -> pd.Series:
    return pd.Series(list(values), dtype=object)


def _zoned(minutes: int, seconds: int = 0) -> dt.timezone:
    return dt.timezone(dt.timedelta(minutes=minutes, seconds=seconds))


class Silent:
    """It has no text."""

    def __repr__(self) -> str:
        raise RuntimeError


MONTHS = pd.period_range("2024-01", periods=3, freq="M")
UTC = [dt.datetime(2024, 5, 1, 4, 30, s) for s in range(3)]
PANDAS: dict[str, tuple[object, list[object]]] = {
    "band": (pd.Series(pd.cut([1, 2, 3], [0, 1, 2, 3])), ["(0, 1]", "(1, 2]", "(2, 3]"]),
    "interval": (pd.Series(pd.interval_range(0, 3, closed="left")), ["[0, 1)", "[1, 2)", "[2, 3)"]),
    "month": (pd.Series(MONTHS), ["2024-01", "2024-02", "2024-03"]),
    "coded_month": (pd.Series(pd.Categorical(MONTHS)), ["2024-01", "2024-02", "2024-03"]),
    "sparse": (pd.Series(pd.arrays.SparseArray([0, 0, 1])), [0, 0, 1]),
    "complex": (pd.Series([1 + 2j, 2j, 3j]), ["(1+2j)", "2j", "3j"]),
    "delhi": (pd.Series(AT).dt.tz_localize(_zoned(330)), UTC),
    "odd": (pd.Series(AT).dt.tz_localize(_zoned(330, 13)), [t - dt.timedelta(seconds=13) for t in UTC]),
    "coded_at": (pd.Series(pd.Categorical(pd.Series(AT).dt.tz_localize("Asia/Kolkata"))), UTC),
    "zones": (
        _objects(AT[0].replace(tzinfo=_zoned(-210)), None, AT[2].replace(tzinfo=_zoned(345))),
        [dt.datetime(2024, 5, 1, 13, 30), None, dt.datetime(2024, 5, 1, 4, 15, 2)],
    ),
    "days_and_times": (_objects(DAY, AT[1], None), [dt.datetime(2024, 5, 1), AT[1], None]),
    "numpy_days": (_objects(np.datetime64("2024-05-01"), None, None), [dt.datetime(2024, 5, 1), None, None]),
    "uuid": (_objects(FIRST, None, LAST), [str(FIRST), None, str(LAST)]),
    "silent": (_objects(Silent(), None, Silent()), ["<Silent>", None, "<Silent>"]),
    "with_uuid": (_objects({"u": FIRST}, None, {"u": LAST}), [{"u": str(FIRST)}, None, {"u": str(LAST)}]),
    "with_zone": (_objects([AT[0].replace(tzinfo=_zoned(330))], None, []), [[UTC[0]], None, []]),
    "mixed": (_objects({"a": 1}, {"a": "x"}, [1, "b"]), ['{"a": 1}', '{"a": "x"}', '[1, "b"]']),
    "long": (_objects(D("1" * 45), None, D(2)), ["1" * 45, None, "2"]),
    "large": (_objects(2**70, 1, -2), [D(2**70), D(1), D(-2)]),
    "unsigned": (pd.Series(np.array([1, 2, 2**64 - 1], np.uint64)), [D(1), D(2), D(2**64 - 1)]),
}


def test_every_type_of_pandas_is_read_and_what_becomes_text_is_told() -> None:
    frame = pd.DataFrame({"at": AT, "v": [1, 2, 3], **{n: c for n, (c, _) in PANDAS.items()}})
    found = read({"df": frame}, "frame://df")
    for name, (_, values) in PANDAS.items():
        assert found[name].to_list() == values, name
    with Session({"df": frame}) as session:
        said = str(session.run("CREATE STREAM s SOURCE 'frame://df'")[0])
        (query,) = session.execute("SELECT count(*) AS n FROM df")
        assert isinstance(query, Query) and query.wait(100)
        hint = query.snapshot().hint or ""
    for told in (said, hint):
        assert (
            "band (interval), interval (interval), month (period), coded_month (period) and complex (complex)" in told
        )
        assert "are read as STRING." in told


def test_intervals_and_periods_of_pandas_keep_their_text_in_a_file_and_in_polars(tmp_path: Path) -> None:
    frame = pd.DataFrame({"at": AT, "month": MONTHS, "band": pd.interval_range(0, 3)})
    frame.to_parquet(tmp_path / "f.parquet")
    polars = pl.DataFrame(pa.Table.from_pandas(frame))
    for frames, uri in (({}, f"file://{tmp_path}/f.parquet"), ({"df": polars}, "frame://df")):
        found = read(frames, uri)
        assert found["month"].to_list() == ["2024-01", "2024-02", "2024-03"]
        assert found["band"].to_list() == ["(0, 1]", "(1, 2]", "(2, 3]"]


BEYOND = [1, None, 2**64 - 1]


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("top", "x has values beyond BIGINT, so it is DECIMAL(20,0)."),
        ("struct", "x.x has values beyond BIGINT, so it is DECIMAL(20,0)."),
        ("list", "x has values beyond BIGINT, so it is ARRAY<DECIMAL(20,0)>."),
    ],
)
def test_numbers_beyond_bigint_take_no_rows_away(place: str, said: str, tmp_path: Path) -> None:
    arrow = pa.table({"at": AT, "v": [1, 2, 3], "x": nested(_of([*BEYOND], pa.uint64()), place)})
    polars = pl.DataFrame(arrow)
    pandas = pd.DataFrame({"at": AT, "v": [1, 2, 3], "x": pd.arrays.ArrowExtensionArray(arrow["x"])})
    pq.write_table(arrow, path := tmp_path / "x.parquet")
    exact = wanted([None if v is None else D(v) for v in BEYOND], place)
    for frame in (polars, polars.lazy(), arrow, pandas, None):
        frames, uri = ({}, f"file://{path}") if frame is None else ({"df": frame}, "frame://df")
        assert read(frames, uri, "v").rows() == [(1,), (2,), (3,)]
        assert read(frames, uri)["x"].to_list() == exact
        with Session(dict(frames)) as session:
            assert said in str(session.run(f"CREATE STREAM s SOURCE '{uri}'")[0])


def test_python_objects_with_numbers_beyond_bigint_are_text_with_all_digits() -> None:
    frame = pd.DataFrame({"at": AT, "x": _objects({"a": 1}, None, {"a": 2**64 - 1})})
    assert read({"df": frame}, "frame://df")["x"].to_list() == ['{"a": 1}', None, '{"a": 18446744073709551615}']


def test_numbers_beyond_bigint_stand_deep_inside_and_beside_others(tmp_path: Path) -> None:
    """What is beyond BIGINT in one field says nothing of its neighbours, whether it is shown by the first values or the last."""
    many = [{"a": [{"h": i, "small": i, "t": "x"}], "s": i} for i in range(2_000)]
    many[-1] = {"a": [None], "s": 7}
    many[-2] = {"a": [{"h": 2**64 - 1, "small": 5, "t": None}, None], "s": 6}
    inner = pa.struct([("h", pa.uint64()), ("small", pa.uint64()), ("t", pa.string())])
    kind = pa.struct([("a", pa.list_(inner)), ("s", pa.uint64())])
    pq.write_table(pa.table({"m": pa.array(many, kind)}), tmp_path / "m.parquet")
    with Session({}) as session:
        said = str(session.run(f"CREATE STREAM s SOURCE 'file://{tmp_path}/m.parquet'")[0])
        assert (
            "m.a has values beyond BIGINT, so it is ARRAY<STRUCT<h: DECIMAL(20,0), small: BIGINT, t: STRING>>." in said
        )
        (query,) = session.execute("SELECT m.a[0].h AS h, m.s AS s FROM s")
        assert isinstance(query, Query) and query.wait(200)
        assert query.errors.height == 0
        assert query.to_polars()["h"].to_list() == [*map(D, range(1_998)), D(2**64 - 1), None]
        assert query.to_polars()["s"].to_list() == [*range(1_998), 6, 7]


def test_objects_of_polars_are_read() -> None:
    frame = pl.DataFrame({"at": AT, "o": pl.Series([FIRST, None, Silent()], dtype=pl.Object)})
    assert read({"df": frame}, "frame://df")["o"].to_list() == [str(FIRST), None, "<Silent>"]


def test_what_cannot_be_read_is_left_out_by_name() -> None:
    twice = pa.StructArray.from_arrays([pa.array([1, 2, 3]), pa.array([1, 2, 3])], ["a", "a"])
    frame = pa.table({"at": AT, "v": [1, 2, 3], "bad": twice})
    assert read({"df": frame}, "frame://df").columns == ["at", "v"]
    with Session({"df": frame}) as session:
        said = str(session.run("CREATE STREAM s SOURCE 'frame://df'")[0])
        assert "bad (struct<a: int64, a: int64>) can't be read and is left out." in said
        with pytest.raises(QueryError, match="the column bad was left out"):
            session.execute("SELECT bad FROM s")


def test_uuids_compare_with_text() -> None:
    frame = pd.DataFrame({"at": AT, "id": _objects(FIRST, None, LAST), "v": [1, 2, 3]})
    with Session({"df": frame}) as session:
        (query,) = session.execute(f"SELECT v FROM df WHERE id = '{LAST}'")
        assert isinstance(query, Query) and query.wait(200)
        assert query.to_polars().rows() == [(3,)]


def test_text_inside_that_is_no_utf8_is_an_error_of_its_row() -> None:
    bad = pa.Array.from_buffers(pa.string(), 3, pa.array([b"\xff", b"a", b"b"]).buffers())
    for place in PLACES:
        frame = pa.table({"at": AT, "x": nested(bad, place)})
        with Session({"df": frame}) as session:
            (query,) = session.execute("SELECT x FROM df")
            assert isinstance(query, Query) and query.wait(200)
            assert query.to_polars()["x"].to_list() == wanted(["-", "a", "b"], place)[1:]
            assert query.errors.height == 1
