"""GET /metrics: the session's figures as Prometheus reads them. Counters as they are; Prometheus makes rates of them itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from jupyter_stream.core.figures import FIGURES, MEANINGS, Figures
from jupyter_stream.serving.handler import Guarded

_LABELS: Final = {
    "queries": ("query", "engine"),
    "operators": ("query", "place", "operator"),
    "queues": ("query", "queue"),
    "synopses": ("query", "operator", "synopsis"),
}
_COUNTERS: Final = ("rows_in", "rows_out", "late", "bad", "batches_in", "late_rows", "failed_rows")
_GAUGES: Final = ("state_bytes", "answer_bytes", "bytes", "peak_bytes", "waiting", "lag")
_SINGULAR: Final = {"queries": "query", "operators": "operator", "queues": "queue", "synopses": "synopsis"}


class SessionMetrics:
    """The figures as Prometheus's client library collects them.

    Args:
        figures: the session's.
    """

    def __init__(self, figures: Figures) -> None:
        self._samplers = {name: figures(name) for name in FIGURES}

    def collect(self) -> Iterator[Metric]:
        """A family for each column that is a number."""
        for name, sampler in self._samplers.items():
            columns = [n for n, *_ in FIGURES[name]]
            places = {n: i for i, n in enumerate(columns)}
            labels = _LABELS[name]
            rows = {tuple(str(row[places[n]] or "") for n in labels): row for row in sampler()}
            for column in columns:
                full = f"jupyter_stream_{_SINGULAR[name]}_{column}"
                if column in _COUNTERS:
                    family: CounterMetricFamily | GaugeMetricFamily = CounterMetricFamily(
                        full, MEANINGS[column], labels=labels
                    )
                elif column in _GAUGES:
                    family = GaugeMetricFamily(full, MEANINGS[column], labels=labels)
                else:
                    continue
                for key, row in rows.items():
                    value = row[places[column]]
                    if value is not None:
                        family.add_metric(key, value)
                yield family
            if name == "queries":
                states = GaugeMetricFamily("jupyter_stream_query_state", MEANINGS["state"], labels=("query", "state"))
                for row in rows.values():
                    states.add_metric((row[places["query"]], row[places["state"]]), 1)
                yield states


class MetricsHandler(Guarded):
    """The figures of what runs, as text."""

    async def get(self) -> None:
        """All figures now."""

        def text() -> bytes:
            registry = CollectorRegistry()
            registry.register(SessionMetrics(self.session.figures))
            return bytes(generate_latest(registry))

        made = await self.apart(text)
        self.set_header("Content-Type", CONTENT_TYPE_LATEST)
        self.finish(made)
