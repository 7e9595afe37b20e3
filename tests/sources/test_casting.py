from __future__ import annotations

import datetime as dt

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_stream.core.instants import _by_expression, parse_instants
from jupyter_stream.core.schema import INTERVAL, TIMESTAMP
from jupyter_stream.core.time import from_datetime
from jupyter_stream.sources.casting import cast, castable, stream_type
from tests.tiers import examples

NS, MS, BERLIN = pl.Datetime("ns"), pl.Datetime("ms"), pl.Datetime("us", "Europe/Berlin")
INT_TEXT = ["5", "+5", " 5 ", "5.0", "5.5", "x", "", "0x10", "1_0", "-128", "128", None]


@pytest.mark.parametrize(
    ("values", "target", "expected"),
    [
        (pl.Series(INT_TEXT), pl.Int8(), [5, 5, 5, 5, None, None, None, None, None, -128, None, None]),
        (
            pl.Series(["1.5", "nan", "-inf", "1e5", " 1 ", "x"]),
            pl.Float64(),
            [1.5, "nan", -float("inf"), 1e5, 1.0, None],
        ),
        (pl.Series(["TRUE", "t", "no", "0", "2", ""]), pl.Boolean(), [True, True, False, False, None, None]),
        (pl.Series(["2024-02-29", "2023-02-29", "2024-01-01T10:00"]), pl.Date(), ["2024-02-29", None, "2024-01-01"]),
        (pl.Series(["5 seconds", "x", None]), INTERVAL, [dt.timedelta(seconds=5), None, None]),
        (pl.Series(["1.009", "123456789", "x"]), pl.Decimal(5, 2), ["1.01", None, None]),
        (pl.Series([1.0, 1.5, float("nan"), 1e30, -128.0, None]), pl.Int8(), [1, None, None, None, -128, None]),
        (pl.Series([1, 300, None]), pl.Int8(), [1, None, None]),
        (pl.Series([0, 1, 2]), pl.Boolean(), [False, True, None]),
        (pl.Series([True, False]), pl.Int32(), [1, 0]),
        (pl.Series([1, 2]), pl.String(), ["1", "2"]),
        (pl.Series([2**63], dtype=pl.UInt64), pl.Int64(), [None]),
        (pl.Series(["a", None], dtype=pl.Categorical), pl.String(), ["a", None]),
        (pl.Series([-1, -1000, 1999], dtype=NS), TIMESTAMP, [-1, -1, 1]),
        (pl.Series([-1, 2**60], dtype=MS), TIMESTAMP, [-1000, None]),
        (pl.Series([0], dtype=BERLIN), TIMESTAMP, [0]),
        (pl.Series([dt.date(1969, 12, 31)]), TIMESTAMP, [-86_400_000_000]),
        (pl.Series([-1], dtype=TIMESTAMP), pl.Date(), ["1969-12-31"]),
        (pl.Series([[1], [300], None]), pl.List(pl.Int8()), [[1], None, None]),
        (pl.Series(["[1,2]", "x"]), pl.List(pl.Int64()), [[1, 2], None]),
        (pl.Series([{"a": 1}, None]), pl.String(), ['{"a":1}', None]),
        (pl.Series([[1, 2], None]), pl.String(), ["[1,2]", None]),
        (pl.Series([None, None]), pl.Int32(), [None, None]),
    ],
)
def test_a_value_without_exact_counterpart_becomes_null(values, target, expected):
    assert castable(values.dtype, target)
    found = cast(values, target)
    assert found.dtype == target
    plain = found.to_physical().to_list() if isinstance(target, pl.Datetime) else found.to_list()
    shown = [
        str(v) if isinstance(e, str) and not isinstance(v, str) else v for v, e in zip(plain, expected, strict=True)
    ]
    assert shown == expected


@pytest.mark.parametrize(
    ("values", "tick", "expected"),
    [
        (pl.Series([1, -1, None]), 1_000_000, [1_000_000, -1_000_000, None]),
        (pl.Series([2**60]), 1_000, [None]),
        (pl.Series([-1, -1000]), 0, [-1, -1]),
        (pl.Series([1.5, float("nan"), 1e300]), 1_000_000, [1_500_000, None, None]),
        (pl.Series(["17", "-0.5", "1970-01-02", "x"]), 1_000, [17_000, -500, 86_400_000_000, None]),
    ],
)
def test_numbers_are_times_of_the_unit_told(values, tick, expected):
    assert cast(values, TIMESTAMP, tick).to_physical().to_list() == expected


@pytest.mark.parametrize(
    ("source", "target", "tick"),
    [
        (pl.Int64(), TIMESTAMP, None),
        (pl.List(pl.Int64()), pl.Int64(), None),
        (TIMESTAMP, pl.Int64(), None),
        (pl.Date(), pl.Boolean(), 1),
        (pl.Struct([pl.Field("a", pl.Int64())]), pl.List(pl.Int64()), None),
        (pl.Object(), pl.String(), None),
        (pl.Int64(), INTERVAL, None),
    ],
)
def test_casts_that_no_value_survives_are_known_beforehand(source, target, tick):
    assert not castable(source, target, tick)


def test_every_type_has_a_declared_type_that_suits_it():
    found = {
        str(t): str(stream_type(t))
        for t in (pl.UInt8(), pl.UInt32(), pl.UInt64(), NS, BERLIN, pl.Categorical(), pl.Time())
    }
    assert list(found.values()) == ["Int16", "Int64", "Int64", str(TIMESTAMP), str(TIMESTAMP), "String", "String"]
    assert stream_type(pl.Array(pl.UInt8(), 3)) == pl.List(pl.Int16())
    assert stream_type(pl.Struct([pl.Field("t", NS)])) == pl.Struct([pl.Field("t", TIMESTAMP)])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-03-05", dt.datetime(2024, 3, 5)),
        ("2024-03-05T10:30", dt.datetime(2024, 3, 5, 10, 30)),
        ("2024-03-05 10:30:15.5", dt.datetime(2024, 3, 5, 10, 30, 15, 500_000)),
        ("2024-03-05T10:30:15.123456789Z", dt.datetime(2024, 3, 5, 10, 30, 15, 123_456)),
        ("1969-12-31T23:59:59.9999999Z", dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)),
        ("2024-03-05T00:30:00+02:00", dt.datetime(2024, 3, 4, 22, 30)),
        ("2024-03-05T00:30:00-0530", dt.datetime(2024, 3, 5, 6)),
        (" 2024-03-05 ", dt.datetime(2024, 3, 5)),
        ("0001-01-01", dt.datetime(1, 1, 1)),
        ("2023-02-29", None),
        ("2024-13-01", None),
        ("2024-01-01T24:00", None),
        ("2024-01-01T10:00:60", None),
        ("05.03.2024", None),
        ("1700000000", None),
        ("", None),
    ],
)
def test_iso_times_with_and_without_zone(text, expected):
    assert parse_instants(pl.Series([text])).to_list() == [expected]
    assert parse_instants(pl.Series([text, "2024-01-01T00:00:00+01:00", None])).to_list()[0] == expected


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30)), min_size=1),
    st.sampled_from(["", "Z", "+00:00"]),
)
def test_written_times_are_read_back(times, zone):
    text = pl.Series([t.isoformat() + zone for t in times])
    assert parse_instants(text).to_physical().to_list() == [from_datetime(t) for t in times]


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.text("0123456789-:T .Z+", max_size=24), min_size=1, max_size=4))
def test_the_fast_parser_and_the_patient_one_agree(texts):
    texts = [*texts, "2024-01-01T10:00:00"]
    assert parse_instants(pl.Series(texts)).to_list() == _by_expression(pl.Series(texts)).to_list()


@settings(deadline=None)
@given(st.lists(st.text("0123456789-+. eExX_naif", max_size=6)))
def test_text_to_whole_numbers_is_exact_or_nothing(texts):
    found = cast(pl.Series(texts, dtype=pl.String), pl.Int64()).to_list()
    for text, value in zip(texts, found, strict=True):
        if value is not None:
            assert float(text) == value
        elif text.strip().lstrip("+-").isdigit() and text.isascii():
            assert text.strip()[:2] in ("+-", "-+", "--", "++") or not text.strip().lstrip("+-")[0].isdigit()


def test_a_column_whose_name_has_a_nul_is_read_as_times_too() -> None:
    from jupyter_stream.core.instants import parse_instants

    read = parse_instants(pl.Series("a\0b", ["2024-01-01", "no time"]))
    assert read.name == "a\0b" and read.is_null().to_list() == [False, True]


@pytest.mark.parametrize(
    ("values", "dtype", "text"),
    [
        ([120_373_044, 12_037_304, 1, None], pl.Date(), ["120373044", "+34927-01-08", "1970-01-02", None]),
        ([2**62, 1], MS, ["4611686018427387904", "1970-01-01 00:00:00.001"]),
        ([2**62, -1], pl.Datetime("us"), ["+148108-07-06 14:00:27.387904", "1969-12-31 23:59:59.999999"]),
        ([2**62, None], NS, ["2116-02-20 23:53:38.427387904", None]),
        ([2**62, -1500, None], pl.Duration("ms"), ["P53375995583DT15H36M27.904S", "-PT1.5S", None]),
        ([], MS, []),
    ],
    ids=str,
)
def test_every_time_and_length_of_time_can_be_written(values: list, dtype: pl.DataType, text: list) -> None:
    assert cast(pl.Series(values, dtype=pl.Int64()).cast(dtype), pl.String()).to_list() == text


def test_days_that_are_no_instant_have_none() -> None:
    days = pl.Series([120_373_044, 12_037_304, 1, None]).cast(pl.Date())
    assert cast(days, TIMESTAMP).to_list() == [None, None, dt.datetime(1970, 1, 2), None]
