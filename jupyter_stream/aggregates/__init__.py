"""Aggregates: one family per file, each update, merge, subtract and finish over arrays. `AGGREGATES` is all there is."""

from jupyter_stream.aggregates.approx_count_distinct import ApproxCountDistinct
from jupyter_stream.aggregates.approx_top_k import ApproxTopK
from jupyter_stream.aggregates.arg_extremes import ArgMax, ArgMin
from jupyter_stream.aggregates.bits import BitAnd, BitOr, BitXor
from jupyter_stream.aggregates.count import Count
from jupyter_stream.aggregates.ends import First, Last
from jupyter_stream.aggregates.extremes import Max, Min
from jupyter_stream.aggregates.greatest import TopK, TopKDistinct
from jupyter_stream.aggregates.heavy_hitters import HeavyHitters
from jupyter_stream.aggregates.lists import CollectList, StringAgg
from jupyter_stream.aggregates.mode import Mode
from jupyter_stream.aggregates.offsets import EarliestByOffset, LatestByOffset
from jupyter_stream.aggregates.ordered import ORDERED, ordered
from jupyter_stream.aggregates.pairs import PAIRS
from jupyter_stream.aggregates.protocol import AggregateFunction, BadArguments, Dense, FrameForm, Partial
from jupyter_stream.aggregates.quantiles import Median, Quantile, QuantileDisc
from jupyter_stream.aggregates.shape import Kurtosis, Skewness
from jupyter_stream.aggregates.spread import StddevPop, StddevSamp, VarPop, VarSamp
from jupyter_stream.aggregates.sums import Avg, Sum
from jupyter_stream.aggregates.truth import KEPT_AS, BoolAnd, BoolOr, CountIf
from jupyter_stream.aggregates.user.rows import HELD, ROWS, HeldRows
from jupyter_stream.aggregates.whole_rows import EXTENT, WholeRows

__all__ = [
    "AGGREGATES",
    "KEPT_AS",
    "AggregateFunction",
    "BadArguments",
    "Dense",
    "FrameForm",
    "Partial",
    "find",
    "goes_by_arrival",
    "names",
    "of_nothing",
    "ordered",
]

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
    Skewness(),
    Kurtosis(),
    *PAIRS,
    First(),
    Last(),
    ArgMin(),
    ArgMax(),
    EarliestByOffset(),
    LatestByOffset(),
    TopK(),
    TopKDistinct(),
    BoolAnd(),
    BoolOr(),
    CountIf(),
    BitAnd(),
    BitOr(),
    BitXor(),
    Median(),
    Quantile(),
    QuantileDisc(),
    Mode(),
    HeavyHitters(),
    ApproxTopK(),
    ApproxCountDistinct(),
    CollectList(),
    StringAgg(),
)

_ALIASES = {
    "mean": "avg",
    "variance": "var_samp",
    "stddev": "stddev_samp",
    "std": "stddev_samp",
    "first_value": "first",
    "any_value": "first",
    "last_value": "last",
    "min_by": "arg_min",
    "max_by": "arg_max",
    "every": "bool_and",
    "any": "bool_or",
    "some": "bool_or",
    "percentile": "quantile",
    "quantile_cont": "quantile",
    "percentile_cont": "quantile",
    "percentile_disc": "quantile_disc",
    "countif": "count_if",
    "array_agg": "collect_list",
    "listagg": "string_agg",
}

_BY_NAME = {a.name: a for a in AGGREGATES}
_INTERNAL: dict[str, AggregateFunction] = {ROWS: HeldRows(), HELD: HeldRows(), EXTENT: WholeRows(), **ORDERED}
"""What plans call and people don't: rows held for user-defined aggregates, rows of extents, what has ORDER BY inside."""


def find(name: str) -> AggregateFunction | None:
    """The aggregate of that name (any case, Spark's aliases too), None if there is none."""
    lower = name.lower()
    return _BY_NAME.get(_ALIASES.get(lower, lower)) or _INTERNAL.get(lower)


def names() -> tuple[str, ...]:
    """All names, aliases last."""
    return (*_BY_NAME, *_ALIASES)


def goes_by_arrival(name: str) -> bool:
    """Whether rows of one time are told apart by the order in which they came."""
    found = find(name)
    return found is not None and (found.by_time or isinstance(found, ArgMin | ArgMax))


def of_nothing(name: str) -> int | None:
    """An aggregate's value over no rows: 0 of counts, otherwise NULL."""
    found = find(name)
    return None if found is None else found.of_nothing
