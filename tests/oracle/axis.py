"""Where on the time axis an example lies: around 1970, or near an end, where adding a length of time leaves 64 bits.

Times reach from -2^62 to 2^62 microseconds (`engine.progress.FAR`). The streams of an example share one base, so that they meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hypothesis import strategies as st

from jupyter_stream.engine.progress import FAR

SPREAD = 40
"""Times are drawn from a base to so much behind it, microseconds."""
BASES = (0, 0, -20, -1_000_003, FAR - SPREAD, -FAR)

base = st.shared(st.sampled_from(BASES), key="base")
"""The base of an example: the same wherever it is drawn."""
bases = st.shared(st.sampled_from((*((b,) for b in BASES), (-FAR, FAR - SPREAD))), key="bases")
"""The same, or both ends at once: for queries that don't look at every instant in between."""
middle = st.sampled_from((0, 0, -1_000_003, FAR - 1_000, 1_000 - FAR))
"""Where times may begin that go some hundreds on."""


def times(most: int = SPREAD, *, both: bool = False) -> st.SearchStrategy[int]:
    """Times of rows, up to `most` behind the base; `both`: perhaps at both ends of the axis."""
    offsets = st.integers(0, most)
    if not both:
        return st.builds(lambda b, t: b + t, base, offsets)
    return st.builds(lambda b, i, t: b[i % len(b)] + t, bases, st.integers(0, 1), offsets)


def ends(rows: Iterable[Sequence[Any]], length: int, slide: int) -> list[int]:
    """The ends of the extents that hold any of the rows, whose last column is their time; multiples of `slide`."""
    return sorted({e for *_, ts in rows for e in range((ts // slide + 1) * slide, ts + length + 1, slide)})
