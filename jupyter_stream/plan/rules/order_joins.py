"""Streams joined by equality are joined in the order that costs least (update-patterns paper §5.4.1, with the rates measured).

    SELECT ... FROM a [RANGE 1 HOUR] JOIN b [RANGE 1 HOUR] ON a.k = b.k JOIN c [RANGE 1 MINUTE] ON b.k = c.k
    SELECT ... FROM (b [RANGE 1 HOUR] JOIN c [RANGE 1 MINUTE] ON b.k = c.k) JOIN a [RANGE 1 HOUR] ON a.k = b.k

Lifetimes that meet two by two meet all together, and equality goes through, so that any order gives the same rows. Left as they
are: outer joins, joins bounded by conditions on time, and streams whose promises a join follows (constraints, single keys).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import TypeAlias

from jupyter_stream.core.messages import TS
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.functions.expression import Column, Expr, columns, conjuncts, substitute
from jupyter_stream.plan.catalog import PunctuationColumn
from jupyter_stream.plan.cost import cost
from jupyter_stream.plan.logical import Aggregate, Join, Plan, Project, Scan, walk
from jupyter_stream.plan.rates import Rates
from jupyter_stream.plan.rules.common import all_of, moves
from jupyter_stream.windows import LifetimeWindow, Window

Keys: TypeAlias = tuple[tuple[Expr, Expr], ...]

_MOST = 5
"""Inputs whose orders are all looked at: 60 of them."""
_BETTER = 0.9
"""Share of the cost that another order has to stay below: estimates are no truer."""
_ORDERLESS = frozenset(("count", "sum", "avg", "min", "max"))
"""Aggregates to which the order of rows means nothing."""


@dataclass(frozen=True)
class _Input:
    """An input of the joins.

    Attributes:
        plan: its rows.
        window: how long they live.
        names: its columns' names in the joined row, in the order of its schema.
    """

    plan: Plan
    window: Window
    names: tuple[str, ...]


@dataclass(frozen=True)
class _Joined:
    """Joins as one: what is joined, by which equalities of joined columns, and under which further conditions."""

    inputs: tuple[_Input, ...]
    equal: Keys
    extents: Keys
    residual: tuple[Expr, ...]


def order_joins(plan: Plan, rates: Rates) -> Plan | None:
    """The plan with its joins in another order; None where they stay."""
    match plan:
        case Project(input=Join() as joins):
            used = {c for _, e in plan.items for c in columns(e)}
        case Aggregate(input=Join() as joins) if not plan.user and not plan.other_windows and plan.where is None:
            if not {c.function for c in plan.aggregates} <= _ORDERLESS:
                return None
            read = [*(e for _, e in plan.keys), *(e for c in plan.aggregates for e in (*c.args, *_some(c.where)))]
            used = {n for e in read for n in columns(e)}
        case _:
            return None
    found = _flat(joins)
    if found is None or not 2 < len(found.inputs) <= _MOST:
        return None
    if any(n.startswith("$") and n != TS for n in used):
        return None
    used |= {n for e in (*found.residual, *(e for pair in found.equal for e in pair)) for n in columns(e)}
    best, least = None, _BETTER * cost(joins, rates)
    for order in _orders(len(found.inputs)):
        made = _made(found, order, used)
        if made is not None and (its := cost(made, rates)) < least:
            best, least = made, its
    return None if best is None or _scans(best) == _scans(joins) else replace(plan, input=best)


def _some(expr: Expr | None) -> Iterator[Expr]:
    if expr is not None:
        yield expr


def _scans(plan: Plan) -> list[str]:
    return [n.stream.name for n in walk(plan) if isinstance(n, Scan)]


def note(written: Plan, plan: Plan, rates: Rates) -> tuple[str, ...]:
    """What EXPLAIN says of the order of joins, where it isn't the one written.

    Args:
        written: the plan with its joins as they were written.
        plan: the one that is run.
        rates: those the order was chosen by.
    """
    if written is plan or _scans(written) == _scans(plan):
        return ()
    at = "the rates measured" if rates.streams else "a row per second of each stream"
    order = ", ".join(_scans(plan))
    return (
        f"streams are joined in the order {order}: estimated cost {cost(plan, rates):,.0f}"
        f" instead of {cost(written, rates):,.0f} as written, at {at}",
    )


def _orders(inputs: int) -> Iterator[tuple[int, ...]]:
    """All orders; of the first two it doesn't matter which is which."""
    return (o for o in permutations(range(inputs)) if o[0] < o[1])


# -- from joins to what they join ----------------------------------------------------------------------------------------


def _flat(plan: Join) -> _Joined | None:
    """Joins one above the other as one; None where their order matters."""
    if plan.kind != "inner" or isinstance(plan.right, Join):
        return None
    right_window = plan.windows[1]
    if isinstance(plan.left, Join):
        below = _flat(plan.left)
    else:
        if not _free(plan.left):
            return None
        below = _Joined((_Input(plan.left, plan.windows[0], plan.left.schema.names),), (), (), ())
    if below is None or not _free(plan.right):
        return None
    new = _Input(plan.right, right_window, plan.right_names)
    if _bounds([i.window for i in below.inputs], right_window) != (plan.low, plan.high):
        return None
    there: dict[str, Expr] = {
        f.name: Column(n, f.dtype) for f, n in zip(plan.right.schema, plan.right_names, strict=True)
    }
    equal = below.equal
    extents = tuple(pair for pair in plan.keys if all(columns(e) == {TS} for e in pair))
    for left, right in (pair for pair in plan.keys if pair not in extents):
        if any(c.startswith("$") for e in (left, right) for c in columns(e)) or not (moves(left) and moves(right)):
            return None
        equal = (*equal, (left, substitute(right, there)))
    rest = () if plan.residual is None else conjuncts(plan.residual)
    if not all(moves(e) for e in rest):
        return None
    return _Joined((*below.inputs, new), equal, extents, (*below.residual, *rest))


def _free(plan: Plan) -> bool:
    """Whether nothing that is promised of these rows is of use in one place rather than another."""
    scans = [n.stream for n in walk(plan) if isinstance(n, Scan)]
    by_key = (isinstance(p := s.time.progress, PunctuationColumn) and p.key is not None for s in scans)
    whole = not any(isinstance(n, Join) for n in walk(plan))
    return whole and not any(by_key) and not any(s.constraints for s in scans)


def _bounds(lefts: Sequence[Window], right: Window) -> tuple[int | None, int | None]:
    """How far apart the windows let rows be: right time minus left time."""
    if right.schedule is not None:
        return 1 - right.schedule.slide, right.schedule.slide - 1
    spans = [w.span for w in lefts]
    longest = None if None in spans else max(s for s in spans if s is not None)
    return None if right.span is None else 1 - right.span, None if longest is None else longest - 1


# -- and back --------------------------------------------------------------------------------------------------------------


def _made(found: _Joined, order: Sequence[int], used: set[str]) -> Plan | None:
    """The joins in an order; None if two parts of it have no column in common to be joined by."""
    inputs = [found.inputs[i] for i in order]
    classes = _classes(found.equal)
    plan, windows = _named(inputs[0], used), [inputs[0].window]
    have = set(inputs[0].names)
    rest, settled = list(found.residual), set[Expr]()
    for i, new in enumerate(inputs[1:]):
        names = dict(zip(new.names, new.plan.schema.names, strict=True))
        keys = _keys(classes, settled, have, names)
        if not keys:
            return None
        have |= set(new.names)
        now = [e for e in rest if columns(e) <= have]
        rest = [e for e in rest if e not in now]
        fields = (Field(n, f.dtype) for n, f in zip(new.names, new.plan.schema, strict=True))
        low, high = _bounds(windows, new.window)
        of_left = windows[0] if i == 0 or windows[0].sliding else LifetimeWindow(None, written=False)
        plan = Join(
            plan,
            new.plan,
            "inner",
            (*found.extents, *keys),
            all_of(now) if now else None,
            low,
            high,
            new.names,
            Schema((*plan.schema, *fields)),
            (of_left, new.window),
        )
        windows.append(new.window)
    return plan


def _named(first: _Input, used: set[str]) -> Plan:
    """The first input under the names its columns have in the joined row, of which those nobody reads are left out."""
    if first.names == first.plan.schema.names:
        return first.plan
    kept = [(n, f) for n, f in zip(first.names, first.plan.schema, strict=True) if n in used]
    schema = Schema(tuple(Field(n, f.dtype) for n, f in kept))
    return Project(first.plan, tuple((n, Column(f.name, f.dtype)) for n, f in kept), schema)


def _classes(equal: Keys) -> list[list[Expr]]:
    """Expressions that are all equal."""
    found: list[list[Expr]] = []
    for pair in equal:
        touched = [c for c in found if any(e in c for e in pair)]
        merged = [e for c in touched for e in c]
        found = [c for c in found if c not in touched]
        found.append([*merged, *(e for e in dict.fromkeys(pair) if e not in merged)])
    return found


def _keys(classes: Iterable[list[Expr]], settled: set[Expr], have: set[str], names: dict[str, str]) -> Keys:
    """What a new input has to equal.

    Args:
        classes: expressions that are all equal.
        settled: those that joins below have made so; what this one adds is written down.
        have: columns of what is joined below.
        names: the new input's columns, by their names in the joined row.
    """
    found: list[tuple[Expr, Expr]] = []
    for members in classes:
        there = [e for e in members if columns(e) <= have]
        new = [e for e in members if columns(e) <= names.keys()]
        if there and new:
            mine = [substitute(e, _own(e, names)) for e in new]
            one = next((e for e in there if e in settled), there[0])
            found += [(one, e) for e in mine]
            found += [(e, mine[0]) for e in there if e != one and e not in settled]
            settled |= {*there, *new}
    return tuple(found)


def _own(expr: Expr, names: dict[str, str]) -> dict[str, Expr]:
    return {c.name: Column(names[c.name], c.dtype) for c in _columns(expr)}


def _columns(expr: Expr) -> Iterator[Column]:
    if isinstance(expr, Column):
        yield expr
    for arg in getattr(expr, "args", ()):
        yield from _columns(arg)


__all__ = ["note", "order_joins"]
