from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jupyter_stream import Session
from jupyter_stream.core.schema import TIMESTAMP, Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources import Request, open_source
from jupyter_stream.sources.casting import cast
from jupyter_stream.sources.protocol import REPLAY_ROWS
from jupyter_stream.sources.tabular import declared, raw_schema, slices


def test_a_pandas_frame_of_every_kind_of_column(read):
    frame = pd.DataFrame(
        {
            "i": np.array([1, 2, 3], dtype=np.int64),
            "f": [1.5, np.nan, -0.5],
            "s": ["x", None, "z"],
            "o": pd.Series(["x", None, "z"], dtype=object),
            "mixed": pd.Series([1, "a", 2.5], dtype=object),
            "cat": pd.Categorical(["u", None, "u"]),
            "t": pd.to_datetime(["1960-01-01", None, "2024-07-01 12:00"], format="ISO8601").tz_localize(
                "Europe/Berlin"
            ),
            "ns": np.array(["1969-12-31T23:59:59.999999999", "NaT", "2024-01-01"], dtype="datetime64[ns]"),
            "b": [True, False, True],
            "nb": pd.array([True, None, False], dtype="boolean"),
            "ni": pd.array([1, None, 3], dtype="Int32"),
            "a": pd.array([1.5, None, 2.5], dtype=pd.ArrowDtype(pa.float64())),
            "d": pd.Series([Decimal("1.10"), None, Decimal("2.25")], dtype=object),
            "day": pd.Series([dt.date(2024, 1, 1), None, dt.date(1950, 1, 1)], dtype=object),
            "u8": np.array([1, 2, 255], dtype=np.uint8),
            "l": pd.Series([[1], None, []], dtype=object),
        }
    ).set_index(pd.Index([7, 8, 9]))
    source = open_source("frame://frame", None, {}, {"frame": frame})
    assert str(source.schema) == (
        "(i BIGINT, f DOUBLE, s STRING, o STRING, mixed STRING, cat STRING, t TIMESTAMP, ns TIMESTAMP, b BOOLEAN, "
        "nb BOOLEAN, ni INT, a DOUBLE, d DECIMAL(3,2), day DATE, u8 SMALLINT, l ARRAY<BIGINT>)"
    )
    found = read(source)
    assert found.rejected == []
    assert found.frame.to_dict(as_series=False) == {
        "i": [1, 2, 3],
        "f": [1.5, None, -0.5],
        "s": ["x", None, "z"],
        "o": ["x", None, "z"],
        "mixed": ["1", "a", "2.5"],
        "cat": ["u", None, "u"],
        "t": [dt.datetime(1959, 12, 31, 23), None, dt.datetime(2024, 7, 1, 10)],
        "ns": [dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), None, dt.datetime(2024, 1, 1)],
        "b": [True, False, True],
        "nb": [True, None, False],
        "ni": [1, None, 3],
        "a": [1.5, None, 2.5],
        "d": [Decimal("1.10"), None, Decimal("2.25")],
        "day": [dt.date(2024, 1, 1), None, dt.date(1950, 1, 1)],
        "u8": [1, 2, 255],
        "l": [[1], None, []],
    }


def test_nan_is_null_from_pandas_and_nan_from_polars_and_arrow(read):
    nan = float("nan")
    names = {
        "numpy": pd.DataFrame({"x": [nan]}),
        "arrow_in_pandas": pd.DataFrame({"x": pd.Series(pa.array([nan]), dtype=pd.ArrowDtype(pa.float64()))}),
        "polars": pl.DataFrame({"x": [nan]}),
        "arrow": pa.table({"x": [nan]}),
    }
    null = {name: read(open_source(f"frame://{name}", None, {}, names)).frame["x"].is_null()[0] for name in names}
    assert null == {"numpy": True, "arrow_in_pandas": True, "polars": False, "arrow": False}


@pytest.mark.parametrize(
    "make",
    [
        lambda d: d,
        lambda d: d.lazy(),
        lambda d: d.to_arrow(),
        lambda d: d.to_arrow().to_batches()[0],
        lambda d: d.to_pandas(),
    ],
    ids=["polars", "lazy", "table", "batch", "pandas"],
)
def test_rows_come_in_order_in_batches_whatever_library_holds_them(make, read):
    frame = pl.DataFrame({"i": range(600_000)}).with_columns(s=pl.col("i").cast(pl.String))
    source = open_source("frame://f", None, {}, {"f": make(frame)})
    found = read(source)
    assert found.frame.equals(frame)
    assert found.sizes == [REPLAY_ROWS, REPLAY_ROWS, 600_000 - 2 * REPLAY_ROWS]
    assert source.replayable
    assert read(source).frame.equals(frame)


def test_a_record_batch_reader_is_read_once_and_so_is_live(read):
    reader = pa.table({"x": [1, 2, 3]}).to_reader(max_chunksize=2)
    source = open_source("frame://r", None, {}, {"r": reader})
    assert not source.replayable
    assert read(source).rows == [(1,), (2,), (3,)]


def test_memory_of_numbers_is_shared_and_not_copied():
    values = np.arange(1_000, dtype=np.int64)
    frame = pd.DataFrame({"x": values}, copy=False)
    (piece,) = slices(frame, ["x"])
    assert np.shares_memory(piece["x"].to_numpy(), values)


def test_a_frame_assigned_anew_is_read_anew(read):
    names = {"f": pl.DataFrame({"x": [1]})}
    source = open_source("frame://f", None, {}, names)
    names["f"] = pl.DataFrame({"x": [2, 3]})
    assert read(source).rows == [(2,), (3,)]
    names["f"] = pl.DataFrame({"y": [2]})
    with pytest.raises(SourceError, match="no column 'x'"):
        read(source)
    del names["f"]
    with pytest.raises(SourceError, match="no variable 'f'"):
        read(source)


def test_columns_that_differ_in_case_alone_are_read_where_declared(read):
    names = {"f": pl.DataFrame({"ts": ["a"], "TS": [7]})}
    with pytest.raises(SourceError, match="'ts' and 'TS', which a query can't tell apart") as error:
        open_source("frame://f", None, {}, names)
    assert "(TS BIGINT, ...)" in str(error.value.hint)
    for name, dtype, value in (("TS", pl.Int32(), 7), ("ts", pl.String(), "a"), ("Ts", pl.String(), "a")):
        assert read(open_source("frame://f", Schema.of([(name, dtype)]), {}, names)).rows == [(value,)]


def test_only_the_columns_asked_for_are_read(read):
    names = {"f": pl.DataFrame({"a": [1], "b": ["x"], "c": [2.0]})}
    source = open_source("frame://f", Schema.of([("A", pl.Int8()), ("B", pl.Int8()), ("C", pl.Float64())]), {}, names)
    found = read(source, "C", "A")
    assert found.frame.columns == ["A", "C"]
    assert found.rejected == []
    nothing = [c.frame for c in source.read(Request(()))]
    assert [f.height for f in nothing] == [1]


def test_values_that_do_not_fit_the_declared_type_are_told_apart(read):
    names = {"f": pd.DataFrame({"n": [1.0, 2.5, np.nan, 300.0], "s": ["1", "x", "3", "4"]})}
    schema = Schema.of([("n", pl.Int8()), ("s", pl.Int64())])
    found = read(open_source("frame://f", schema, {}, names))
    assert found.rows == [(1, 1), (None, 3)]
    assert found.rejected == [
        ('{"n":2.5,"s":"x"}', "column n: 2.5 can't be read as TINYINT"),
        ('{"n":300.0,"s":"4"}', "column n: 300.0 can't be read as TINYINT"),
    ]


def test_numbers_are_times_only_where_their_unit_is_told(read):
    names = {"f": pl.DataFrame({"ts": [0, -1, 1_700_000_000]})}
    schema = Schema.of([("ts", TIMESTAMP)])
    with pytest.raises(SourceError, match="which can't be read as TIMESTAMP") as error:
        open_source("frame://f", schema, {}, names)
    assert "timestamp_unit" in str(error.value)
    assert read(open_source("frame://f", schema, {"timestamp_unit": "s"}, names)).rows == [
        (dt.datetime(1970, 1, 1),),
        (dt.datetime(1969, 12, 31, 23, 59, 59),),
        (dt.datetime(2023, 11, 14, 22, 13, 20),),
    ]


def test_mistakes_name_the_nearest_right_thing():
    names = {"packets": pd.DataFrame({"srcIP": ["x"]}), "number": 5, "_hidden": pd.DataFrame(), "ticks": [1]}
    for uri, schema, told in (
        ("frame://packet", None, "Did you mean 'packets'?"),
        ("frame://zzz", None, "Frames here: packets."),
        ("frame://number", None, "is a int, not a pandas, Polars or Arrow frame"),
        ("frame://ticks", None, "python://ticks"),
        ("frame://packets", Schema.of([("srcip2", pl.String())]), "Did you mean 'srcIP'?"),
    ):
        with pytest.raises(SourceError) as error:
            open_source(uri, schema, {}, names)
        assert told in str(error.value)


def test_two_columns_of_one_name_are_refused():
    with pytest.raises(SourceError, match="two columns named 'x'"):
        open_source("frame://f", None, {}, {"f": pd.DataFrame([[1, 2]], columns=["x", "x"])})


def test_an_empty_frame_has_no_rows_and_keeps_its_columns(read):
    source = open_source("frame://f", None, {}, {"f": pd.DataFrame({"x": pd.Series([], dtype="int64")})})
    assert str(source.schema) == "(x BIGINT)"
    assert list(source.read(Request())) == []


@settings(deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.integers(-5, 5), st.text("ab1", max_size=2), st.floats(-2, 2), st.booleans())),
    st.integers(1, 7),
)
@example([None, 0.0, 0, False], 2)
@example([0.5, True, False, 1], 1)
def test_slicing_changes_no_value_of_a_column_of_objects(values, rows):
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object)})
    (field,) = declared(raw_schema(frame, "f"))
    whole = [v for piece in slices(frame, ["x"]) for v in cast(piece["x"], field.dtype)]
    sliced = [v for piece in slices(frame, ["x"], rows) for v in cast(piece["x"], field.dtype)]
    assert sliced == whole
    assert len(whole) == len(values)


def test_named_levels_of_an_index_are_columns() -> None:
    times = pd.date_range("2024-01-01", periods=2, name="ts", tz="Europe/Berlin")
    by_time = pd.DataFrame({"v": [1, 2]}, index=times)
    two = pd.DataFrame({"a": [1, 1], "b": ["x", "y"], "v": [3, 4]}).set_index(["a", "b"])
    same = pd.DataFrame({"a": [1, 1]}, index=pd.Index([8, 9], name="a"))
    assert raw_schema(by_time, "frame://f").names == ("ts", "v")
    (rows,) = slices(by_time, ["v", "ts"])
    assert rows["v"].to_list() == [1, 2]
    assert rows["ts"].dt.convert_time_zone("UTC").dt.day().to_list() == [31, 1]
    assert [row for piece in slices(two, ["a", "b", "v"], 1) for row in piece.rows()] == [(1, "x", 3), (1, "y", 4)]
    assert raw_schema(same, "frame://f").names == ("a",) and next(slices(same, ["a"]))["a"].to_list() == [1, 1]


@pytest.mark.parametrize("column", [pd.Series([1, 2]), pl.Series([1, 2]), pa.array([1, 2]), pd.Index([1])])
def test_a_column_is_no_frame(column: object) -> None:
    with pytest.raises(SourceError, match="is one column"):
        open_source("frame://f", None, {}, {"f": column})


def test_columns_arrow_has_no_type_for_are_read_all_the_same():
    frame = pd.DataFrame({
        "sparse": pd.arrays.SparseArray([0, 0, 1, 0]), "year": pd.period_range("2024", periods=4, freq="Y"),
        "between": pd.interval_range(0, 4), "complex": [1 + 2j] * 4,
    })  # fmt: skip
    with Session({"df": frame}) as session:
        (query,) = session.execute("CREATE STREAM s SOURCE 'frame://df'; SELECT * FROM s")
        assert query.wait(200)
        assert query.to_polars().row(2) == (1, "2026", "(2, 3]", "(1+2j)")


def test_half_a_character_in_a_column_of_objects_is_an_error_of_its_row():
    frame = pd.DataFrame({"a": pd.Series(["\ud800", "b"], dtype=object)})
    with Session({"df": frame}) as session:
        (query,) = session.execute("CREATE STREAM s SOURCE 'frame://df'; SELECT * FROM s")
        assert query.wait(200)
        assert query.to_polars().rows() == [("b",)]
        assert "UTF-8" in query.errors.item(0, "reason")


SAME = Schema.of([("ts", pl.Int64()), ("v", pl.Float64())])
COLUMNS = {"ts": [1, 2], "v": [0.5, None]}


@pytest.mark.parametrize(
    ("frame", "schema", "prunable"),
    [
        (pl.DataFrame(COLUMNS), SAME, True),
        (pl.DataFrame({"TS": [1, 2], "V": [0.5, None]}), SAME, True),
        (pl.DataFrame({**COLUMNS, "others": [[1], None]}), SAME, True),
        (pl.DataFrame(COLUMNS), Schema.of([("ts", pl.Int64()), ("v", pl.Int64())]), False),
        (pl.DataFrame({"ts": ["1", "x"], "v": [0.5, None]}), SAME, False),
        (
            pl.DataFrame({"ts": [1, 2], "v": [[1], None]}),
            Schema.of([("ts", pl.Int64()), ("v", pl.List(pl.Int64()))]),
            True,
        ),
        (pd.DataFrame(COLUMNS), SAME, False),
    ],
)
def test_columns_may_be_left_out_where_no_value_can_be_refused(frame: object, schema: Schema, prunable: bool) -> None:
    source = open_source("frame://f", schema, {}, {"f": frame})
    assert source.prunable is prunable
