"""Which columns a plan reads of each stream, what a source need not hand over, and of its nodes, what they need not make."""

from __future__ import annotations

from dataclasses import dataclass, field

from jupyter_stream.core.messages import ROW, UNTIL, WINDOW_END, WINDOW_ID, WINDOW_START
from jupyter_stream.functions.expression import Column, columns
from jupyter_stream.plan.catalog import PunctuationColumn, StreamDef
from jupyter_stream.plan.logical import (
    Aggregate,
    Derived,
    ExtentRows,
    Filter,
    Join,
    Lookup,
    Newest,
    Plan,
    Project,
    Retimed,
    Sample,
    Scan,
    ToStream,
    Union,
    Unnest,
    walk,
)

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
    if isinstance(plan, Scan):
        own = found.streams.setdefault(plan.stream.name, set())
        own |= wanted & set(plan.stream.schema.names) | _of_progress(plan.stream)
    if isinstance(plan, Join):
        wanted = wanted - _EXTENT | (set() if plan.residual is None else columns(plan.residual))
    if isinstance(plan, Join | Project | Aggregate):
        found.made.setdefault(id(plan), set()).update(wanted)
    for part, below in zip(plan.inputs, _below(plan, wanted), strict=True):
        _visit(part, below, found)


def _of_progress(stream: StreamDef) -> set[str]:
    """The columns by which a stream progresses."""
    progress = stream.time.progress
    named = [stream.time.column, None if stream.clustered is None else stream.clustered.column]
    if isinstance(progress, PunctuationColumn):
        named += [progress.column, progress.key]
    return {c for c in named if c is not None and c in stream.schema.names}


def _below(plan: Plan, wanted: set[str]) -> list[set[str]]:
    """The columns that are read of each input, where those are wanted of a node's own rows."""
    match plan:
        case Filter():
            return [wanted | _read(plan)]
        case Project(items=items):
            # what nobody wants is computed nevertheless, since it can fail; but for a column as it is
            read = (columns(e) for n, e in items if n in wanted or not isinstance(e, Column))
            return [set().union(wanted & _SYSTEM, *read)]
        case Aggregate(window=window):
            needed = _read(plan) | ({UNTIL} if plan.ends else set()) | (set() if window.on is None else {window.on})
            by_time = window.schedule is not None and window.on is None and not plan.other_windows
            return [needed if by_time else needed | _EXTENT]
        case _ if plan.searches:
            return [wanted & {UNTIL, *plan.inputs[0].schema.names} | _EXTENT | _read(plan)]
        case Unnest(columns=lists, position=position):
            return [(wanted - {*lists, position}) & {UNTIL, *plan.input.schema.names} | {*lists, *_EXTENT}]
        case Lookup():
            condition = set() if plan.residual is None else columns(plan.residual)
            keys = set().union(*(columns(own) for own, _ in plan.keys))
            return [(wanted | condition) & {UNTIL, *plan.input.schema.names} | keys | _EXTENT]
        case Join():
            return _of_inputs(plan, wanted)
        case Retimed(on=on):
            return [wanted | {on} | _EXTENT]
        case Sample(numbered=numbered):
            return [wanted | _EXTENT if numbered else {*(wanted & {UNTIL}), *plan.schema.names, *_EXTENT}]
        case Derived():
            return [{*wanted, *plan.schema.names}]  # its late rows are kept under its name, whole
        case ToStream() | ExtentRows():
            return [wanted | _EXTENT]
        case Union(parts=parts, schema=schema):
            at = [i for i, name in enumerate(schema.names) if name in wanted]
            return [{*(wanted & {UNTIL}), *_EXTENT, *(part.schema.names[i] for i in at)} for part in parts]
    return [{*_SYSTEM, *part.schema.names} for part in plan.inputs]  # rows are told apart by all columns


def _of_inputs(plan: Join, wanted: set[str]) -> list[set[str]]:
    """The columns that are read of each side of a join."""
    sides = [{c for n in wanted if (c := plan.origin(n, port)) is not None} for port in (0, 1)]
    for pair in plan.keys:
        for side, key in zip(sides, pair, strict=True):
            side |= columns(key)
    return [side | _SYSTEM for side in sides]


def _read(node: Plan) -> set[str]:
    """The columns that a node's expressions name."""
    return set().union(*map(columns, node.expressions))


def reads_row_numbers(plan: Plan) -> bool:
    """Whether any expression names `row_num`, or rows of equal time are told apart by it."""

    def numbered(node: Plan) -> bool:
        told_apart = (isinstance(node, Sample) and node.numbered) or (isinstance(node, Derived) and node.ordered)
        return node.searches or isinstance(node, Newest) or told_apart or _names_row_num(node)

    return any(numbered(node) or counts_derived(node) for node in walk(plan))


def counts_derived(node: Plan) -> bool:
    """Whether a window of rows counts those of a derived stream, which are numbered in the order of their times."""
    window = node.window if isinstance(node, Aggregate | Newest) else None
    return window is not None and window.counts_rows and _is_derived(node.inputs[0])


def _is_derived(plan: Plan) -> bool:
    """Whether rows are those of a SELECT; a filter may be the window's own WHERE."""
    match plan:
        case Scan():
            return False
        case Union(parts=parts):
            return all(_is_derived(part) for part in parts)
        case Filter() | Sample() | Unnest() | Lookup():
            return _is_derived(plan.input)
    return True


def in_time_order(plan: Plan) -> bool:
    """Whether a plan's rows are numbered in the order of their times, as those of derived streams are."""
    return any(node.searches or isinstance(node, Derived | Aggregate) for node in walk(plan))


def numbered_streams(plan: Plan) -> list[Plan]:
    """The derived streams whose rows are asked for their numbers."""
    found: list[Plan] = []

    def visit(node: Plan, asked: bool) -> None:
        if isinstance(node, Derived) and asked:
            found.append(node)
            asked = False
        if isinstance(node, Aggregate):  # user-defined ones take numbers along for ties, whose order is the source's
            asked = not node.user and _names_row_num(node)
        else:
            asked = asked or _names_row_num(node) or (isinstance(node, Sample) and node.numbered)
        for part in node.inputs:
            visit(part, asked)

    visit(plan, False)
    return found


def counts_arrivals(plan: Plan) -> bool:
    """Whether answers depend on the order in which rows arrive, beyond the order of rows of equal time."""

    def counts(node: Plan) -> bool:
        match node:
            case Newest() | Sample(numbered=True):
                return True
            case Aggregate() if node.window.counts_arrivals:
                return True
            case Aggregate(user=user) if user:
                return False  # they take arrival numbers along, to break ties
        return _names_row_num(node)

    return any(counts(node) for node in walk(plan))


def _names_row_num(node: Plan) -> bool:
    return any(ROW in columns(e) for e in node.expressions)
