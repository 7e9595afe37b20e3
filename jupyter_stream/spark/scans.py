"""Streams on Spark: who reads them, and what their progress becomes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from jupyter_stream.plan.catalog import Apart, Ordered, PunctuationColumn, Slack, StreamDef, Unpromised, Watermark
from jupyter_stream.plan.logical import Scan
from jupyter_stream.spark.node_support import NodeSupport, Part
from jupyter_stream.spark.rows import (
    CONSTRAINTS,
    IN_ORDER,
    ON_ARRIVAL,
    OTHER_STREAMS,
    PARQUET,
    PUNCTUATION,
    PUNCTUATION_BY_KEY,
    SLACK,
    TEXTS,
    TOPICS,
    UNPROMISED,
    WATERMARK,
    Support,
)
from jupyter_stream.spark.topics import topic_of


def _source(stream: StreamDef) -> Support:
    if stream.steps and stream.uri.startswith("file://"):
        return TEXTS
    if topic_of(stream.source) is not None:
        return TOPICS
    if not stream.uri.startswith("file://"):
        return OTHER_STREAMS
    return PARQUET if getattr(stream.source, "prunable", False) else TEXTS


def _progress(stream: StreamDef) -> Support:
    if stream.time.kind != "external":
        return ON_ARRIVAL
    match stream.time.progress:
        case Watermark(delay=0):
            return IN_ORDER
        case Watermark():
            return WATERMARK
        case Slack() | Apart():
            return SLACK
        case PunctuationColumn(key=None):
            return PUNCTUATION
        case PunctuationColumn():
            return PUNCTUATION_BY_KEY
        case Unpromised():
            return UNPROMISED


def _parts(plan: Scan) -> Iterator[Part]:
    yield f"stream {plan.stream.name}", _source(plan.stream)
    yield f"progress of {plan.stream.name}", _progress(plan.stream)
    for constraint in plan.stream.constraints:
        if not isinstance(constraint, Ordered):
            yield str(constraint), CONSTRAINTS


SCAN: Final = NodeSupport[Scan](
    rows=(
        *(PARQUET, TEXTS, OTHER_STREAMS, TOPICS),
        *(IN_ORDER, WATERMARK, ON_ARRIVAL, UNPROMISED, SLACK, PUNCTUATION, PUNCTUATION_BY_KEY),
        CONSTRAINTS,
    ),
    parts=_parts,
)
