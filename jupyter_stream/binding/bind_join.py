"""Joins: of streams under windows, of relations, and of a stream with a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from jupyter_stream import functions
from jupyter_stream.binding.as_relation import UNBOUNDED, newest, newest_of, relation_of
from jupyter_stream.binding.bind_aggregate import InputNames, check_qualifier
from jupyter_stream.binding.bind_expression import ExpressionBinder
from jupyter_stream.binding.event_time import TIMES_ALIKE
from jupyter_stream.binding.forms.natural_join import with_using
from jupyter_stream.binding.join_conditions import matched, matching, take, with_keys
from jupyter_stream.binding.join_instants import at_instants, joint_window, with_lifetimes
from jupyter_stream.binding.join_windows import bounds_of, check_input, ends_apart, retimed
from jupyter_stream.binding.scope import JoinedColumn, Scope, joined_columns, lookup, with_window_time
from jupyter_stream.binding.select_tables import as_table
from jupyter_stream.core.schema import Field, Schema, type_name
from jupyter_stream.core.table import ViewRows
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.functions import Column, Expr
from jupyter_stream.plan.catalog import StreamDef
from jupyter_stream.plan.lifetimes import holds_join
from jupyter_stream.plan.logical import Join, Lookup, Plan, Project, RelationJoin, Scan, TableRelation, streams
from jupyter_stream.plan.per_extent import per_extent
from jupyter_stream.plan.relations import is_relation, only_tables
from jupyter_stream.syntax.query_syntax import FromItem, JoinRef
from jupyter_stream.syntax.source_text import SourceText
from jupyter_stream.windows import TimeWindow, Window


def bind_join(item: JoinRef, source: SourceText, bind: Callable[[FromItem], Scope]) -> Scope:
    """The rows of a join. Conditions of WHERE are taken in later, by `absorb`.

    Raises:
        QueryError: a wrong condition, windows that don't go together.
    """
    left, right = (bind(part) for part in item.parts)
    if table_of(left) is None or table_of(right) is None:  # tables and views only are answered once, as they are
        left, right = living(left), living(right)
        left, right = as_table(left, right, item.parts[0], source), as_table(right, left, item.parts[1], source)
        left, right = in_extents(left), in_extents(right)
    item = with_using(item, left, right, source)
    with_stream = table_of(left) is not None and table_of(right) is None and not only_tables(right.plan)
    if with_stream and item.kind in ("inner", "right"):
        left, right = right, left  # SELECT * shows the stream's columns first
        item = replace(item, parts=(item.parts[1], item.parts[0]), kind="inner" if item.kind == "inner" else "left")
    looks = slide_of_join(left, right, item, source)
    if looks is not None:
        return at_instants(_join_at_every_instant(item, with_lifetimes(left), with_lifetimes(right), source), looks)
    if relational(left, right):
        return _join_relations(item, left, right, source)
    table = table_of(right)
    if table_of(left) is not None and table is None:
        raise source.error(
            f"a {item.kind} join of a table with a stream would wait forever for rows of the table that never match",
            item.span,
            "Write the stream on the left: FROM stream LEFT JOIN table ON ....",
        )
    if table is not None and table_of(left) is None:
        return _look_up(item, left, right, table, source)
    return _join_streams(item, left, right, source)


def _join_streams(item: JoinRef, left: Scope, right: Scope, source: SourceText) -> Scope:
    """Pairs of rows of two streams, whose windows say how far apart they may be."""
    for scope, part in ((left, item.parts[0]), (right, item.parts[1])):
        check_input(scope, part, source)
    left, right = retimed(left), retimed(right)
    if left.time.dtype != right.time.dtype:
        raise source.error(
            "a join needs one kind of time: one input has TIMESTAMP, the other BIGINT", item.span, TIMES_ALIKE
        )
    names = set(left.qualifiers) & set(right.qualifiers)
    if names:
        raise source.error(
            f"two inputs of the join are called {names.pop()}",
            item.parts[1].span,
            "Give each a name of its own: FROM s a JOIN s b ON ....",
        )
    low, high, same = bounds_of(left, right, item, source)
    left, right = with_window_time(left), with_window_time(right)
    join, columns_ = joined(left, right, item, low, high)
    scope = Scope(join, (*left.qualifiers, *right.qualifiers), None, columns_)
    if same is not None:
        join = replace(join, keys=(*join.keys, same))
    scope = replace(scope, plan=join)
    if item.using:
        join = with_keys(join, _using(item, left, right, source))
        plan, columns_ = merged(join, item, left, columns_)
        scope = replace(scope, plan=plan, joined=columns_)
    window = left.window if left.sliding else None
    if item.on is not None:
        both = replace(scope, plan=replace(join, kind="inner"), window=window)  # a condition is about pairs
        condition = ExpressionBinder(source, InputNames(both, source, "ON")).condition(item.on, "ON")
        join = take(join, condition, into_inputs=item.kind == "inner")
        scope = replace(scope, plan=join)
    if item.kind in ("semi", "anti"):
        plan = replace(join, schema=left.schema)
        return Scope(plan, left.qualifiers, window, left.joined)
    # a tumbling join's rows are each in one extent, so that aggregates over it are answered extent by extent
    return replace(scope, window=window)


def slide_of_join(left: Scope, right: Scope, item: JoinRef, source: SourceText) -> TimeWindow | None:
    """The extents of the rows of a join under SLIDE. Rows of a stream that look up a table's keep their own window."""
    tables = [table for table in (table_of(left), table_of(right)) if table is not None]
    return None if any(not table.retroactive for table in tables) else joint_window(left, right, item, source)


def _join_at_every_instant(item: JoinRef, left: Scope, right: Scope, source: SourceText) -> Scope:
    """The relation that a join under SLIDE is looked at."""
    lives = all(
        scope.lifetime is not None and not is_relation(scope.plan) and table_of(scope) is None
        for scope in (left, right)
    )
    if item.kind != "inner" or not lives:
        return _join_relations(item, left, right, source)
    scope = _join_streams(item, left, right, source)
    return replace(scope, plan=relation_of(scope.plan, None, source, item.span))


def living(scope: Scope) -> Scope:
    """Views as the relations that their SELECTs define, which change while the query runs; anything else as it is."""
    plan = _living(scope.plan)
    if plan is scope.plan:
        return scope
    window = None if is_relation(plan) else scope.window
    return replace(scope, plan=plan, window=window)


def _living(plan: Plan) -> Plan:
    if isinstance(plan, Scan):
        table = plan.stream.table
        if not isinstance(table, ViewRows):
            return plan
        defined: Plan = table.plan  # type: ignore[assignment]  # core knows no plans
        return defined
    inputs = [_living(part) for part in plan.inputs]
    same = all(one is other for one, other in zip(inputs, plan.inputs, strict=True))
    return plan if same else plan.with_inputs(inputs)


def in_extents(scope: Scope) -> Scope:
    """An aggregate of extents' answers as answers per extent, where its groups are of one extent each."""
    plan = per_extent(scope.plan)
    return scope if plan is scope.plan else replace(scope, plan=plan)


def relational(left: Scope, right: Scope) -> bool:
    """Whether a join is one of relations: of an aggregate, say, or with a retroactive table."""
    tables = [table_of(left), table_of(right)]
    if all(tables):
        return False  # answered once, as they are now
    if only_tables(left.plan) and only_tables(right.plan):
        return True
    return any(
        is_relation(s.plan) or newest(s.window) is not None or (t is not None and t.retroactive)
        for s, t in zip((left, right), tables, strict=True)
    )


def _join_relations(item: JoinRef, left: Scope, right: Scope, source: SourceText) -> Scope:
    """Pairs of rows that are in both relations at the same time."""
    if set(left.qualifiers) & set(right.qualifiers):
        raise source.error(
            f"two inputs of the join are called {(set(left.qualifiers) & set(right.qualifiers)).pop()}",
            item.parts[1].span,
            "Give each a name of its own.",
        )
    kept = {"left": (left,), "anti": (left,), "right": (right,), "full": (left, right)}.get(item.kind, ())
    if any(table_of(scope) is not None for scope in kept) and not (only_tables(left.plan) and only_tables(right.plan)):
        raise source.error(
            f"a {item.kind} join that keeps the rows of a table isn't available in this version",
            item.span,
            "Write LEFT JOIN, with the stream on the left.",
            UnsupportedError,
        )
    made, columns_ = joined(left, right, item, None, None)
    plan = relations_joined(made, left, right, item, source)
    scope = Scope(plan, (*left.qualifiers, *right.qualifiers), None, columns_)
    if item.using:
        plan = replace(plan, keys=tuple(_using(item, left, right, source)))
        whole, columns_ = merged(plan, item, left, columns_)
        scope = replace(scope, plan=whole, joined=columns_)
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
        if table is not None and not only_tables(made):
            sides.append(TableRelation(table, table.schema))
            continue
        window = scope.window
        rows = newest(window)
        if rows is not None:
            sides.append(newest_of(scope.plan, rows, source, item.parts[len(sides)].span))
            continue
        other = right if scope is left else left
        lives = window is not None or is_relation(scope.plan) or holds_join(scope.plan)
        if not lives and table_of(other) is None and not only_tables(made):
            raise source.error(
                "this input has no window, which says how long rows wait for matching rows",
                item.parts[len(sides)].span,
                "Write [RANGE 5 MINUTES], [RANGE UNBOUNDED] for ever, or [NOW] to look once, at the time of each row.",
            )
        if window is not None and window.lifetime is None:
            raise ends_apart(window, item.span, source)
        if any(stream.table is not None for stream in streams(scope.plan)) and not only_tables(made):
            raise source.error(
                "a subquery over a table can't be joined with a stream in this version",
                item.parts[len(sides)].span,
                "Join with the table itself: FROM stream JOIN table ON ....",
                UnsupportedError,
            )
        sides.append(relation_of(scope.plan, scope.lifetime, source, item.span))
    return RelationJoin(sides[0], sides[1], item.kind, (), None, made.right_names, made.schema, item.value)


def table_of(scope: Scope) -> StreamDef | None:
    """The table a FROM item is, None for anything else."""
    plan = scope.plan
    return plan.stream if isinstance(plan, Scan) and plan.stream.table is not None else None


def _look_up(item: JoinRef, left: Scope, right: Scope, table: StreamDef, source: SourceText) -> Scope:
    """A stream joined with a table: the rows keep their time and their window."""
    if item.kind in ("right", "full"):
        raise source.error(
            f"a {item.kind} join with a table would wait forever for rows of the table that never match",
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
        lookup_ = replace(lookup_, keys=tuple(_using(item, left, right, source)))
        _, columns_ = merged(lookup_, item, left, columns_)
        scope = replace(scope, plan=lookup_, joined=columns_)
    if item.on is not None:
        condition = ExpressionBinder(source, InputNames(scope, source, "ON")).condition(item.on, "ON")
        scope = replace(scope, plan=matched(lookup_, condition))
    if item.kind in ("semi", "anti"):
        assert isinstance(scope.plan, Lookup)
        return Scope(replace(scope.plan, schema=left.schema), left.qualifiers, left.window, left.joined)
    return scope


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
    windows: tuple[Window, Window] = (left.window or UNBOUNDED, right.window or UNBOUNDED)
    join = Join(left.plan, right.plan, item.kind, (), None, low, high, tuple(names), schema, windows)
    own = joined_columns(left)
    new = dict(zip((f.name for f in right.schema), names, strict=True))
    theirs = joined_columns(right)
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
        common = functions.common_type([side.dtype for side in sides])
        if common is None:
            kinds = " and ".join(type_name(side.dtype) for side in sides)
            raise source.error(
                f"{name.text} is {kinds} in the two inputs", name.span, "Cast one: ON CAST(a.k AS ...) = b.k."
            )
        pairs.append((functions.cast(sides[0], common), functions.cast(sides[1], common)))
    return pairs


def merged(
    plan: Plan, item: JoinRef, left: Scope, columns_: tuple[JoinedColumn, ...]
) -> tuple[Plan, tuple[JoinedColumn, ...]]:
    """USING names one column: the left row's, the right one's where the left row is missing. With an input's name it is that
    input's own.

    Args:
        plan: the join.
        item: as written.
        left: its left input.
        columns_: whose columns are which, the left input's first.
    """
    own = len(left.joined or left.schema.fields)
    ours, theirs = list(columns_[:own]), list(columns_[own:])
    types = {f.name: f.dtype for f in plan.schema}
    added: dict[str, Expr] = {}
    for name in dict.fromkeys(n.text.lower() for n in item.using):
        one, other = (
            next((c for c in side if c.name.lower() == name and c.goes_by(None)), None) for side in (ours, theirs)
        )
        if one is None or other is None:
            continue  # the time, under a name of its own
        at = ours.index(one)
        theirs = _by_qualifier(theirs, other)
        if item.kind == "right":
            column = other.column
        elif item.kind == "full":
            column = f"(using {one.column})"
            added[column] = functions.resolve("coalesce", [Column(c.column, types[c.column]) for c in (one, other)])
        else:
            continue
        ours[at : at + 1] = [replace(one, column=column, reach="bare"), *_by_qualifier([one], one)]
    if added:
        items = (*((f.name, Column(f.name, f.dtype)) for f in plan.schema), *added.items())
        plan = Project(plan, items, Schema((*plan.schema, *(Field(n, e.dtype) for n, e in added.items()))))
    return plan, (*ours, *theirs)


def _by_qualifier(known: list[JoinedColumn], column: JoinedColumn) -> list[JoinedColumn]:
    """Columns, of which one can be named with its qualifier only; what had none can't be named any more."""
    kept = [replace(column, reach="qualified")] if column.reach == "any" else []
    return [new for c in known for new in (kept if c is column else [c])]


__all__ = ["bind_join", "in_extents", "joined", "relational", "relations_joined", "slide_of_join", "table_of"]
