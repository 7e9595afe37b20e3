"""Which columns a plan reads of each stream, what a source need not hand over, and of its nodes, what they need not make."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from jupyter_stream.core.messages import ROW, UNTIL, WINDOW_END, WINDOW_ID, WINDOW_START
from jupyter_stream.functions.expression import Column, Expr, columns
from jupyter_stream.plan.catalog import PunctuationColumn
from jupyter_stream.plan.logical import (
    Aggregate,
    AggregateCall,
    Alive,
    Bags,
    Derived,
    Distinct,
    ExtentChanges,
    ExtentRows,
    Filter,
    Join,
    Lookup,
    Newest,
    Over,
    Plan,
    Project,
    RelationJoin,
    Retimed,
    Sample,
    Scan,
    Top,
    ToStream,
    Union,
    walk,
)
from jupyter_stream.windows import RowWindow, TimeWindow, TupleWindow

_EXTENT = frozenset({WINDOW_START, WINDOW_END, WINDOW_ID})
_SYSTEM = _EXTENT | {UNTIL}
"""What operators may look at though no expression names it."""


def needed_columns(plan: Plan) -> dict[str, frozenset[str]]:
    """Column names by stream name; a stream's time and punctuation columns are always among them."""
    found = _Found()
    _visit(plan, {*plan.schema.names, *_EXTENT}, found)
    return {name: frozenset(wanted) for name, wanted in found.streams.items()}


def made_columns(plan: Plan) -> dict[int, frozenset[str]]:
    """By `id` of each join of streams, each aggregate and each projection the columns of its rows that are read.

    Those of a join's own condition are among them, and `$until` where somebody reads when its rows leave; of an aggregate the
    extent's columns, unless the next above it that looks at rows is an aggregate over time, which goes by `$ts` alone.
    """
    found = _Found()
    _visit(plan, {*plan.schema.names, *_EXTENT}, found)
    return {node: frozenset(wanted) for node, wanted in found.made.items()}


@dataclass
class _Found:
    """What is read: columns by stream name, and by `id` of nodes."""

    streams: dict[str, set[str]] = field(default_factory=dict)
    made: dict[int, set[str]] = field(default_factory=dict)


def _visit(plan: Plan, wanted: set[str], found: _Found) -> None:
    match plan:
        case Scan(stream=stream):
            own = found.streams.setdefault(stream.name, set())
            own |= wanted & set(stream.schema.names)
            progress = stream.time.progress
            extra = [stream.time.column]
            if isinstance(progress, PunctuationColumn):
                extra += [progress.column, progress.key]
            extra += [None if stream.clustered is None else stream.clustered.column]
            own |= {c for c in extra if c is not None and c in stream.schema.names}
        case Filter(predicate=predicate):
            _visit(plan.input, wanted | columns(predicate), found)
        case Project(items=items):
            # what nobody wants is computed nevertheless, since it can fail; but for a column as it is
            found.made.setdefault(id(plan), set()).update(wanted)
            read = (columns(e) for n, e in items if n in wanted or not isinstance(e, Column))
            _visit(plan.input, set().union(wanted & _SYSTEM, *read), found)
        case Aggregate(keys=keys, calls=aggregates, window=window):
            found.made.setdefault(id(plan), set()).update(wanted)
            needed: set[str] = set()
            for _, expr in keys:
                needed |= columns(expr)
            for expr in call_inputs(aggregates):
                needed |= columns(expr)
            if window.on is not None:
                needed.add(window.on)
            if plan.ends:
                needed.add(UNTIL)
            if plan.where is not None:
                needed |= columns(plan.where)
            if isinstance(window, RowWindow):
                for _, expr in window.partition:
                    needed |= columns(expr)
            by_time = isinstance(window, TimeWindow) and window.on is None and not plan.beside
            _visit(plan.input, needed if by_time else needed | _EXTENT, found)
        case Over(window=over, aggregates=aggregates):
            needed = wanted & {UNTIL, *plan.input.schema.names} | _EXTENT
            for expr in (*over.partition, *call_inputs(aggregates)):
                needed |= columns(expr)
            _visit(plan.input, needed, found)
        case Lookup(input=below_it):
            needed = wanted & {UNTIL, *below_it.schema.names} | _EXTENT
            if plan.residual is not None:
                needed |= columns(plan.residual) & set(below_it.schema.names)
            for key, _ in plan.keys:
                needed |= columns(key)
            _visit(below_it, needed, found)
        case Join(left=left, right=right):
            needed = wanted - _EXTENT
            if plan.residual is not None:
                needed |= columns(plan.residual)
            found.made.setdefault(id(plan), set()).update(needed)
            there = {n: f.name for n, f in zip(plan.right_names, right.schema, strict=True)}
            below = needed & set(left.schema.names)
            other = {there[n] for n in needed if n in there}
            for left_key, right_key in plan.keys:
                below |= columns(left_key)
                other |= columns(right_key)
            _visit(left, below | _SYSTEM, found)
            _visit(right, other | _SYSTEM, found)
        case Retimed(on=on):
            _visit(plan.input, wanted | {on} | _EXTENT, found)
        case Sample(numbered=numbered):
            _visit(
                plan.input, wanted | _EXTENT if numbered else {*(wanted & {UNTIL}), *plan.schema.names, *_EXTENT}, found
            )
        case Derived():
            _visit(plan.input, {*wanted, *plan.schema.names}, found)  # its late rows are kept under its name, whole
        case ToStream() | ExtentRows():
            _visit(plan.input, wanted | _EXTENT, found)
        case Alive() | Newest() | Distinct() | Top() | ExtentChanges():
            _visit(plan.input, {*_SYSTEM, *plan.input.schema.names}, found)  # rows are told apart by all columns
        case RelationJoin():
            for part in plan.inputs:
                _visit(part, {*_SYSTEM, *part.schema.names}, found)
        case Bags(parts=parts):
            for part in parts:
                _visit(part, {*_SYSTEM, *part.schema.names}, found)
        case Union(parts=parts, schema=schema):
            at = [i for i, name in enumerate(schema.names) if name in wanted]
            for part in parts:
                _visit(part, {*(wanted & {UNTIL}), *_EXTENT, *(part.schema.names[i] for i in at)}, found)


def call_inputs(calls: Iterable[AggregateCall]) -> list[Expr]:
    """Arguments and FILTER conditions of aggregates."""
    return [e for call in calls for e in (*call.args, *([call.where] if call.where is not None else []))]


def reads_row_numbers(plan: Plan) -> bool:
    """Whether any expression names `row_num`, or rows of equal time are told apart by it."""

    def numbered(node: Plan) -> bool:
        return isinstance(node, Over | Newest) or (isinstance(node, Sample) and node.numbered) or _names_row_num(node)

    return any(numbered(node) for node in walk(plan))


def counts_arrivals(plan: Plan) -> bool:
    """Whether answers depend on the order in which rows arrive, beyond the order of rows of equal time."""

    def counts(node: Plan) -> bool:
        match node:
            case Newest() | Sample(numbered=True) | Aggregate(window=RowWindow()):
                return True
            case Aggregate(window=TupleWindow(every=every, by_rank=by_rank)) if every > 1 and not by_rank:
                return True
            case Aggregate(user=user) if user:
                return False  # they take arrival numbers along, to break ties
        return _names_row_num(node)

    return any(counts(node) for node in walk(plan))


def _names_row_num(node: Plan) -> bool:
    return any(ROW in columns(e) for e in _exprs(node))


def _exprs(node: Plan) -> list[Expr]:
    match node:
        case Filter(predicate=predicate):
            return [predicate]
        case Project(items=items):
            return [e for _, e in items]
        case Aggregate(keys=keys, calls=aggregates):
            where = [] if node.where is None else [node.where]
            return [*(e for _, e in keys), *call_inputs(aggregates), *where]
        case Lookup(keys=pairs, residual=residual):
            return [*(one for one, _ in pairs), *([] if residual is None else [residual])]
        case Join(keys=pairs, residual=residual):
            return [*(e for pair in pairs for e in pair), *([] if residual is None else [residual])]
        case Over(window=over, aggregates=aggregates):
            return [*over.partition, *call_inputs(aggregates)]
    return []
