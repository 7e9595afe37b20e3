"""Aggregates in Spark's SQL: a table. What each means is said in the aggregates' own files; here is what gives the same there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import polars as pl

from jupyter_stream.aggregates.user import HELD, ROWS
from jupyter_stream.functions.spark import quoted
from jupyter_stream.functions.types import spark_name
from jupyter_stream.plan.logical import AggregateCall
from jupyter_stream.spark.expressions import TIME, sql
from jupyter_stream.spark.rows import (
    BASIC,
    DISTINCT_SKETCH,
    ENDS,
    FREQUENT,
    LISTS,
    MODE,
    OF_DISTINCT,
    OTHER_AGGREGATES,
    QUANTILES,
    SPREAD,
    TRUTH,
    USER_DEFINED,
    Support,
)

Filter: TypeAlias = str
"""` FILTER (WHERE ...)`, or nothing."""
Write: TypeAlias = Callable[[AggregateCall, tuple[str, ...], Filter], str]

ARRIVAL: Final = "`$row`"


@dataclass(frozen=True, slots=True)
class AggregateOnSpark:
    """An aggregate on Spark.

    Attributes:
        support: its row in the support table.
        write: its SQL, from the arguments' SQL and the FILTER clause.
        ordered: whether it goes by time and arrival number.
        distinct: the SQL with DISTINCT; None where there is none.
    """

    support: Support
    write: Write
    ordered: bool = False
    distinct: Write | None = None


def _plain(name: str) -> Write:
    return lambda call, args, where: f"{name}({', '.join(args)}){where}"


def _count(call: AggregateCall, args: tuple[str, ...], where: Filter) -> str:
    return f"count({args[0] if args else '1'}){where}"


def may_overflow(call: AggregateCall) -> bool:
    """Whether a sum can get beyond BIGINT with fewer than 2^31 rows."""
    return call.function == "sum" and not call.distinct and call.args[0].dtype == pl.Int64()


def _distinct_count(call: AggregateCall, args: tuple[str, ...], where: Filter) -> str:
    return f"CAST(size(collect_set({args[0]}){where}) AS BIGINT)"


def _distinct_sum(call: AggregateCall, args: tuple[str, ...], where: Filter) -> str:
    values = f"collect_set({args[0]}){where}"
    dtype = spark_name(call.dtype)
    return f"CASE WHEN size({values}) > 0 THEN aggregate({values}, CAST(0 AS {dtype}), (a, v) -> CAST(a + v AS {dtype})) END"


def _avg(call: AggregateCall, args: tuple[str, ...], where: Filter) -> str:
    if isinstance(call.args[0].dtype, pl.Decimal):  # Spark's own is a DECIMAL, rounded four digits farther
        return f"CAST(sum({args[0]}){where} AS DOUBLE) / count({args[0]}){where}"
    return f"avg({args[0]}){where}"


def _distinct_avg(call: AggregateCall, args: tuple[str, ...], where: Filter) -> str:
    values = f"collect_set({args[0]}){where}"
    total = f"aggregate({values}, CAST(0 AS DOUBLE), (a, v) -> a + CAST(v AS DOUBLE))"
    return f"CASE WHEN size({values}) > 0 THEN {total} / size({values}) END"


def _first(call: AggregateCall, args: tuple[str, ...], where: Filter) -> str:
    return f"min_by({args[0]}, struct({TIME}, {ARRIVAL})){where}"


def _last(call: AggregateCall, args: tuple[str, ...], where: Filter) -> str:
    return f"max_by({args[0]}, struct({TIME}, {ARRIVAL})){where}"


def _and(where: Filter, condition: str) -> Filter:
    """FILTER with one condition more."""
    return f"{where[:-1]} AND {condition})" if where else f" FILTER (WHERE {condition})"


def _arg_min(call: AggregateCall, args: tuple[str, ...], where: Filter) -> str:
    return f"min_by({args[0]}, struct({args[1]}, {TIME}, {ARRIVAL})){_and(where, f'{args[1]} IS NOT NULL')}"


def _arg_max(call: AggregateCall, args: tuple[str, ...], where: Filter) -> str:
    order = f"struct({args[1]}, -unix_micros({TIME}), -{ARRIVAL})"
    return f"max_by({args[0]}, {order}){_and(where, f'{args[1]} IS NOT NULL')}"


def _values(args: tuple[str, ...], where: Filter) -> str:
    """The values that aren't NULL, by time, ties by arrival."""
    row = f"named_struct('t', {TIME}, 'r', {ARRIVAL}, 'v', {args[0]})"
    return f"transform(array_sort(collect_list({row}){_and(where, f'{args[0]} IS NOT NULL')}), s -> s.v)"


def _collect_list(call: AggregateCall, args: tuple[str, ...], where: Filter) -> str:
    return _values(args, where)


def _string_agg(call: AggregateCall, args: tuple[str, ...], where: Filter) -> str:
    values = _values(args, where)
    separator = quoted(str(call.parameters[0]) if call.parameters else "")
    return f"CASE WHEN size({values}) > 0 THEN array_join({values}, {separator}) END"


def _quantile(call: AggregateCall, args: tuple[str, ...], where: Filter) -> str:
    return f"percentile({args[0]}, CAST('{call.parameters[0]!r}' AS DOUBLE)){where}"


AGGREGATES: Final[dict[str, AggregateOnSpark]] = {
    "count": AggregateOnSpark(BASIC, _count, distinct=_distinct_count),
    "sum": AggregateOnSpark(BASIC, _plain("sum"), distinct=_distinct_sum),
    "avg": AggregateOnSpark(BASIC, _avg, distinct=_distinct_avg),
    "min": AggregateOnSpark(BASIC, _plain("min"), distinct=_plain("min")),
    "max": AggregateOnSpark(BASIC, _plain("max"), distinct=_plain("max")),
    "bool_and": AggregateOnSpark(TRUTH, _plain("bool_and"), distinct=_plain("bool_and")),
    "bool_or": AggregateOnSpark(TRUTH, _plain("bool_or"), distinct=_plain("bool_or")),
    "count_if": AggregateOnSpark(TRUTH, _plain("count_if")),
    "var_samp": AggregateOnSpark(SPREAD, _plain("var_samp")),
    "var_pop": AggregateOnSpark(SPREAD, _plain("var_pop")),
    "stddev_samp": AggregateOnSpark(SPREAD, _plain("stddev_samp")),
    "stddev_pop": AggregateOnSpark(SPREAD, _plain("stddev_pop")),
    "first": AggregateOnSpark(ENDS, _first, ordered=True),
    "last": AggregateOnSpark(ENDS, _last, ordered=True),
    "arg_min": AggregateOnSpark(ENDS, _arg_min, ordered=True),
    "arg_max": AggregateOnSpark(ENDS, _arg_max, ordered=True),
    "median": AggregateOnSpark(QUANTILES, lambda call, args, where: f"percentile({args[0]}, 0.5D){where}"),
    "quantile": AggregateOnSpark(QUANTILES, _quantile),
    "mode": AggregateOnSpark(MODE, lambda call, args, where: f"mode({args[0]}, true){where}"),
    "collect_list": AggregateOnSpark(LISTS, _collect_list, ordered=True),
    "string_agg": AggregateOnSpark(LISTS, _string_agg, ordered=True),
    "approx_count_distinct": AggregateOnSpark(
        DISTINCT_SKETCH, lambda call, args, where: f"approx_count_distinct({args[0]}, 0.011D){where}"
    ),
}
"""By registered name."""

OURS: Final[dict[str, Support]] = {
    "heavy_hitters": FREQUENT,
    "approx_top_k": FREQUENT,
    **dict.fromkeys(
        (
            *("bit_and", "bit_or", "bit_xor", "topk", "topkdistinct", "earliest_by_offset", "latest_by_offset"),
            *("covar_pop", "covar_samp", "corr", "skewness", "kurtosis", "quantile_disc"),
            *("regr_avgx", "regr_avgy", "regr_count", "regr_intercept", "regr_r2"),
            *("regr_slope", "regr_sxx", "regr_sxy", "regr_syy"),
        ),
        OTHER_AGGREGATES,
    ),
}
"""The kernel's."""
ROWS_OF_CALLS: Final = (
    *dict.fromkeys(known.support for known in AGGREGATES.values()),
    *(row for row in dict.fromkeys(OURS.values()) if row != OTHER_AGGREGATES),
    OF_DISTINCT,
    USER_DEFINED,
    OTHER_AGGREGATES,
)
"""All that `support_of` may give."""


def support_of(call: AggregateCall) -> Support:
    """Its row in the support table."""
    if call.function in (ROWS, HELD):
        return USER_DEFINED
    known = AGGREGATES.get(call.function)
    if known is None:
        return OURS.get(call.function, OTHER_AGGREGATES)
    if not call.distinct:
        return known.support
    if known.distinct is None:
        return OTHER_AGGREGATES
    return OF_DISTINCT if call.function in ("count", "sum", "avg") else known.support


def aggregate_sql(call: AggregateCall, guarded: bool) -> str:
    """The call in Spark's SQL, of the type the kernel gives.

    Args:
        call: the aggregate.
        guarded: whether a sum beyond BIGINT is to give NULL (see `overflow_sql`) rather than end the query.
    """
    known = AGGREGATES[call.function]
    write = known.distinct if call.distinct and known.distinct is not None else known.write
    where = "" if call.where is None else f" FILTER (WHERE {sql(call.where)})"
    args = tuple(sql(a) for a in call.args)
    made = _exact_sum(args[0], where, guarded) if may_overflow(call) else write(call, args, where)
    return f"CAST({made} AS {spark_name(call.dtype)})"


def overflow_sql(call: AggregateCall) -> str:
    """Whether a sum is beyond BIGINT."""
    where = "" if call.where is None else f" FILTER (WHERE {sql(call.where)})"
    arg = sql(call.args[0])
    return f"{_exact_sum(arg, where, guarded=True)} IS NULL AND count({arg}){where} > 0"


def _exact_sum(arg: str, where: Filter, guarded: bool) -> str:
    """A sum of BIGINT that may leave its range and come back: of the halves, which can't; decimals would take BigDecimals."""
    high = f"CAST(sum(shiftright({arg}, 32)){where} AS DECIMAL(20, 0)) * 4294967296BD"
    return f"{'try_cast' if guarded else 'CAST'}({high} + sum({arg} & 4294967295L){where} AS BIGINT)"
