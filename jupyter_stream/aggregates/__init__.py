"""Aggregates: one family per file, each update, merge, subtract and finish over arrays. `AGGREGATES` is all there is."""

from jupyter_stream.aggregates.count import Count
from jupyter_stream.aggregates.ends import First, Last
from jupyter_stream.aggregates.extremes import Max, Min
from jupyter_stream.aggregates.protocol import AggregateFunction, BadArguments, Dense, FrameForm, Partial
from jupyter_stream.aggregates.spread import StddevPop, StddevSamp, VarPop, VarSamp
from jupyter_stream.aggregates.sums import Avg, Sum

__all__ = ["AGGREGATES", "AggregateFunction", "BadArguments", "Dense", "FrameForm", "Partial", "find", "names"]

AGGREGATES: tuple[AggregateFunction, ...] = (
    Count(),
    Sum(),
    Avg(),
    Min(),
    Max(),
    VarSamp(),
    VarPop(),
    StddevSamp(),
    StddevPop(),
    First(),
    Last(),
)

_ALIASES = {
    "mean": "avg",
    "variance": "var_samp",
    "stddev": "stddev_samp",
    "std": "stddev_samp",
    "first_value": "first",
    "last_value": "last",
}
_BY_NAME = {a.name: a for a in AGGREGATES}


def find(name: str) -> AggregateFunction | None:
    """The aggregate of that name (any case, Spark's aliases too), None if there is none."""
    lower = name.lower()
    return _BY_NAME.get(_ALIASES.get(lower, lower))


def names() -> tuple[str, ...]:
    """All names, aliases last."""
    return (*_BY_NAME, *_ALIASES)
