"""Joins: which rows meet. Conditions become equal keys, bounds on the difference of times, filters of one input, and a rest."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace

from jupyter_stream import functions
from jupyter_stream.core.messages import TS
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.core.table import ViewRows
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.functions import Call, Column, Expr, Literal
from jupyter_stream.functions.expression import columns, substitute
from jupyter_stream.functions.types import BIGINT
from jupyter_stream.language.as_relation import newest_of, relation_of
from jupyter_stream.language.bind_aggregate import InputNames, check_qualifier, lookup
from jupyter_stream.language.bind_expression import ExpressionBinder
from jupyter_stream.language.scope import JoinedColumn, Scope, time_of
from jupyter_stream.language.source_text import SourceText, Span
from jupyter_stream.language.syntax import FromItem, JoinRef
from jupyter_stream.plan.catalog import StreamDef
from jupyter_stream.plan.logical import Filter, Join, Lookup, Plan, Project, RelationJoin, Scan, TableRelation
from jupyter_stream.plan.relations import holds_join, is_relation
from jupyter_stream.windows import LifetimeWindow, RowWindow, TimeWindow, Window

_UNBOUNDED = LifetimeWindow(None, written=False)
_COMPARISONS = {"<": (None, -1), "<=": (None, 0), ">": (1, None), ">=": (0, None), "=": (0, 0)}
"""What `difference op 0` says of the least and the greatest difference."""


def bind_join(item: JoinRef, source: SourceText, bind: Callable[[FromItem], Scope]) -> Scope:
    """The rows of a join. Conditions of WHERE are taken in later, by `absorb`.

    Raises:
        QueryError: a wrong condition, windows that don't go together.
    """
    left, right = (bind(part) for part in item.parts)
    if table_of(left) is None or table_of(right) is None:  # tables and views only are answered once, as they are
        left, right = _living(left), _living(right)
    if table_of(left) is not None and table_of(right) is None and item.kind == "inner":
        left, right = right, left  # SELECT * shows the stream's columns first
        item = replace(item, parts=(item.parts[1], item.parts[0]))
    if relational(left, right):
        return _join_relations(item, left, right, source)
    table = table_of(right)
    if table_of(left) is not None and table is None:
        raise source.error(
            f"a {item.kind} join of a table with a stream would wait for ever to say which of its rows never matched",
            item.span,
            "Write the stream on the left: FROM stream LEFT JOIN table ON ....",
        )
    if table is not None and table_of(left) is None:
        return _look_up(item, left, right, table, source)
    for scope, part in ((left, item.parts[0]), (right, item.parts[1])):
        check_input(scope, part, source)
    if left.time.dtype != right.time.dtype:
        raise source.error("a join needs one kind of time: one input has TIMESTAMP, the other BIGINT", item.span)
    names = set(left.qualifiers) & set(right.qualifiers)
    if names:
        raise source.error(
            f"two inputs of the join are called {names.pop()}",
            item.parts[1].span,
            "Give each a name of its own: FROM s a JOIN s b ON ....",
        )
    low, high, same = bounds_of(left, right, item, source)
    join, columns_ = joined(left, right, item, low, high)
    scope = Scope(join, (*left.qualifiers, *right.qualifiers), None, columns_)
    if same is not None:
        join = replace(join, keys=(*join.keys, same))
    scope = replace(scope, plan=join)
    if item.using:
        join = replace(join, keys=(*join.keys, *_using(item, left, right, source)))
        hidden = {n.text.lower() for n in item.using}
        kept = tuple(c for c in columns_ if not (c.name.lower() in hidden and c.qualifiers == right.qualifiers))
        scope = replace(scope, plan=join, joined=kept)
        if item.kind in ("right", "full"):
            scope = replace(scope, plan=_coalesced(join, [n.text.lower() for n in item.using], columns_, kept))
    if item.on is not None:
        condition = ExpressionBinder(source, InputNames(scope, source, "ON")).condition(item.on, "ON")
        join = take(join, condition, into_inputs=item.kind == "inner")
        scope = replace(scope, plan=join)
    if item.kind in ("semi", "anti"):
        plan = replace(join, schema=left.schema)
        return Scope(plan, left.qualifiers, None, left.joined)
    # a tumbling join's rows are each in one extent, so that aggregates over it are answered extent by extent
    return replace(scope, window=left.window) if isinstance(left.window, TimeWindow) else scope


def _living(scope: Scope) -> Scope:
    """A view as the relation that its SELECT defines, which changes while the query runs; anything else as it is."""
    table = table_of(scope)
    if table is None or not isinstance(table.table, ViewRows):
        return scope
    plan = table.table.plan
    assert isinstance(plan, Plan)
    return Scope(plan, scope.qualifiers, None)


def relational(left: Scope, right: Scope) -> bool:
    """Whether a join is one of relations: of an aggregate, say, or with a retroactive table."""
    tables = [table_of(left), table_of(right)]
    if all(tables):
        return False  # answered once, as they are now
    return any(
        is_relation(s.plan) or _newest(s.window) or (t is not None and t.retroactive)
        for s, t in zip((left, right), tables, strict=True)
    )


def _newest(window: Window | None) -> bool:
    """Whether a window is `[ROWS n]` or `[PARTITION BY k ROWS n]`."""
    return isinstance(window, RowWindow) and window.slide is None


def _join_relations(item: JoinRef, left: Scope, right: Scope, source: SourceText) -> Scope:
    """Pairs of rows that are in both relations at the same time."""
    if set(left.qualifiers) & set(right.qualifiers):
        raise source.error(
            f"two inputs of the join are called {(set(left.qualifiers) & set(right.qualifiers)).pop()}",
            item.parts[1].span,
            "Give each a name of its own.",
        )
    kept = {"left": (left,), "anti": (left,), "right": (right,), "full": (left, right)}.get(item.kind, ())
    if any(table_of(scope) is not None for scope in kept):
        raise source.error(
            f"a {item.kind} join that keeps the rows of a table isn't available in this version",
            item.span,
            "Write LEFT JOIN, with the stream on the left.",
            UnsupportedError,
        )
    made, columns_ = joined(left, right, item, None, None)
    plan = relations_joined(made, left, right, item, source)
    if item.using:
        plan = replace(plan, keys=tuple(_using(item, left, right, source)))
        hidden = {n.text.lower() for n in item.using}
        columns_ = tuple(c for c in columns_ if not (c.name.lower() in hidden and c.qualifiers == right.qualifiers))
    scope = Scope(plan, (*left.qualifiers, *right.qualifiers), None, columns_)
    if item.on is not None:
        condition = ExpressionBinder(source, InputNames(scope, source, "ON")).condition(item.on, "ON")
        scope = replace(scope, plan=matching(plan, condition))
    if item.kind in ("semi", "anti"):
        return Scope(replace(scope.plan, schema=left.schema), left.qualifiers, None, left.joined)
    return scope


def relations_joined(made: Join, left: Scope, right: Scope, item: JoinRef, source: SourceText) -> RelationJoin:
    """A join of relations, without its conditions."""
    sides: list[Plan] = []
    for scope in (left, right):
        table = table_of(scope)
        if table is not None:
            sides.append(TableRelation(table, table.schema))
            continue
        window = scope.window
        if isinstance(window, RowWindow) and window.slide is None:
            sides.append(newest_of(scope.plan, window, source, item.parts[len(sides)].span))
            continue
        other = right if scope is left else left
        lives = window is not None or is_relation(scope.plan) or holds_join(scope.plan)
        if not lives and table_of(other) is None:
            raise source.error(
                "nothing says how long rows of this input wait for partners",
                item.parts[len(sides)].span,
                "Give it a window: [NOW] looks once, at the time of each row, [RANGE 5 MINUTES] for so long; or [RANGE UNBOUNDED].",
            )
        if window is not None and not isinstance(window, LifetimeWindow):
            raise source.error(
                f"a join of relations under {window} isn't available in this version",
                item.span,
                "Write a window without SLIDE, [RANGE 5 MINUTES], and aggregate over the join.",
                UnsupportedError,
            )
        sides.append(relation_of(scope.plan, window, source, item.span))
    return RelationJoin(sides[0], sides[1], item.kind, (), None, made.right_names, made.schema)


def matching(plan: RelationJoin, condition: Expr) -> RelationJoin:
    """A join of relations with a condition: equal keys, and a rest."""
    own = set(plan.left.schema.names)
    back = {n: Column(f.name, f.dtype) for n, f in zip(plan.right_names, plan.right.schema, strict=True)}
    keys = list(plan.keys)
    rest: list[Expr] = [] if plan.residual is None else [plan.residual]
    for part in conjuncts(condition):
        pair = _key(part, own, back)
        if pair is not None:
            keys.append(pair)
        else:
            rest.append(part)
    return replace(plan, keys=tuple(keys), residual=_all(rest))


def table_of(scope: Scope) -> StreamDef | None:
    """The table a FROM item is, None for anything else."""
    plan = scope.plan
    return plan.stream if isinstance(plan, Scan) and plan.stream.table is not None else None


def _look_up(item: JoinRef, left: Scope, right: Scope, table: StreamDef, source: SourceText) -> Scope:
    """A stream joined with a table: the rows keep their time and their window."""
    if item.kind in ("right", "full"):
        raise source.error(
            f"a {item.kind} join with a table would wait for ever to say which of its rows never matched",
            item.span,
            "Write LEFT JOIN, with the stream on the left.",
        )
    if set(left.qualifiers) & set(right.qualifiers):
        raise source.error(
            f"two inputs of the join are called {right.qualifiers[0]}",
            item.parts[1].span,
            "Give each a name of its own.",
        )
    join, columns_ = joined(left, right, item, None, None)
    lookup_ = Lookup(left.plan, table, item.kind, (), None, join.right_names, join.schema)
    scope = Scope(lookup_, (*left.qualifiers, *right.qualifiers), left.window, columns_)
    if item.using:
        hidden = {n.text.lower() for n in item.using}
        kept = tuple(c for c in columns_ if not (c.name.lower() in hidden and c.qualifiers == right.qualifiers))
        lookup_ = replace(lookup_, keys=tuple(_using(item, left, right, source)))
        scope = replace(scope, plan=lookup_, joined=kept)
    if item.on is not None:
        condition = ExpressionBinder(source, InputNames(scope, source, "ON")).condition(item.on, "ON")
        scope = replace(scope, plan=matched(lookup_, condition))
    if item.kind in ("semi", "anti"):
        assert isinstance(scope.plan, Lookup)
        return Scope(replace(scope.plan, schema=left.schema), left.qualifiers, left.window, left.joined)
    return scope


def matched(lookup_: Lookup, condition: Expr) -> Lookup:
    """A look-up with a condition: equal keys, and a rest."""
    own = set(lookup_.input.schema.names)
    back = {n: Column(f.name, f.dtype) for n, f in zip(lookup_.right_names, lookup_.table.schema, strict=True)}
    keys = list(lookup_.keys)
    rest: list[Expr] = [] if lookup_.residual is None else [lookup_.residual]
    for part in conjuncts(condition):
        pair = _key(part, own, back)
        if pair is not None:
            keys.append(pair)
        else:
            rest.append(part)
    return replace(lookup_, keys=tuple(keys), residual=_all(rest))


def _all(parts: list[Expr]) -> Expr | None:
    found: Expr | None = None
    for part in parts:
        found = part if found is None else functions.resolve("and", [found, part])
    return found


def check_input(scope: Scope, part: FromItem, source: SourceText) -> None:
    """Raise for what can't be joined."""
    if is_relation(scope.plan):
        raise source.error(
            "a join with a relation isn't available in this version",
            part.span,
            "Give the inner aggregate a window with SLIDE.",
            UnsupportedError,
        )
    window = scope.window
    if window is None or isinstance(window, LifetimeWindow):
        if window is None or window.on is None:
            return
        raise source.error(
            "ON in a window of a join isn't available in this version", part.span, None, UnsupportedError
        )
    if isinstance(window, TimeWindow) and window.range == window.slide and window.on is None:
        return
    raise source.error(
        f"a join under {window} isn't available in this version",
        part.span,
        "Joins take [RANGE 5 MINUTES], [RANGE 5 MINUTES TUMBLING], [ROWS 5] or [RANGE UNBOUNDED].",
        UnsupportedError,
    )


def bounds_of(
    left: Scope, right: Scope, item: JoinRef, source: SourceText
) -> tuple[int | None, int | None, tuple[Expr, Expr] | None]:
    """Least and greatest difference of times; and for tumbling windows the extents that have to be the same."""
    one, other = left.window or _UNBOUNDED, right.window or _UNBOUNDED
    if isinstance(one, TimeWindow) or isinstance(other, TimeWindow):
        if one != other:
            raise source.error(
                f"one input of the join has {one}, the other {other}",
                item.span,
                "In a tumbling join both have the same window: write it once, behind the last stream.",
            )
        assert isinstance(one, TimeWindow)
        return 1 - one.slide, one.slide - 1, (_extent(left, one), _extent(right, one))
    assert isinstance(one, LifetimeWindow) and isinstance(other, LifetimeWindow)
    high = None if _longest(left, one) is None else (_longest(left, one) or 0) - 1
    low = None if _longest(right, other) is None else 1 - (_longest(right, other) or 0)
    return low, high, None


def _longest(scope: Scope, window: LifetimeWindow) -> int | None:
    """How long rows live at most. Rows of a join live as long as all their parts."""
    if isinstance(scope.plan, Join) and scope.window is None:
        spans = [w.range for w in _leaves(scope.plan)]
        return None if any(s is None for s in spans) else max(s for s in spans if s is not None)
    return window.range


def _leaves(plan: Plan) -> list[LifetimeWindow | TimeWindow]:
    if isinstance(plan, Join):
        found: list[LifetimeWindow | TimeWindow] = []
        for child, window in zip(plan.inputs, plan.windows, strict=True):
            if isinstance(child, Join):
                found += _leaves(child)
            else:
                assert isinstance(window, LifetimeWindow | TimeWindow)
                found.append(window)
        return found
    return []


def _extent(scope: Scope, window: TimeWindow) -> Expr:
    """The number of the extent a row is in."""
    time = Column(TS, BIGINT)
    shifted = functions.resolve("-", [time, Literal(window.phase, BIGINT)]) if window.phase else time
    rest = functions.resolve("pmod", [shifted, Literal(window.slide, BIGINT)])
    return functions.resolve("-", [shifted, rest])


def joined(
    left: Scope, right: Scope, item: JoinRef, low: int | None, high: int | None
) -> tuple[Join, tuple[JoinedColumn, ...]]:
    """The join without its conditions, and whose columns are which."""
    taken = {f.name.lower() for f in left.schema}
    names = []
    for field in right.schema:
        name, number = field.name, 2
        while name.lower() in taken:
            name, number = f"{field.name}_{number}", number + 1
        taken.add(name.lower())
        names.append(name)
    schema = Schema((*left.schema, *(Field(n, f.dtype) for n, f in zip(names, right.schema, strict=True))))
    windows: tuple[Window, Window] = (left.window or _UNBOUNDED, right.window or _UNBOUNDED)
    join = Join(left.plan, right.plan, item.kind, (), None, low, high, tuple(names), schema, windows)
    own = left.joined or tuple(JoinedColumn(left.qualifiers, f.name, f.name) for f in left.schema)
    new = dict(zip((f.name for f in right.schema), names, strict=True))
    theirs = right.joined or tuple(JoinedColumn(right.qualifiers, f.name, f.name) for f in right.schema)
    return join, (*own, *(replace(c, column=new[c.column]) for c in theirs))


def _using(item: JoinRef, left: Scope, right: Scope, source: SourceText) -> list[tuple[Expr, Expr]]:
    pairs = []
    for name in item.using:
        sides = []
        for scope, part in ((left, item.parts[0]), (right, item.parts[1])):
            check_qualifier(scope, None, source)
            found = lookup(scope, name, None, source)
            if found is None:
                raise source.error(
                    f"{source.slice(part.span)} has no column called {name.text}", name.span, "Write ON a.k = b.l."
                )
            sides.append(found)
        pairs.append(_equal(sides[0], sides[1]))
    return pairs


def _coalesced(join: Join, using: list[str], every: tuple[JoinedColumn, ...], shown: tuple[JoinedColumn, ...]) -> Plan:
    """USING names one column: where a left row is missing, it is the right row's."""
    types = {f.name: f.dtype for f in join.schema}
    items: dict[str, Expr] = {f.name: Column(f.name, f.dtype) for f in join.schema}
    for name in using:
        one, other = (c.column for c in every if c.name.lower() == name)
        assert any(c.column == one for c in shown)
        items[one] = functions.resolve("coalesce", [Column(n, types[n]) for n in (one, other)])
    return Project(join, tuple(items.items()), Schema(tuple(Field(n, e.dtype) for n, e in items.items())))


def _equal(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    common = functions.common_type([left.dtype, right.dtype])
    assert common is not None
    return functions.cast(left, common), functions.cast(right, common)


# -- conditions


def conjuncts(condition: Expr) -> list[Expr]:
    """The parts of a condition that all have to be true."""
    if isinstance(condition, Call) and condition.function == "and":
        return [part for arg in condition.args for part in conjuncts(arg)]
    return [condition]


def absorb(plan: Plan, where: Expr) -> Plan:
    """A join with WHERE: for an inner join its conditions are the join's own, otherwise it filters the joined rows."""
    if isinstance(plan, Join) and plan.kind == "inner":
        return take(plan, where, into_inputs=True)
    if isinstance(plan, RelationJoin) and plan.kind == "inner":
        return matching(plan, where)
    if isinstance(plan, Lookup) and plan.kind == "inner":
        own = set(plan.input.schema.names)
        before = _all([p for p in conjuncts(where) if columns(p) and columns(p) <= own])
        after = _all([p for p in conjuncts(where) if not (columns(p) and columns(p) <= own)])
        if before is not None:
            plan = replace(plan, input=absorb(plan.input, before))
        return plan if after is None else matched(plan, after)
    return Filter(plan, where, plan.schema)


def take(join: Join, condition: Expr, into_inputs: bool) -> Join:
    """Conditions of an inner join go where they cost least; those of an outer one only decide who is a partner."""
    left, right = join.left, join.right
    keys = list(join.keys)
    low, high = join.low, join.high
    rest: list[Expr] = [] if join.residual is None else [join.residual]
    own = {f.name for f in left.schema}
    back = {n: Column(f.name, f.dtype) for n, f in zip(join.right_names, right.schema, strict=True)}
    times = _times(join)
    for part in conjuncts(condition):
        named = columns(part)
        bound = _difference(part, times)
        if bound is not None:
            low, high = _tighter(low, bound[0], max), _tighter(high, bound[1], min)
        if named and named <= own and into_inputs:
            left = absorb(left, part)
        elif named and named <= set(back) and into_inputs:
            right = absorb(right, substitute(part, dict(back)))
        elif (pair := _key(part, own, back)) is not None and bound is None:
            keys.append(pair)
        else:
            rest.append(part)
    return replace(join, left=left, right=right, keys=tuple(keys), residual=_all(rest), low=low, high=high)


def _tighter(one: int | None, other: int | None, pick: Callable[[int, int], int]) -> int | None:
    if one is None or other is None:
        return one if other is None else other
    return pick(one, other)


def _key(part: Expr, own: set[str], back: dict[str, Column]) -> tuple[Expr, Expr] | None:
    """`left expression = right expression`, either way round."""
    if not isinstance(part, Call) or part.function != "=" or len(part.args) != 2:
        return None
    for one, other in (part.args, part.args[::-1]):
        here, there = columns(one), columns(other)
        if here and there and here <= own and there <= set(back):
            return one, substitute(other, dict(back))
    return None


@dataclass(frozen=True)
class _Times:
    """What the two times are called in the joined row; None where no column holds one."""

    left: str | None
    right: str | None


def _times(join: Join) -> _Times:
    right = time_of(join.right).column
    names = dict(zip((f.name for f in join.right.schema), join.right_names, strict=True))
    return _Times(time_of(join.left).column, None if right is None else names[right])


def _difference(part: Expr, times: _Times) -> tuple[int | None, int | None] | None:
    """What a comparison says of right time minus left time: the least and the greatest; None if it isn't about that."""
    if not isinstance(part, Call) or part.function not in _COMPARISONS or len(part.args) != 2:
        return None
    one, other = (_linear(arg, times) for arg in part.args)
    if one is None or other is None:
        return None
    of_left, of_right, constant = (a - b for a, b in zip(one, other, strict=True))
    least, greatest = _COMPARISONS[part.function]
    if (of_left, of_right) == (-1, 1):  # right - left + constant op 0
        return (
            None if least is None else least - constant,
            None if greatest is None else greatest - constant,
        )
    if (of_left, of_right) == (1, -1):  # left - right + constant op 0
        return (
            None if greatest is None else constant - greatest,
            None if least is None else constant - least,
        )
    return None


def _linear(expr: Expr, times: _Times) -> tuple[int, int, int] | None:
    """`a * left time + b * right time + constant`, None for anything else."""
    if isinstance(expr, Column):
        if expr.name == times.left:
            return 1, 0, 0
        return (0, 1, 0) if expr.name == times.right else None
    if isinstance(expr, Literal):
        if isinstance(expr.value, dt.timedelta):
            return 0, 0, expr.value // dt.timedelta(microseconds=1)
        return (0, 0, expr.value) if type(expr.value) is int else None
    if expr.function in ("+", "-") and len(expr.args) == 2:
        one, other = (_linear(arg, times) for arg in expr.args)
        if one is None or other is None:
            return None
        sign = 1 if expr.function == "+" else -1
        return one[0] + sign * other[0], one[1] + sign * other[1], one[2] + sign * other[2]
    if expr.function == "cast" and expr.dtype.is_integer() and expr.args[0].dtype.is_integer():
        return _linear(expr.args[0], times)
    return None


def check_bounds(plan: Plan, source: SourceText, span: Span) -> None:
    """Raise if a join would have to keep rows for ever without being told to."""
    for child in plan.inputs:
        check_bounds(child, source, span)
    if not isinstance(plan, Join):
        return
    for bound, window, which in ((plan.high, plan.windows[0], "left"), (plan.low, plan.windows[1], "right")):
        if bound is None and not (isinstance(window, LifetimeWindow) and window.written):
            raise source.error(
                f"nothing says how long rows of the {which} input wait for partners",
                span,
                "Give both windows, FROM a [RANGE 5 MINUTES] JOIN b [RANGE 5 MINUTES] ON ..., bound the times, "
                "a.ts BETWEEN b.ts - INTERVAL 5 MINUTES AND b.ts, or write [RANGE UNBOUNDED].",
            )


__all__ = [
    "absorb",
    "bind_join",
    "bounds_of",
    "check_bounds",
    "check_input",
    "joined",
    "matched",
    "matching",
    "relational",
    "relations_joined",
    "table_of",
    "take",
]
