"""EXPLAIN: the operators of a query as a tree, with what each holds and has done once it runs."""

from __future__ import annotations

from collections.abc import Iterator

from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.time import MIN_TIME, show, show_duration
from jupyter_stream.operators.graph import Entry, Graph, Step
from jupyter_stream.plan.catalog import PunctuationColumn, Slack, StreamDef, Unpromised, Watermark


class Text(str):
    """Text that shows as it is at a prompt, rather than with quotes and escapes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def explain(graph: Graph, feeds: dict[str, ControlTable] | None = None) -> Text:
    """The tree, outermost operator first.

    Args:
        graph: the operators.
        feeds: the sources' control tables by stream name, when it runs.
    """
    return Text("\n".join(_tree(graph, graph.root, "", "", feeds)))


def _tree(
    graph: Graph, node: Step | Entry, first: str, rest: str, feeds: dict[str, ControlTable] | None
) -> Iterator[str]:
    if isinstance(node, Entry):
        name = f"scan {node.stream.name}, {progress(node.stream)}"
        table = None if feeds is None else feeds.get(node.stream.name)
    else:
        name, table = node.control.name, node.control
    edge = graph.edge(node)
    name += "" if table is None else _shared(table)
    name += "" if edge is None else f"  {edge.pattern}"
    yield first + name + ("" if table is None or feeds is None else _measured(table))
    inputs = [] if isinstance(node, Entry) else node.inputs
    for i, child in enumerate(inputs):
        last = i == len(inputs) - 1
        yield from _tree(graph, child, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "), feeds)


def _shared(table: ControlTable) -> str:
    return f", shared by {table.extra['shared_by']}" if "shared_by" in table.extra else ""


def _measured(table: ControlTable) -> str:
    parts = [f"{table.rows_in:,} rows in"]
    if table.rows_out:
        parts.append(f"{table.rows_out:,} out")
    if table.bytes:
        parts.append(f"{table.bytes:,} bytes (peak {table.peak_bytes:,})")
    if table.late_rows:
        parts.append(f"{table.late_rows:,} late")
    if table.nanoseconds:
        parts.append(f"{table.nanoseconds / 1e6:,.1f} ms")
    if table.low_watermark != MIN_TIME:
        parts.append(f"watermark {show(table.low_watermark)}")
    parts += [f"{k.replace('_', ' ')} {v}" for k, v in table.extra.items() if k not in ("next_final", "shared_by")]
    return "  [" + ", ".join(parts) + "]"


def progress(stream: StreamDef) -> str:
    """How a stream progresses, in words."""
    time = stream.time
    if time.kind == "internal":
        return "stamped on arrival"
    if time.kind == "latent":
        return "stamped when first needed"
    match time.progress:
        case Watermark(delay=0, declared=False):
            return f"by {time.column}, taken to be in order"
        case Watermark(delay=0):
            return f"by {time.column}, in order"
        case Watermark(delay=delay):
            return f"by {time.column}, at most {show_duration(delay)} late"
        case Slack(rows=rows):
            return f"by {time.column}, at most {rows} rows late"
        case PunctuationColumn(column=column, key=key):
            return f"by {time.column}, punctuations in {column}" + (f" for each {key}" if key else "")
        case Unpromised():
            return f"by {time.column}, nothing promised before the end"
