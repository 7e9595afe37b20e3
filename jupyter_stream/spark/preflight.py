"""Before anything starts: what each part of a query becomes on Spark, and the first that can't run, with the way round it.

Reads the bound plan and the support table; needs neither Spark nor Java.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from textwrap import wrap
from typing import TypeAlias

from jupyter_stream.core.messages import ROW, TS
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.functions.expression import Column, Expr, columns, show
from jupyter_stream.plan import logical
from jupyter_stream.plan.catalog import Apart, Ordered, PunctuationColumn, Slack, StreamDef, Unpromised, Watermark
from jupyter_stream.plan.logical import (
    Aggregate,
    Alive,
    Bags,
    Derived,
    Distinct,
    ExtentRows,
    Filter,
    Join,
    Lookup,
    Over,
    Plan,
    Project,
    Query,
    RelationJoin,
    Sample,
    Scan,
    TableRelation,
    Top,
    ToStream,
    Union,
)
from jupyter_stream.plan.needs import call_inputs
from jupyter_stream.plan.wording import call_in_words, in_words, items_in_words
from jupyter_stream.spark.aggregates import AGGREGATES, may_overflow, support_of
from jupyter_stream.spark.inside import partition
from jupyter_stream.spark.rewrite import can_fail, condition_can_fail, normal
from jupyter_stream.spark.support import RUNS, Support, find
from jupyter_stream.spark.topics import topic_of
from jupyter_stream.windows import LifetimeWindow, OverWindow, RowWindow, SessionWindow, TimeWindow, TupleWindow


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a part of a query.

    Attributes:
        depth: how deep it is in the plan; 0 for the outermost.
        what: the part, as EXPLAIN names it.
        support: its row in the table.
    """

    depth: int
    what: str
    support: Support


Stage: TypeAlias = Aggregate | Join
"""A node that keeps rows."""


def check(query: Query) -> tuple[Verdict, ...]:
    """A verdict for every part of a query, outermost first."""
    verdicts = [*_emitted(query), *_visit(normal(query.plan), 0, outermost=True)]
    if any(v.support.whole for v in verdicts):
        spread = "the query, by partition" if partition(query) else "the query, on one partition"
        verdicts = [
            Verdict(0, "the query as a whole", find("clause", spread)),
            *_emitted(query, 1),
            *(_ours(v) for v in _inside(query.plan, 1)),
        ]
    if query.preference is not None:
        verdicts.insert(0, Verdict(0, "WITH PREFERENCE", find("clause", "WITH PREFERENCE")))
    return tuple(verdicts)


def runs_inside(query: Query) -> bool:
    """Whether it runs as the kernel's operators inside Spark, since Spark has nothing for a part of it."""
    return any(v.support.whole for v in (*_emitted(query), *_visit(normal(query.plan), 0, outermost=True)))


def _emitted(query: Query, depth: int = 0) -> Iterator[Verdict]:
    if query.emit.mode != "final" and not query.relation:
        name = "EMIT EVERY" if query.emit.mode == "every" else "EMIT CHANGES"
        yield Verdict(depth, name, find("clause", name))


def refuse(query: Query) -> None:
    """Raise `UnsupportedError` for the first part of a query that can't run on Spark; do nothing if there is none."""
    for verdict in check(query):
        if verdict.support.kind not in RUNS:
            raise UnsupportedError(
                f"{verdict.what} can't run on Spark: {verdict.support.kind}", hint=verdict.support.how
            )


def explain(query: Query) -> str:
    """The parts of a query as a tree, with what each becomes on Spark."""
    verdicts = check(query)
    width = min(_WIDEST, max(2 * v.depth + len(v.what) for v in verdicts))
    refused = sum(v.support.kind not in RUNS for v in verdicts)
    lines = [line for v in verdicts for line in _in_columns(v, width)]
    lines.append("This query runs on Spark." if not refused else "This query can't run on Spark.")
    return "\n".join(lines)


def _in_columns(verdict: Verdict, width: int) -> Iterator[str]:
    """The part on the left, `width` wide, what becomes of it on the right; below each other where the part is wider."""
    indent = "  " * verdict.depth
    left = wrap(verdict.what, _LINE, initial_indent=indent, subsequent_indent=indent + "    ", break_on_hyphens=False)
    right = wrap(f"{verdict.support.kind}: {verdict.support.how}", _LINE - width - 2, break_on_hyphens=False)
    if len(left) > 1 or len(left[0]) > width:
        yield from left
        left = []
    yield from (f"{part:{width}}  {becomes}" for part, becomes in zip_longest(left, right, fillvalue=""))


def outermost(plan: Plan) -> Stage | None:
    """The window or join whose answers are the query's own, None if there is none."""
    while isinstance(plan, Filter | Project | Derived | Lookup):
        plan = plan.input
    return plan if isinstance(plan, Stage) else None


def finished_here(plan: Plan) -> bool:
    """Whether what stands above the outermost window or join is done as its answers arrive, not on Spark.

    So it is where that can fail on an answer, which would end a Spark query, and for ungrouped ones, whose empty extents are
    filled in first.
    """
    stage = outermost(plan)
    if stage is None:
        return False
    if isinstance(stage, Aggregate):
        if not stage.keys and isinstance(stage.window, TimeWindow):
            return True
        if any(may_overflow(c) for c in stage.aggregates):
            return True
    return any(can_fail(e) for node in above(plan) for e in expressions(node))


def above(plan: Plan) -> list[Filter | Project | Derived | Lookup]:
    """The nodes above the outermost window or join, outermost first; all down to it or to a union, if there is none."""
    found: list[Filter | Project | Derived | Lookup] = []
    while isinstance(plan, Filter | Project | Derived | Lookup):
        found.append(plan)
        plan = plan.input
    return found


def looked_up_here(nodes: Iterable[Plan], inputs: Iterable[Expr]) -> bool:
    """Whether the way of a stream's rows to a window or join is ours: what comes after a look-up in a table can fail.

    Args:
        nodes: the way, the stream's end first.
        inputs: what the window or join computes of each row.
    """
    after = False
    for node in nodes:
        if after and any(can_fail(e) for e in expressions(node)):
            return True
        after |= isinstance(node, Lookup)
    return after and any(can_fail(e) for e in inputs)


def stage_inputs(stage: Stage, port: int) -> list[Expr]:
    """What a window or join computes of each row of an input."""
    return [pair[port] for pair in stage.keys] if isinstance(stage, Join) else expressions(stage)


def expressions(node: Plan) -> list[Expr]:
    """What a node computes."""
    match node:
        case Filter(predicate=predicate):
            return [predicate]
        case Project(items=items):
            return [e for _, e in items]
        case Aggregate(keys=keys, aggregates=aggregates):
            return [*(e for _, e in keys), *call_inputs(aggregates)]
        case Lookup(keys=pairs, residual=residual):
            return [*(own for own, _ in pairs), *([] if residual is None else [residual])]
        case Join(keys=pairs, residual=residual):
            return [*(e for pair in pairs for e in pair), *([] if residual is None else [residual])]
    return []


def on_column(aggregate: Aggregate) -> str | None:
    """The stream's own column that a window's ON names; None if it is computed, or the stream's time is read beside it."""
    name = aggregate.window.on
    plan = aggregate.input
    while isinstance(plan, Filter | Project | Derived | Lookup):
        if any(TS in columns(e) for e in expressions(plan)):
            return None
        if isinstance(plan, Project):
            made = dict(plan.items).get(name or "")
            name = made.name if isinstance(made, Column) else None
        plan = plan.input
    return name if isinstance(plan, Scan) else None


def ordered(aggregate: Aggregate) -> bool:
    """Whether any of its calls goes by arrival."""
    return any(AGGREGATES[c.function].ordered for c in aggregate.aggregates if c.function in AGGREGATES)


def _visit(plan: Plan, depth: int, *, outermost: bool) -> Iterator[Verdict]:
    finishing = outermost and finished_here(plan)
    while isinstance(plan, Filter | Project | Derived | Lookup):
        name = "answers that can fail" if finishing else _CLAUSES[type(plan)]
        yield Verdict(depth, _named(plan), find("clause", name))
        if (
            isinstance(plan, Lookup)
            and plan.kind != "inner"
            and plan.residual is not None
            and condition_can_fail(plan.residual)
        ):
            yield Verdict(
                depth, in_words(show(plan.residual), plan), find("clause", "conditions of outer joins that can fail")
            )
        yield from _expressions(plan, depth)
        depth += 1
        plan = plan.input
    match plan:
        case Scan(stream=stream):
            yield Verdict(depth, f"stream {stream.name}", find("source", _source(stream)))
            yield Verdict(depth, f"progress of {stream.name}", find("progress", _progress(stream)))
            for constraint in stream.constraints:
                if not isinstance(constraint, Ordered):
                    yield Verdict(depth, str(constraint), find("progress", "CLUSTERED, FOREIGN KEY"))
        case Union(parts=parts):
            windows = any(isinstance(n, Aggregate) for n in logical.walk(plan))
            yield Verdict(depth, "union", find("clause", "UNION of windows" if windows else "UNION of streams"))
            for part in parts:
                yield from _visit(part, depth + 1, outermost=False)
        case Aggregate():
            yield from _aggregate(plan, depth, outermost)
        case Join():
            yield from _join(plan, depth)
        case Over():
            yield Verdict(depth, str(plan.window), find("window", "OVER (...)"))
            yield from _visit(plan.input, depth + 1, outermost=False)
        case _:
            yield Verdict(depth, *_own(plan))
            for part in plan.inputs:
                yield from _visit(part, depth + 1, outermost=False)


def _join(plan: Join, depth: int) -> Iterator[Verdict]:
    bounded = plan.low is not None and plan.high is not None
    name = "joins" if plan.kind == "inner" else "outer, semi and anti joins"
    yield Verdict(
        depth,
        f"{plan.kind} join",
        find("clause", name if bounded or plan.kind == "inner" else "outer joins without bounds"),
    )
    if plan.kind != "inner" and plan.residual is not None and condition_can_fail(plan.residual):
        yield Verdict(
            depth, in_words(show(plan.residual), plan), find("clause", "conditions of outer joins that can fail")
        )
    if any(isinstance(n, Aggregate) for n in logical.walk(plan)):
        yield Verdict(depth, "join of windows", find("clause", "joins of windows"))
    if any(
        isinstance(n, Join) and (n.low is None or n.high is None) for part in plan.inputs for n in logical.walk(part)
    ):
        yield Verdict(depth, "join over it", find("clause", "above joins without bounds"))
    yield from _expressions(plan, depth)
    for part in plan.inputs:
        yield from _visit(part, depth + 1, outermost=False)


def _own(plan: Plan) -> tuple[str, Support]:
    """A node that is the kernel's alone."""
    match plan:
        case Distinct() | Bags():
            return type(plan).__name__.lower(), find("clause", "DISTINCT, EXCEPT, INTERSECT")
        case ToStream(looks=TimeWindow() as looks):
            return str(looks), find("clause", "joins under SLIDE")
        case ToStream(kind=kind):
            return kind.upper(), find("clause", "ISTREAM, DSTREAM, RSTREAM")
        case Sample(percent=percent):
            return f"SAMPLE({percent})", find("clause", "SAMPLE")
        case Top():
            return "first rows", find("clause", "ORDER BY, LIMIT")
        case Alive() | RelationJoin():
            return "relation", find("window", "no SLIDE")
        case ExtentRows():
            return "rows of each extent", find("clause", "anything else")
        case TableRelation(table=table):
            return f"table {table.name}", find(
                "clause", "retroactive tables" if table.retroactive else "tables beside relations"
            )
    return type(plan).__name__.lower(), find("clause", "anything else")


def _ours(verdict: Verdict) -> Verdict:
    """What would be Spark's own elsewhere is the kernel's, in a query that runs as a whole."""
    given = verdict.support.part in ("source", "progress") or verdict.support.kind != "native"
    return verdict if given else Verdict(verdict.depth, verdict.what, find("clause", "anything else"))


def _inside(plan: Plan, depth: int) -> Iterator[Verdict]:
    """The parts of a query that runs as the kernel's operators."""
    match plan:
        case Scan(stream=stream):
            yield Verdict(depth, f"stream {stream.name}", find("source", _source(stream)))
            yield Verdict(depth, f"progress of {stream.name}", find("progress", _progress(stream)))
        case Filter() | Project() | Derived() | Lookup():
            yield Verdict(depth, _named(plan), find("clause", _CLAUSES[type(plan)]))
        case Aggregate():
            yield Verdict(depth, f"window {plan.window}", find("window", _window(plan)))
        case Over():
            yield Verdict(depth, str(plan.window), find("window", "OVER (...)"))
        case Union():
            yield Verdict(depth, "union", find("clause", "UNION of streams"))
        case Join():
            yield Verdict(depth, f"{plan.kind} join", find("clause", "joins"))
        case _:
            yield Verdict(depth, *_own(plan))
    for part in plan.inputs:
        yield from _inside(part, depth + 1)


def _aggregate(plan: Aggregate, depth: int, is_outermost: bool) -> Iterator[Verdict]:
    yield Verdict(depth, f"window {plan.window}", find("window", _window(plan)))
    for window, _ in plan.beside:
        yield Verdict(depth, f"window {window} beside it", find("clause", "several windows"))
    over_windows = any(isinstance(n, Aggregate) for n in logical.walk(plan.input))
    if over_windows:
        yield Verdict(depth, "window over windows", find("clause", "window over windows"))
    if not plan.keys and isinstance(plan.window, TimeWindow):
        name = "empty extents" if is_outermost else "empty extents below a window"
        yield Verdict(depth, "empty extents", find("clause", name))
    if any(isinstance(n, Join) and (n.low is None or n.high is None) for n in logical.walk(plan.input)):
        yield Verdict(depth, "window over it", find("clause", "above joins without bounds"))
    if any(isinstance(n, Aggregate) and isinstance(n.window, SessionWindow) for n in logical.walk(plan.input)):
        yield Verdict(depth, "window over sessions", find("window", "window over sessions"))
    for call in plan.aggregates:
        yield Verdict(depth, call_in_words(call, plan), find("aggregate", support_of(call)))
    if any(isinstance(n, Stage) for n in logical.walk(plan.input)) and ordered(plan):
        yield Verdict(depth, "order of arrival", find("aggregate", "first, last and lists of windows"))
    yield from _expressions(plan, depth)
    yield from _visit(plan.input, depth + 1, outermost=False)


def _expressions(plan: Plan, depth: int) -> Iterator[Verdict]:
    used = expressions(plan)
    if any(ROW in columns(e) for e in used):
        numbered = not any(isinstance(n, Derived | Stage) for n in logical.walk(plan) if n is not plan)
        yield Verdict(depth, "row_num", find("clause", "row_num" if numbered else "row_num of a derived stream"))


_WIDEST = 40
"""Characters of a part after which what becomes of the parts stands, in line; longer parts have it below them."""
_LINE = 95
"""Characters of a line: a cell's output breaks longer ones in the middle of a word."""
_CLAUSES = {
    Filter: "WHERE, HAVING",
    Project: "select list",
    Derived: "derived stream",
    Lookup: "look-ups in tables",
}


def _named(plan: Filter | Project | Derived | Lookup) -> str:
    match plan:
        case Filter(predicate=predicate):
            return f"filter {in_words(show(predicate), plan)}"
        case Project():
            return f"project {items_in_words(plan)}"
        case Lookup(table=table, kind=kind):
            return f"{kind} look-up in {table.name}"
    return f"stream {plan.name}"


def _source(stream: StreamDef) -> str:
    if topic_of(stream.source) is not None:
        return "kafka://"
    if not stream.uri.startswith("file://"):
        return "any other stream"
    return "Parquet files" if getattr(stream.source, "prunable", False) else "CSV, JSON lines, Parquet in other types"


def _progress(stream: StreamDef) -> str:
    if stream.time.kind != "external":
        return "on arrival"
    match stream.time.progress:
        case Watermark(delay=0):
            return "in order"
        case Watermark():
            return "WATERMARK FOR"
        case Slack() | Apart():
            return "slack"
        case PunctuationColumn(key=None):
            return "punctuation"
        case PunctuationColumn():
            return "punctuation by key"
        case Unpromised():
            return "nothing promised"


def _window(plan: Aggregate) -> str:
    window = plan.window
    if isinstance(window, TimeWindow) and window.range is None:
        return "[RANGE ALL SLIDE s]"
    if isinstance(window, SessionWindow) and {e for _, e in window.partition} != {e for _, e in plan.keys}:
        return "[SESSION] apart from GROUP BY"
    if isinstance(window, TimeWindow | SessionWindow) and window.on is not None:
        return "[... ON expression]" if on_column(plan) is None else "[... ON col]"
    if isinstance(window, TimeWindow):
        return "TUMBLE, HOP, window()" if window.starts else "[RANGE d SLIDE s], TUMBLING"
    if isinstance(window, RowWindow) and window.slide is not None:
        return "[ROWS n SLIDE m]"
    return _WINDOWS.get(type(window), "no SLIDE")


_WINDOWS: dict[type, str] = {
    SessionWindow: "[SESSION gap]",
    LifetimeWindow: "no SLIDE",
    RowWindow: "no SLIDE",
    TupleWindow: "[RANGE d SLIDE 1 ROW]",
    OverWindow: "OVER (...)",
}
