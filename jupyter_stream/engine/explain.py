"""EXPLAIN: the operators of a query as a tree, with what each holds and has done once it runs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.time import MIN_TIME, show, show_duration
from jupyter_stream.flow.filter import FilterOperator
from jupyter_stream.functions.expression import Column
from jupyter_stream.functions.expression import show as show_expression
from jupyter_stream.graph.graph import Entry, Graph, Step
from jupyter_stream.plan.catalog import (
    Apart,
    Computed,
    Kept,
    Ordered,
    PunctuationColumn,
    References,
    Slack,
    StreamDef,
    Unpromised,
    Watermark,
)
from jupyter_stream.plan.cost import cost, shares
from jupyter_stream.plan.logical import Distinct
from jupyter_stream.plan.patterns import Edge
from jupyter_stream.plan.rates import Rates, together
from jupyter_stream.plan.structures import kept
from jupyter_stream.plan.wording import step_in_words

_READING: Final = (
    "ahead",
    "decimal",
    "delimiter",
    "encoding",
    "null",
    "quote",
    "thousands",
    "timestamp_format",
    "timestamp_unit",
)
"""Options that say how rows are read, and which are."""
_WIDTH: Final = 100
"""Characters of a line that fit in a cell's output beside the left sidebar."""


class Text(str):
    """Text that shows as it is at a prompt, rather than with quotes and escapes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_pretty_(self, printer: Printer, _cycle: bool) -> None:
        printer.text(self.narrow)

    @property
    def narrow(self) -> str:
        """What a notebook shows: lines that would not fit go on under their own beginning."""
        return "\n".join(_narrow(line) for line in self.splitlines())


class Printer(Protocol):
    """IPython's pretty printer."""

    def text(self, obj: str) -> None:
        """Print."""


def _narrow(line: str) -> str:
    """A line of a tree in lines of `_WIDTH` characters: JupyterLab would break a longer one within a word, wherever it ends."""
    if len(line) <= _WIDTH:
        return line
    branch = len(line) - len(line.lstrip("│├└─ "))
    behind = line[:branch].replace("├─", "│ ").replace("└─", "  ") + "     "
    wrapper = textwrap.TextWrapper(_WIDTH, line[:branch], behind, break_long_words=False, break_on_hyphens=False)
    return wrapper.fill(line[branch:])


def explain(
    graph: Graph,
    feeds: dict[str, ControlTable] | None = None,
    rates: Rates | None = None,
    working: Sequence[str] = (),
) -> Text:
    """The tree, outermost operator first.

    Args:
        graph: the operators.
        feeds: the sources' control tables by stream name, when it runs.
        rates: what has been measured of the streams, when it runs.
        working: lines that say by what operators take turns, when it runs.
    """
    costs = _Costs(graph, rates)
    lines = list(_tree(graph, graph.root, "", "", feeds, costs))
    lines[:0] = graph.notes
    lines += working
    if feeds is None and costs.any and graph.plan is not None:
        each = cost(graph.plan.plan, graph.rates)
        at = "the rates measured" if graph.rates.streams else "a row per second of each stream"
        lines.append(f"estimated cost: {each:,.0f} rows looked at per second, at {at}")
    return Text("\n".join(lines))


class _Costs:
    """Estimated and measured shares of a plan's cost, where it keeps the state of a relation."""

    def __init__(self, graph: Graph, rates: Rates | None) -> None:
        edges = [] if graph.plan is None else list(graph.plan.walk())
        self.any = any(kept(e, graph.maintenance) for e in edges)
        self._estimated = shares(graph.plan, _passed(graph, rates)) if self.any and graph.plan and rates else {}
        self._spent = sum(s.control.nanoseconds for s in graph.steps if s.edge is not None)

    def of(self, step: Step, edge: Edge | None) -> str | None:
        """The shares of an operator, in words."""
        if edge is None or id(edge) not in self._estimated or not self._spent:
            return None
        return f"{step.control.nanoseconds / self._spent:.0%} of the cost, estimated {self._estimated[id(edge)]:.0%}"


def _passed(graph: Graph, rates: Rates | None) -> Rates:
    """The rates with the shares of rows that selections have let through."""
    return together((graph.rates, rates or Rates(), measured(graph)))


def measured(graph: Graph) -> Rates:
    """What a query's operators have found of its rows: shares that selections let through, numbers of values alive."""
    passed, values = {}, {}
    for step in graph.steps:
        if step.edge is None or not step.control.rows_in:
            continue
        plan = step.edge.plan
        if isinstance(step.operator, FilterOperator):
            passed[step.operator.condition] = step.control.rows_out / step.control.rows_in
        elif isinstance(plan, Distinct) and len(plan.schema) == 1:
            values[plan.schema.names[0]] = float(step.control.extra.get("most_values", 0))
    return Rates(passed=passed, values={name: most for name, most in values.items() if most})


def _tree(
    graph: Graph,
    node: Step | Entry,
    first: str,
    rest: str,
    feeds: dict[str, ControlTable] | None,
    costs: _Costs,
) -> Iterator[str]:
    edge = graph.edge(node)
    share = None
    if isinstance(node, Entry):
        name = f"scan {node.stream.name}, {'; '.join([promises(node.stream), *made(node.stream)])}"
        table = None if feeds is None else feeds.get(node.stream.name)
    else:
        name, table = title(node, edge), node.control
        share = costs.of(node, edge)
    name += "" if table is None else _shared(table)
    if edge is not None:
        state = graph.keeps(node) if isinstance(node, Step) else None
        name += f"  {edge.pattern}" + (f", {state}" if state else "")
    yield first + name + ("" if table is None or feeds is None else _measured(table, share))
    inputs = [] if isinstance(node, Entry) else node.inputs
    for i, child in enumerate(inputs):
        last = i == len(inputs) - 1
        end, on = ("└─ ", "   ") if last else ("├─ ", "│  ")
        yield from _tree(graph, child, rest + end, rest + on, feeds, costs)


def title(step: Step, edge: Edge | None) -> str:
    """What an operator does, as whoever wrote the query would say it."""
    return step.control.name if edge is None else step_in_words(step.control.name, edge.plan)


def in_queue(table: ControlTable) -> str:
    """A queue between operators, as EXPLAIN shows it."""
    extra = table.extra
    rows, most = extra.get("queued_rows", 0), extra.get("most_rows", 0)
    oldest = f", the oldest for {extra['oldest_ms']} ms" if extra.get("oldest_ms") else ""
    return f"{table.name}: {rows:,} rows ({table.bytes:,} bytes) wait, at most {most:,}{oldest}"


_SHARED = ("shared_by", "rows_kept_with", "rows_kept_for")


def _shared(table: ControlTable) -> str:
    extra = table.extra
    said = f", shared by {extra['shared_by']}" if "shared_by" in extra else ""
    if "rows_kept_with" in extra:
        said += f", rows kept once for {extra['rows_kept_for']}, by {extra['rows_kept_with']}"
    return said


def _measured(table: ControlTable, share: str | None = None) -> str:
    parts = [f"{table.rows_in:,} rows in"]
    if table.rows_out:
        parts.append(f"{table.rows_out:,} out")
    if table.bytes:
        parts.append(f"{table.bytes:,} bytes (peak {table.peak_bytes:,})")
    if table.late_rows:
        parts.append(f"{table.late_rows:,} late")
    if table.nanoseconds:
        parts.append(f"{table.nanoseconds / 1e6:,.1f} ms")
    if share is not None:
        parts.append(share)
    if table.low_watermark != MIN_TIME:
        parts.append(f"watermark {show(table.low_watermark)}")
    parts += [f"{k.replace('_', ' ')} {v}" for k, v in table.extra.items() if k not in ("next_final", *_SHARED)]
    return "  [" + ", ".join(parts) + "]"


def promises(stream: StreamDef) -> str:
    """How a stream progresses and what else is promised of its rows, in words."""
    return "; ".join(
        [
            progress(stream),
            *enabling(stream),
            *filtered(stream),
            *(str(c) for c in stream.constraints if not isinstance(c, Ordered)),
        ]
    )


def roles(stream: StreamDef, column: str) -> str:
    """What a column is for: the time, and the constraints it is in."""
    found = ["event time"] if column == stream.time.column else []
    made = dict(item for step in stream.steps if isinstance(step, Computed) for item in step.items).get(column)
    if made is not None and not (isinstance(made, Column) and made.name == column):
        found.append(f"computed: {show_expression(made)}")
    for constraint in stream.constraints:
        if column in (constraint.columns if isinstance(constraint, References) else (constraint.column,)):
            found.append(str(constraint))
    return "; ".join(found)


def filtered(stream: StreamDef) -> list[str]:
    """Which rows of its source are its own, where not all are."""
    return [f"only rows where {show_expression(step.predicate)}" for step in stream.steps if isinstance(step, Kept)]


def made(stream: StreamDef) -> list[str]:
    """Which columns are computed, and how what its source has is read where that was said."""
    items = [item for step in stream.steps if isinstance(step, Computed) for item in step.items]
    found = [f"{name} is {show_expression(value)}" for name, value in items if stream.base.find(name) is None]
    written = ", ".join(f"{name} = '{text}'" for name, text in stream.options.items() if name in _READING)
    return [*found, f"read with {written}"] if written else found


def enabling(stream: StreamDef) -> list[str]:
    """When the clock moves it on, where that was declared."""
    return [] if stream.time.enabling is None else [f"enabling time stamps: {stream.time.enabling}"]


def progress(stream: StreamDef) -> str:
    """How a stream progresses, in words."""
    time = stream.time
    if time.kind == "internal":
        return "by the time of arrival"
    if time.kind == "latent":
        return (
            f"event time not chosen yet ({' or '.join(time.undecided)})" if time.undecided else "by the time of arrival"
        )
    match time.progress:
        case Watermark(delay=0, declared=False):
            return f"by {time.column}; its rows are expected in order"
        case Watermark(delay=0):
            return f"by {time.column}, in order"
        case Watermark(delay=delay):
            return f"by {time.column}, at most {show_duration(delay)} late"
        case Slack(rows=rows):
            return f"by {time.column}, at most {rows} rows late"
        case Apart(rows=rows):
            return f"by {time.column}, in order where more than {rows} rows apart"
        case PunctuationColumn(column=column, key=key):
            return f"by {time.column}, punctuations in {column}" + (f" for each {key}" if key else "")
        case Unpromised():
            return f"by {time.column}, nothing promised before the end"
