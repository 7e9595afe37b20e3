"""`system://`: this machine, live, as rates (`cpu`, `memory`, `network`, `disk`), and the session itself (`queries` and others).

A look at the session gives as many rows as there are queries, operators, queues or synopses, however busy they are. So a query
over them adds its own few rows to each look, and no more: what it watches of itself doesn't grow.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl
import psutil

from jupyter_stream.core.figures import FIGURES, Columns, Row, Sampler
from jupyter_stream.core.schema import TIMESTAMP, Schema
from jupyter_stream.core.time import show_duration
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.conform import check_castable, conform, match_names
from jupyter_stream.sources.options import check_known, did_you_mean, duration, split_query
from jupyter_stream.sources.protocol import Chunk, Context, Request, Source, SourceConnector, wanted

_LEAST: Final = 100_000
"""Microseconds between samples at least: below, the kernel's own counters are too coarse."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """One thing that can be watched.

    Attributes:
        columns: name, type and unit (None without) of each column after `ts`.
        sampler: makes a sampler; its first sample is of no use.
    """

    columns: Columns
    sampler: Callable[[Context], Sampler]


def _cpu(_context: Context) -> Sampler:
    # Not psutil.cpu_percent: it measures from whoever called it last.
    before = psutil.cpu_times(percpu=True)

    def sample() -> list[Row]:
        nonlocal before
        now = psutil.cpu_times(percpu=True)
        cores = [_busy(b, n) for b, n in zip(before, now, strict=False)]
        before = now
        return [("all", sum(cores) / max(len(cores), 1)), *((str(i), percent) for i, percent in enumerate(cores))]

    return sample


def _busy(before: Any, now: Any) -> float:
    """Share of the time between two readings of a core in which it worked, percent."""
    # Linux counts guests in user as well, so they are no part of the sum.
    names = [name for name in now._fields if name not in ("guest", "guest_nice")]
    grown = {name: max(getattr(now, name) - getattr(before, name), 0.0) for name in names}
    total = sum(grown.values())
    return 100.0 * (total - grown["idle"] - grown.get("iowait", 0.0)) / total if total > 0 else 0.0


def _memory(_context: Context) -> Sampler:
    def sample() -> list[Row]:
        memory = psutil.virtual_memory()
        return [(memory.total, memory.available, memory.used, float(memory.percent), psutil.swap_memory().used)]

    return sample


def _rates(counters: Callable[[], Mapping[str, Any]], names: tuple[str, ...]) -> Sampler:
    """How fast counters grow, per second; one that started anew (a device unplugged and back) counts from zero."""
    before: dict[str, tuple[float, ...]] = {}
    at = time.monotonic()

    def sample() -> list[Row]:
        nonlocal before, at
        now, last = time.monotonic(), at
        current = {device: tuple(getattr(c, name) for name in names) for device, c in counters().items()}
        rows: list[Row] = []
        for device, values in sorted(current.items()):
            if device in before:
                grown = (v - b if v >= b else v for v, b in zip(values, before[device], strict=True))
                rows.append((device, *(g / max(now - last, 1e-6) for g in grown)))
        before, at = current, now
        return rows

    return sample


def _network(_context: Context) -> Sampler:
    names = ("bytes_sent", "bytes_recv", "packets_sent", "packets_recv")
    return _rates(lambda: psutil.net_io_counters(pernic=True) or {}, names)


def _disk(_context: Context) -> Sampler:
    names = ("read_bytes", "write_bytes", "read_count", "write_count")
    return _rates(lambda: psutil.disk_io_counters(perdisk=True) or {}, names)


def _of_session(name: str) -> Gauge:
    """Figures that the session has of itself."""

    def sampler(context: Context) -> Sampler:
        assert context.figures is not None
        return context.figures(name)

    return Gauge(FIGURES[name], sampler)


_STRING, _DOUBLE, _BIGINT = pl.String(), pl.Float64(), pl.Int64()
GAUGES: Final[dict[str, Gauge]] = {
    "cpu": Gauge((("core", _STRING, None), ("percent", _DOUBLE, "%")), _cpu),
    "memory": Gauge(
        (
            ("total", _BIGINT, "bytes"),
            ("available", _BIGINT, "bytes"),
            ("used", _BIGINT, "bytes"),
            ("percent", _DOUBLE, "%"),
            ("swap", _BIGINT, "bytes"),
        ),
        _memory,
    ),
    "network": Gauge(
        (
            ("interface", _STRING, None),
            ("sent", _DOUBLE, "bytes/s"),
            ("received", _DOUBLE, "bytes/s"),
            ("packets_sent", _DOUBLE, "packets/s"),
            ("packets_received", _DOUBLE, "packets/s"),
        ),
        _network,
    ),
    "disk": Gauge(
        (
            ("device", _STRING, None),
            ("read", _DOUBLE, "bytes/s"),
            ("written", _DOUBLE, "bytes/s"),
            ("reads", _DOUBLE, "operations/s"),
            ("writes", _DOUBLE, "operations/s"),
        ),
        _disk,
    ),
    **{name: _of_session(name) for name in FIGURES},
}
"""What can be watched, by the name after `system://`. All have `ts` first, the time of the sample, growing."""


class SystemSource:
    """Samples of this machine, one set of rows each interval.

    Raises:
        SourceError: when it is made: nothing of that name to watch, or an interval below 100 ms.
    """

    schema: Schema
    replayable = False
    units: Mapping[str, str]

    def __init__(self, context: Context) -> None:
        name, query = split_query(context.path)
        check_known(query, SYSTEM.options, "system://")
        if name not in GAUGES:
            hint = did_you_mean(name, GAUGES, f"There are {', '.join('system://' + g for g in GAUGES)}.")
            raise SourceError(f"There is no 'system://{name}'.", hint=hint)
        self._gauge, self._context = GAUGES[name], context
        if name in FIGURES and context.figures is None:
            raise SourceError(f"'system://{name}' is of a session, and none has opened it.")
        self._every = duration({**query, **context.options}, "every", 1_000_000)
        if self._every < _LEAST:
            raise SourceError(
                f"Option every = '{show_duration(self._every)}' is below 100 milliseconds.",
                hint="Write every = '1 second'.",
            ).about("every")
        self._raw = Schema.of([("ts", TIMESTAMP), *((n, dtype) for n, dtype, _ in self._gauge.columns)])
        self.schema = context.schema or self._raw
        names = match_names(self.schema, self._raw.names, context.uri)
        check_castable(self.schema, self._raw, names, None, context.uri)
        self._names = names
        units = {n: unit for n, _, unit in self._gauge.columns if unit is not None}
        self.units = {declared: units[raw] for declared, raw in names.items() if raw in units}

    def read(self, request: Request) -> Iterator[Chunk]:
        """A chunk each interval until told to stop; the first after one interval."""
        fields = wanted(self.schema, request)
        sample = self._gauge.sampler(self._context)
        sample()
        every, last = self._every / 1e6, 0
        due = time.monotonic() + every
        while not request.stop.wait(max(0.0, due - time.monotonic())):
            # Times never go back, even where the clock is set back.
            last = max(last + 1, time.time_ns() // 1_000)
            rows = [(last, *row) for row in sample()]
            due = max(due + every, time.monotonic())
            frame = pl.DataFrame(rows, schema={**self._raw.polars(), "ts": pl.Int64()}, orient="row")
            frame = frame.with_columns(pl.col("ts").cast(TIMESTAMP))
            if frame.height:
                yield conform(frame.select(pl.col(self._names[f.name]).alias(f.name) for f in fields), fields)


def _open(context: Context) -> Source:
    return SystemSource(context)


SYSTEM = SourceConnector(
    scheme="system",
    example="system://cpu",
    options={"every": "how often to look: '1 second' by default, at least '100 milliseconds'"},
    open=_open,
)
