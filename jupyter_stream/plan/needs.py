"""Which columns of each stream a plan reads: what a source need not hand over."""

from __future__ import annotations

from jupyter_stream.core.messages import ROW
from jupyter_stream.functions.expression import Expr, columns
from jupyter_stream.plan.catalog import PunctuationColumn
from jupyter_stream.plan.logical import Aggregate, Derived, Filter, Plan, Project, Scan, Union, walk


def needed_columns(plan: Plan) -> dict[str, frozenset[str]]:
    """Column names by stream name; a stream's time and punctuation columns are always among them."""
    found: dict[str, set[str]] = {}
    _visit(plan, set(plan.schema.names), found)
    return {name: frozenset(wanted) for name, wanted in found.items()}


def _visit(plan: Plan, wanted: set[str], found: dict[str, set[str]]) -> None:
    match plan:
        case Scan(stream=stream):
            own = found.setdefault(stream.name, set())
            own |= wanted & set(stream.schema.names)
            progress = stream.time.progress
            extra = [stream.time.column]
            if isinstance(progress, PunctuationColumn):
                extra += [progress.column, progress.key]
            own |= {c for c in extra if c is not None and c in stream.schema.names}
        case Filter(predicate=predicate):
            _visit(plan.input, wanted | columns(predicate), found)
        case Project(items=items):
            _visit(plan.input, set().union(*(columns(e) for n, e in items if n in wanted)), found)
        case Aggregate(keys=keys, aggregates=aggregates, window=window):
            needed: set[str] = set()
            for _, expr in keys:
                needed |= columns(expr)
            for call in aggregates:
                for expr in (*call.args, *([call.where] if call.where is not None else [])):
                    needed |= columns(expr)
            if window.on is not None:
                needed.add(window.on)
            _visit(plan.input, needed, found)
        case Derived():
            _visit(plan.input, wanted, found)
        case Union(parts=parts, schema=schema):
            at = [i for i, name in enumerate(schema.names) if name in wanted]
            for part in parts:
                _visit(part, {part.schema.names[i] for i in at}, found)


def reads_row_numbers(plan: Plan) -> bool:
    """Whether any expression names `row_num`."""

    def exprs(node: Plan) -> list[Expr]:
        match node:
            case Filter(predicate=predicate):
                return [predicate]
            case Project(items=items):
                return [e for _, e in items]
            case Aggregate(keys=keys, aggregates=aggregates):
                own = [e for _, e in keys]
                for call in aggregates:
                    own += [*call.args, *([call.where] if call.where is not None else [])]
                return own
        return []

    return any(ROW in columns(e) for node in walk(plan) for e in exprs(node))
