"""Aggregates: one family per file, each update, merge, subtract and finish over arrays. `AGGREGATES` is all there is."""

from jupyter_stream.aggregates.approx_count_distinct import ApproxCountDistinct
from jupyter_stream.aggregates.approx_top_k import ApproxTopK
from jupyter_stream.aggregates.arg_extremes import ArgMax, ArgMin
from jupyter_stream.aggregates.count import Count
from jupyter_stream.aggregates.ends import First, Last
from jupyter_stream.aggregates.extremes import Max, Min
from jupyter_stream.aggregates.heavy_hitters import HeavyHitters
from jupyter_stream.aggregates.lists import CollectList, StringAgg
from jupyter_stream.aggregates.mode import Mode
from jupyter_stream.aggregates.protocol import AggregateFunction, BadArguments, Dense, FrameForm, Partial
from jupyter_stream.aggregates.quantiles import Median, Quantile
from jupyter_stream.aggregates.spread import StddevPop, StddevSamp, VarPop, VarSamp
from jupyter_stream.aggregates.sums import Avg, Sum
from jupyter_stream.aggregates.truth import KEPT_AS, BoolAnd, BoolOr, CountIf
from jupyter_stream.aggregates.user.rows import HELD, ROWS, Rows
from jupyter_stream.aggregates.whole_rows import EXTENT, WholeRows

__all__ = [
    "AGGREGATES",
    "KEPT_AS",
    "ZERO_OF_NOTHING",
    "AggregateFunction",
    "BadArguments",
    "Dense",
    "FrameForm",
    "Partial",
    "find",
    "names",
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
    First(),
    Last(),
    ArgMin(),
    ArgMax(),
    BoolAnd(),
    BoolOr(),
    CountIf(),
    Median(),
    Quantile(),
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
    "last_value": "last",
    "min_by": "arg_min",
    "max_by": "arg_max",
    "every": "bool_and",
    "any": "bool_or",
    "some": "bool_or",
    "percentile": "quantile",
    "quantile_cont": "quantile",
    "array_agg": "collect_list",
    "listagg": "string_agg",
}
ZERO_OF_NOTHING = frozenset({"approx_count_distinct"})
"""Counts that are kept as something else: 0, not NULL, where no value came."""

_BY_NAME = {a.name: a for a in AGGREGATES}
_INTERNAL: dict[str, AggregateFunction] = {ROWS: Rows(), HELD: Rows(), EXTENT: WholeRows()}
"""What plans call and people don't: rows held for user-defined aggregates, rows of extents."""


def find(name: str) -> AggregateFunction | None:
    """The aggregate of that name (any case, Spark's aliases too), None if there is none."""
    lower = name.lower()
    return _BY_NAME.get(_ALIASES.get(lower, lower)) or _INTERNAL.get(lower)


def names() -> tuple[str, ...]:
    """All names, aliases last."""
    return (*_BY_NAME, *_ALIASES)
