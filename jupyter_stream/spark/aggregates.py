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

Filter: TypeAlias = str
"""` FILTER (WHERE ...)`, or nothing."""
Write: TypeAlias = Callable[[AggregateCall, tuple[str, ...], Filter], str]

ARRIVAL: Final = "`$row`"


@dataclass(frozen=True, slots=True)
class OnSpark:
    """An aggregate on Spark.

    Attributes:
        support: the name of its row in the support table.
        write: its SQL, from the arguments' SQL and the FILTER clause.
        ordered: whether it goes by time and arrival number.
        distinct: the SQL with DISTINCT; None where there is none.
    """

    support: str
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
    values = _values(args, where)
    return f"CASE WHEN size({values}) > 0 THEN {values} END"


def _string_agg(call: AggregateCall, args: tuple[str, ...], where: Filter) -> str:
    values = _values(args, where)
    return f"CASE WHEN size({values}) > 0 THEN array_join({values}, {quoted(str(call.parameters[0]))}) END"


def _quantile(call: AggregateCall, args: tuple[str, ...], where: Filter) -> str:
    return f"percentile({args[0]}, CAST('{call.parameters[0]!r}' AS DOUBLE)){where}"


_BASIC: Final = "count, sum, avg, min, max"
_SPREAD: Final = "var_samp, var_pop, stddev_samp, stddev_pop"
_ENDS: Final = "first, last, arg_min, arg_max"
_TRUTH: Final = "bool_and, bool_or, count_if"

AGGREGATES: Final[dict[str, OnSpark]] = {
    "count": OnSpark(_BASIC, _count, distinct=_distinct_count),
    "sum": OnSpark(_BASIC, _plain("sum"), distinct=_distinct_sum),
    "avg": OnSpark(_BASIC, _plain("avg"), distinct=_distinct_avg),
    "min": OnSpark(_BASIC, _plain("min"), distinct=_plain("min")),
    "max": OnSpark(_BASIC, _plain("max"), distinct=_plain("max")),
    "bool_and": OnSpark(_TRUTH, _plain("bool_and"), distinct=_plain("bool_and")),
    "bool_or": OnSpark(_TRUTH, _plain("bool_or"), distinct=_plain("bool_or")),
    "count_if": OnSpark(_TRUTH, _plain("count_if")),
    "var_samp": OnSpark(_SPREAD, _plain("var_samp")),
    "var_pop": OnSpark(_SPREAD, _plain("var_pop")),
    "stddev_samp": OnSpark(_SPREAD, _plain("stddev_samp")),
    "stddev_pop": OnSpark(_SPREAD, _plain("stddev_pop")),
    "first": OnSpark(_ENDS, _first, ordered=True),
    "last": OnSpark(_ENDS, _last, ordered=True),
    "arg_min": OnSpark(_ENDS, _arg_min, ordered=True),
    "arg_max": OnSpark(_ENDS, _arg_max, ordered=True),
    "median": OnSpark("median, quantile", lambda call, args, where: f"percentile({args[0]}, 0.5D){where}"),
    "quantile": OnSpark("median, quantile", _quantile),
    "mode": OnSpark("mode", lambda call, args, where: f"mode({args[0]}, true){where}"),
    "collect_list": OnSpark("collect_list, string_agg", _collect_list, ordered=True),
    "string_agg": OnSpark("collect_list, string_agg", _string_agg, ordered=True),
    "approx_count_distinct": OnSpark(
        "approx_count_distinct", lambda call, args, where: f"approx_count_distinct({args[0]}, 0.011D){where}"
    ),
}
"""By registered name."""

REFUSED: Final[dict[str, str]] = {
    "heavy_hitters": "heavy_hitters, approx_top_k",
    "approx_top_k": "heavy_hitters, approx_top_k",
}


def support_of(call: AggregateCall) -> str:
    """The name of its row in the support table."""
    if call.function in (ROWS, HELD):
        return "user-defined aggregates"
    known = AGGREGATES.get(call.function)
    if known is None:
        return REFUSED.get(call.function, "other aggregates")
    if not call.distinct:
        return known.support
    if known.distinct is None:
        return "other aggregates"
    return "count, sum, avg of DISTINCT" if call.function in ("count", "sum", "avg") else known.support


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
