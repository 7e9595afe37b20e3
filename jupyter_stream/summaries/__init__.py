"""Summaries of streams: sketches with their error bounds, promising regions.

None is of Apache DataSketches (tried with 5.2): a summary of each of 64 cells in each zone is added, subtracted and copied, and
takes a batch at once. Its count-min, frequent-items, variance-optimal, HLL, theta and CPC sketches take one value a call from
Python: 350, 250, 190, 190, 190 and 490 ns a row, against 16 of the count-sketch here, for the sketch alone. A question about a
count is a call as well (430 ns against 110), and none has a subtraction. KLL, REQ and t-digest take arrays (55 to 100 ns a row,
190 KB a zone), but tell ranks, not the count of a value.
"""

from typing import Final

from jupyter_stream.summaries.aggregate import SummedBy
from jupyter_stream.summaries.count_sketch import CountSketch
from jupyter_stream.summaries.histogram import Histogram
from jupyter_stream.summaries.protocol import SketchKind
from jupyter_stream.summaries.sample import RandomSample

SUMMARIES: Final[tuple[SketchKind, ...]] = (
    CountSketch(),
    Histogram(),
    RandomSample(),
    SummedBy(),
)
"""Every kind of summary; the first is what `CREATE SUMMARY` takes unless told."""

__all__ = ["SUMMARIES", "kind_named"]


def kind_named(name: str) -> SketchKind | None:
    """The kind of that name, if there is one."""
    return next((k for k in SUMMARIES if k.name == name.lower()), None)
