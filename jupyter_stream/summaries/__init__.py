"""Summaries of streams: sketches with their error bounds, promising regions."""

from typing import Final

from jupyter_stream.summaries.aggregate import Aggregate
from jupyter_stream.summaries.count_sketch import CountSketch
from jupyter_stream.summaries.histogram import Histogram
from jupyter_stream.summaries.protocol import SketchKind
from jupyter_stream.summaries.sample import Sample

SUMMARIES: Final[tuple[SketchKind, ...]] = (
    CountSketch(),
    Histogram(),
    Sample(),
    Aggregate(),
)
"""Every kind of summary; the first is what `CREATE SUMMARY` takes unless told."""

__all__ = ["SUMMARIES", "kind_named"]


def kind_named(name: str) -> SketchKind | None:
    """The kind of that name, if there is one."""
    return next((k for k in SUMMARIES if k.name == name.lower()), None)
