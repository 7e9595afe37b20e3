"""Streams to try summaries with."""

import polars as pl
from hypothesis import Phase
from hypothesis import strategies as st

from jupyter_stream.core.messages import TS
from jupyter_stream.summaries import SUMMARIES
from jupyter_stream.summaries.spec import SummarySpec
from jupyter_stream.summaries.stream_summary import StreamSummary

T1 = 80
QUICK = (Phase.explicit, Phase.reuse, Phase.generate)
"""Counterexamples as they are found: they are small already."""


def rows(ts: list[int], items: list[int]) -> pl.DataFrame:
    return pl.DataFrame({TS: ts, "item": items}, schema={TS: pl.Int64, "item": pl.Int64})


def summary(depth: int = 3, rate: int = 2, kind: int = 0) -> StreamSummary:
    return StreamSummary(SummarySpec(("item",), T1, rate, depth, SUMMARIES[kind], buckets=8))


@st.composite
def streams(draw: st.DrawFn) -> list[tuple[list[int], list[int], int]]:
    """Batches with a punctuation after each that the later rows keep, most of the time."""
    found, promised = [], 0
    for _ in range(draw(st.integers(1, 12))):
        n = draw(st.integers(0, 20))
        ts = draw(st.lists(st.integers(max(0, promised - 50), promised + 400), min_size=n, max_size=n))
        items = draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
        promised += draw(st.integers(0, 300))
        found.append((ts, items, promised))
    return found
