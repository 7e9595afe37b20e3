from __future__ import annotations

import itertools
import threading
from types import SimpleNamespace

import polars as pl
import psutil
import pytest

from jupyter_stream.core.schema import Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources import Request, open_source
from jupyter_stream.sources.system import _rates
from tests.waiting import until

FAST = {"every": "100 milliseconds"}


def samples(name: str, count: int, schema: Schema | None = None) -> list[pl.DataFrame]:
    source = open_source(f"system://{name}", schema, FAST, {})
    request = Request()
    found = [chunk.frame for chunk in itertools.islice(source.read(request), count)]
    request.stop.set()
    return found


def test_cpu_gives_a_row_for_each_core_and_one_for_all_at_the_same_time():
    for frame in samples("cpu", 2):
        assert frame["core"].to_list() == ["all", *(str(i) for i in range(psutil.cpu_count() or 0))]
        assert frame["ts"].n_unique() == 1
        assert frame["percent"].is_between(0, 100).all()
        assert frame["percent"][0] == pytest.approx(frame["percent"][1:].mean())


def test_a_busy_core_shows():
    stop = threading.Event()

    def burn() -> None:
        while not stop.is_set():
            sum(range(10_000))

    thread = threading.Thread(target=burn)
    thread.start()
    source, request = open_source("system://cpu", None, FAST, {}), Request()
    try:
        frames = source.read(request)
        until(lambda: next(frames).frame["percent"].max() > 20)
    finally:
        request.stop.set()
        stop.set()
        thread.join()


def test_memory_says_what_psutil_says():
    (frame,) = samples("memory", 1)
    assert frame["total"][0] == psutil.virtual_memory().total
    assert 0 < frame["percent"][0] < 100
    assert frame["available"][0] <= frame["total"][0]


def test_times_grow_from_sample_to_sample():
    times = pl.concat(samples("memory", 4))["ts"]
    assert times.is_sorted() and times.is_unique().all()


def test_network_and_disk_give_rates_for_every_device():
    for name, column, counters in (
        ("network", "interface", lambda: psutil.net_io_counters(pernic=True)),
        ("disk", "device", lambda: psutil.disk_io_counters(perdisk=True)),
    ):
        before = set(counters() or {})
        if before:
            found = set(samples(name, 1)[0][column])
            after = set(counters() or {})  # containers come and go on some machines
            assert before & after <= found <= before | after


def test_rates_are_growth_per_second_and_a_counter_that_starts_anew_counts_from_zero(monkeypatch):
    class Counters:
        def __init__(self, n: int) -> None:
            self.n = n

    clock = iter([0.0, 0.0, 2.0, 4.0, 5.0])
    # the module's own name, not the clock that other threads go by
    monkeypatch.setattr("jupyter_stream.sources.system.time", SimpleNamespace(monotonic=lambda: next(clock)))
    states = iter(
        [{"a": Counters(100)}, {"a": Counters(300), "b": Counters(5)}, {"a": Counters(10), "b": Counters(5)}, {}]
    )
    sample = _rates(lambda: next(states), ("n",))
    assert [sample(), sample(), sample(), sample()] == [[], [("a", 100.0)], [("a", 5.0), ("b", 0.0)], []]


def test_units_go_with_the_columns_as_declared():
    assert open_source("system://network", None, {}, {}).units["sent"] == "bytes/s"
    schema = Schema.of([("Percent", pl.Float32()), ("CORE", pl.String())])
    source = open_source("system://cpu", schema, {}, {})
    assert source.units == {"Percent": "%"}
    assert not source.replayable
    assert samples("cpu", 1, schema)[0].schema == schema.polars()


def test_only_the_columns_asked_for_are_given():
    source = open_source("system://cpu", None, FAST, {})
    assert next(source.read(Request(("percent",)))).frame.columns == ["percent"]


def test_a_read_ends_when_told_to_stop():
    source = open_source("system://cpu", None, {"every": "1 hour"}, {})
    request = Request()
    threading.Timer(0.1, request.stop.set).start()
    assert list(source.read(request)) == []


@pytest.mark.parametrize(
    ("uri", "options", "told"),
    [
        ("system://cpus", {}, "Did you mean 'cpu'?"),
        ("system://gpu2", {}, "system://memory"),
        ("system://cpu", {"every": "1 ms"}, "below 100 milliseconds"),
        ("system://cpu", {"every": "soon"}, "is not a length of time"),
        ("system://cpu?evry=1", {}, "Did you mean 'every'?"),
    ],
)
def test_mistakes_say_what_to_write(uri, options, told):
    with pytest.raises(SourceError) as error:
        open_source(uri, None, options, {})
    assert told in str(error.value)
