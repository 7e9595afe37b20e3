"""Answers worked out from some of the rows: sums and counts scaled up, with standard errors, and the column that says so.

Before: SELECT count(*) AS n FROM s [RANGE 1 HOUR TUMBLING]
After:  SELECT estimate(n) AS n, (..., error(n)) AS precision FROM (SELECT count(*) AS n, sum(w), sum(w * (w - 1)) FROM s ...)

Each row has a weight w, one over the probability with which it was kept (Horvitz and Thompson, JASA 1952). What is made of the
sums over weights is worked out in `approximation/estimates.py`. Not for which rows are kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final
from typing import cast as typed

import polars as pl

from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.functions import Column, Expr, Literal, cast, resolve
from jupyter_stream.plan.logical import SCALED, Aggregate, AggregateCall, Plan, Project, WeighedAggregate, walk

PRECISION: Final = "precision"
"""The column that says how exact an answer is."""
WEIGHT: Final = Column("$weight", pl.Float64())
"""Of how many rows of its stream a row stands for one."""
SHARE: Final = Column("$share", pl.Float64())
"""The share of an extent's rows that were looked at."""
_DOUBLE: Final = pl.Float64()
_ONE, _ZERO, _NOTHING = Literal(1.0, _DOUBLE), Literal(0.0, _DOUBLE), Literal(None, _DOUBLE)


@dataclass(frozen=True)
class Account:
    """What answers say of how they were worked out.

    Attributes:
        weight: of each row.
        share: of the rows that were looked at, for an answer.
        done: what was given up, in words; said where the share is less than 1, or anything else was changed.
        always: whether it is said of every answer.
        part: of the length of windows that is left: so much of what rows come to.
    """

    weight: Expr
    share: Expr
    done: str
    always: bool
    part: float = 1.0

    @property
    def whole(self) -> bool:
        """Whether all rows are looked at."""
        return self.share == _ONE


def weighed(plan: Plan, account: Account) -> Plan:
    """The plan whose answers are estimates and say so, in a column of their own."""
    grouped = any(node.holds == "groups" for node in walk(plan))
    if grouped and account.whole:
        return _with_precision(plan, account, {}, plan.schema)
    if grouped:
        below, errors = _estimated(plan, account)
        return _with_precision(below, account, errors, plan.schema)
    return _with_precision(plan, account, None, plan.schema)


def _with_precision(plan: Plan, account: Account, errors: dict[str, Expr] | None, shown: Schema) -> Project:
    items: tuple[tuple[str, Expr], ...] = tuple((f.name, Column(f.name, f.dtype)) for f in shown)
    precision = _precision(account, errors)
    items = (*items, (PRECISION, precision))
    return Project(plan, items, Schema(tuple(Field(n, e.dtype) for n, e in items)), f"say how exact it is: {PRECISION}")


def _precision(account: Account, errors: dict[str, Expr] | None) -> Expr:
    """What was done, the share of rows, false positives and negatives of rows, a standard error of each value."""
    whole = account.part == 1  # otherwise a window was shortened, and no answer is exact
    exact = _call(">=", account.share, _ONE) if whole else Literal(False, pl.Boolean())
    said: Expr = Literal(account.done, pl.String())
    if not account.always:
        said = _call("case", exact, Literal("exact", pl.String()), said)
    missed = _call("-", _ONE, _call("*", account.share, Literal(account.part, _DOUBLE)))
    rows = errors is None
    parts: list[Expr] = [
        *_named("done", said),
        *_named("share", account.share),
        *_named("fp", _ZERO if rows else _call("case", exact, _ZERO, _NOTHING)),
        *_named("fn", missed if rows else _call("case", exact, _ZERO, _NOTHING)),
    ]
    if errors:
        parts += _named("error", _call("named_struct", *(p for n, e in errors.items() for p in _named(n, e))))
    return _call("named_struct", *parts)


def _named(name: str, value: Expr) -> tuple[Expr, Expr]:
    return Literal(name, pl.String()), value


def _estimated(plan: Plan, account: Account) -> tuple[Plan, dict[str, Expr]]:
    """The plan over an aggregate with estimates, and the standard error of each of its columns that has one."""
    if plan.holds == "groups":
        return _aggregate(typed("Aggregate", plan), account)
    (part,) = plan.inputs
    below, errors = _estimated(part, account)
    carried = [Field(e.name, e.dtype) for e in errors.values() if isinstance(e, Column)]
    found = {f.name: errors[o] for f in plan.schema if (o := plan.origin(f.name)) in errors and o is not None}
    return plan.carrying(below, carried), found


def _aggregate(plan: Aggregate, account: Account) -> tuple[Plan, dict[str, Expr]]:
    sums = _Sums(account.weight)
    estimates = {c.name: sums.of(c) for c in plan.aggregates if c.function in SCALED}
    made: list[tuple[str, Expr]] = []
    for f in plan.schema:
        made.append((f.name, estimates[f.name].estimate if f.name in estimates else Column(f.name, f.dtype)))
    made += [(e.error.name, e.error) for e in estimates.values()]
    wider = replace(
        plan,
        aggregates=(*plan.aggregates, *sums.calls.values()),
        schema=Schema((*plan.schema, *(Field(c.name, c.dtype) for c in sums.calls.values()))),
        estimates=tuple(estimates.values()),
        looked_at=float(str(account.share.value)) if isinstance(account.share, Literal) else None,
    )
    errors: dict[str, Expr] = {
        c.name: estimates[c.name].error if c.name in estimates else _NOTHING for c in plan.aggregates
    }
    words = f"take estimates: {', '.join(e.function for e in estimates.values())}" if estimates else ""
    return Project(wider, tuple(made), Schema(tuple(Field(n, e.dtype) for n, e in made)), words), errors


@dataclass
class _Sums:
    """The aggregates over rows with weights, each once."""

    weight: Expr
    calls: dict[tuple[str, Expr, Expr | None], AggregateCall] = field(default_factory=dict)

    def of(self, call: AggregateCall) -> WeighedAggregate:
        """What an aggregate's estimate is made of."""
        spread = _call("*", self.weight, _call("-", self.weight, _ONE))
        weights, spreads = (self._column(call, "sum", _where(call, each)) for each in (self.weight, spread))
        found = WeighedAggregate(call.name, call.function, call.dtype, weights, spreads)
        if call.function == "count":
            return found
        weighted = _call("*", self.weight, cast(call.args[0], _DOUBLE))
        total, squares = (
            self._column(call, "sum", each) for each in (weighted, _call("*", weighted, cast(call.args[0], _DOUBLE)))
        )
        return replace(found, total=total, squares=squares, rows=self._column(call, "count", call.args[0]))

    def _column(self, call: AggregateCall, function: str, value: Expr) -> str:
        """The column of a count or a sum of a value over the rows that an aggregate takes."""
        key = (function, value, call.where)
        if key not in self.calls:
            dtype = pl.Int64() if function == "count" else _DOUBLE
            self.calls[key] = AggregateCall(function, (value,), f"$weighed{len(self.calls)}", dtype, where=call.where)
        return self.calls[key].name


def _where(call: AggregateCall, value: Expr) -> Expr:
    """A value of the rows that an aggregate takes: NULL where its argument is."""
    return _call("case", _call("is_null", call.args[0]), _NOTHING, value) if call.args else value


def _call(name: str, *args: Expr) -> Expr:
    return resolve(name, args)


__all__ = ["PRECISION", "SHARE", "WEIGHT", "Account", "weighed"]
