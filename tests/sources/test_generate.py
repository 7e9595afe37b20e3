from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest

from jupyter_stream.core.schema import Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources import BATCH_ROWS, Request, open_source
from tests.tiers import slow

SECOND = 1_000_000


def rows(uri: str, *columns: str, **options: str) -> pl.DataFrame:
    source = open_source(uri, None, options, {})
    return pl.concat([c.frame for c in source.read(Request(columns or None))])


def lateness(times: pl.Series) -> np.ndarray:
    micros = times.to_physical().to_numpy()
    return np.maximum.accumulate(micros) - micros


def test_packets_come_in_order_sixteen_thousand_a_second():
    frame = rows("generate://packets?rows=40000")
    times = frame["ts"].to_physical().to_numpy()
    assert frame.height == 40_000
    assert frame["ts"][0] == dt.datetime(2024, 1, 1)
    assert (np.diff(times) >= 0).all()
    assert np.count_nonzero(times < times[0] + SECOND) == 16_000


@pytest.mark.parametrize("disorder", ["none", "band", "block"])
def test_the_same_seed_gives_the_same_rows_whatever_columns_are_read(disorder):
    uri = f"generate://packets?rows=150000&disorder={disorder}&seed=7"
    whole = rows(uri)
    assert rows(uri).equals(whole)
    assert rows(uri, "len", "ts").equals(whole.select("len", "ts"))
    assert not rows(uri.replace("seed=7", "seed=8")).equals(whole)


@pytest.mark.parametrize("disorder", ["none", "band", "block"])
def test_fewer_rows_are_the_beginning_of_more(disorder):
    more = rows(f"generate://packets?rows=100000&disorder={disorder}", "srcIP", "ts").sort("ts", "srcIP")
    fewer = rows(f"generate://packets?rows=70000&disorder={disorder}", "srcIP", "ts").sort("ts", "srcIP")
    assert fewer.height == 70_000
    cut = fewer["ts"].max()
    assert fewer.filter(pl.col("ts") < cut).equals(more.filter(pl.col("ts") < cut))


@slow
def test_disorder_moves_rows_and_changes_none():
    ordered = rows("generate://packets?rows=150000")
    for disorder in ("band", "block"):
        moved = rows(f"generate://packets?rows=150000&disorder={disorder}")
        assert moved.sort(moved.columns).equals(ordered.sort(ordered.columns))
        assert not moved.equals(ordered)


def test_band_disorder_is_late_by_at_most_its_bound():
    late = lateness(rows("generate://packets?rows=100000&disorder=band", "ts", bound="250 ms")["ts"])
    assert 0.9 * 250_000 < late.max() <= 250_000


def test_block_disorder_shuffles_inside_blocks_and_keeps_their_order():
    times = rows("generate://packets?rows=100000&disorder=block&bound=2 seconds", "ts")["ts"].to_physical().to_numpy()
    blocks = (times - times.min()) // (2 * SECOND)
    assert (np.diff(blocks) >= 0).all()
    first = times[blocks == 1]
    assert 0.9 * 2 * SECOND < (np.maximum.accumulate(first) - first).max() < 2 * SECOND


def test_lulls_are_silences_of_their_length():
    times = (
        rows("generate://packets?rows=50000", "ts", lull="3 seconds", lull_every="1 second")["ts"]
        .to_physical()
        .to_numpy()
    )
    gaps = np.diff(times)
    assert np.count_nonzero(gaps > SECOND) == 3
    assert gaps.max() >= 3 * SECOND


def test_addresses_are_as_uneven_as_asked():
    def busiest(zipf: str) -> float:
        counts = rows(f"generate://packets?rows=100000&ips=100&zipf={zipf}", "srcIP")["srcIP"].value_counts()["count"]
        assert len(counts) == 100
        return float(counts.max()) / 100_000

    assert busiest("0") < 0.013
    assert 0.17 < busiest("1") < 0.22
    assert busiest("2") > 0.5


def test_unlimited_rows_go_on_until_told_to_stop():
    request = Request(("len",))
    chunks = open_source("generate://packets", None, {"rows": "unlimited"}, {}).read(request)
    assert sum(next(chunks).frame.height for _ in range(20)) == 20 * BATCH_ROWS
    request.stop.set()
    assert list(chunks) == []


def test_declared_columns_are_a_choice_and_may_be_narrower_or_wider(read):
    schema = Schema.of([("LEN", pl.Int64()), ("destport", pl.String())])
    source = open_source("generate://packets?rows=3", schema, {}, {})
    found = read(source)
    assert found.frame.schema == schema.polars()
    assert source.units == {"LEN": "bytes"}
    with pytest.raises(SourceError, match="no column 'length'"):
        open_source("generate://packets", Schema.of([("length", pl.Int64())]), {}, {})


def test_nexmark_events_come_in_standard_proportions_on_one_time_axis():
    times = {kind: rows(f"generate://nexmark/{kind}", "dateTime", rows=str(n))["dateTime"].to_physical() for kind, n in
             (("person", 100), ("auction", 300), ("bid", 4600))}  # fmt: skip
    every = sorted(t for kind in times for t in times[kind])
    assert every == [1_704_067_200 * SECOND + i * 100 for i in range(5_000)]


def test_nexmark_bids_are_on_auctions_and_by_persons_that_exist_then():
    bids = rows("generate://nexmark?rows=50000", "auction", "bidder", "dateTime")
    for kind, column in (("auction", "auction"), ("person", "bidder")):
        made = rows(f"generate://nexmark?kind={kind}&rows=5000", "id", "dateTime")
        joined = bids.join(made, left_on=column, right_on="id", how="left", suffix="_made")
        assert joined["dateTime_made"].null_count() == 0
        assert (joined["dateTime_made"] <= joined["dateTime"]).all()


def test_nexmark_sellers_exist_and_auctions_end_after_they_begin():
    auctions = rows("generate://nexmark/auction?rows=30000")
    persons = rows("generate://nexmark/person?rows=10000")
    assert auctions["seller"].is_in(persons["id"].implode()).all()
    assert (auctions["expires"] > auctions["dateTime"]).all()
    assert (auctions["reserve"] > auctions["initialBid"]).all()
    assert persons["creditCard"].str.contains(r"^\d{4} \d{4} \d{4} \d{4}$").all()
    assert sorted(auctions["category"].unique()) == [10, 11, 12, 13, 14]


@pytest.mark.parametrize("kind", ["person", "auction", "bid"])
def test_nexmark_is_the_same_whatever_columns_are_read(kind):
    whole = rows(f"generate://nexmark/{kind}?rows=70000&seed=3")
    for column in whole.columns:
        assert rows(f"generate://nexmark/{kind}?rows=70000&seed=3", column).equals(whole.select(column)), column


@pytest.mark.parametrize(
    ("uri", "options", "told"),
    [
        ("generate://packet", {}, "Did you mean 'packets'?"),
        ("generate://packets?row=1", {}, "Did you mean 'rows'?"),
        ("generate://nexmark", {"disorder": "band"}, "generate://nexmark has no option 'disorder'"),
        ("generate://nexmark/bidd", {}, "Did you mean 'bid'?"),
        ("generate://packets", {"rows": "many"}, "Write rows = '1000'."),
        ("generate://packets", {"disorder": "blok"}, "Did you mean 'block'?"),
        ("generate://packets", {"disorder": "band", "bound": "5"}, "Write bound = '2 seconds'."),
        ("generate://packets", {"zipf": "-1"}, "must be a number of at least 0"),
        ("generate://packets", {"start": "noon"}, "is not a time"),
        ("generate://packets", {"per_second": "0"}, "must be a whole number of at least 1"),
    ],
)
def test_mistakes_say_what_to_write(uri, options, told):
    with pytest.raises(SourceError) as error:
        open_source(uri, None, options, {})
    assert told in str(error.value)


def test_times_may_start_before_1970():
    assert rows("generate://packets?rows=2", "ts", start="1969-12-31 23:59:59")["ts"][0] == dt.datetime(
        1969, 12, 31, 23, 59, 59
    )
    late = lateness(rows("generate://packets?rows=30000&disorder=band&start=1960-01-01", "ts")["ts"])
    assert 0 < late.max() <= SECOND
