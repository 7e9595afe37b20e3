"""EXPLAIN: the operators of a query as a tree, with what each holds and has done once it runs."""

from __future__ import annotations

from collections.abc import Iterator

from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.time import MIN_TIME, show, show_duration
from jupyter_stream.engine.build import Entry, Graph, Step
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
    roots = [s for s in graph.steps if s.target is None]
    lines: list[str] = []
    for root in roots:
        lines += _tree(root, "", "", feeds)
    if not roots:
        lines += [_entry(e, feeds) for e in graph.entries]
    return Text("\n".join(lines))


def _tree(node: Step | Entry, first: str, rest: str, feeds: dict[str, ControlTable] | None) -> Iterator[str]:
    if isinstance(node, Entry):
        yield first + _entry(node, feeds)
        return
    yield first + node.control.name + _pattern(node) + ("" if feeds is None else _measured(node.control))
    for i, child in enumerate(node.inputs):
        last = i == len(node.inputs) - 1
        yield from _tree(child, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "), feeds)


def _entry(entry: Entry, feeds: dict[str, ControlTable] | None) -> str:
    table = None if feeds is None else feeds.get(entry.stream.name)
    name = f"scan {entry.stream.name}, {progress(entry.stream)}" + _pattern(entry)
    return name + ("" if table is None else _measured(table))


def _pattern(node: Step | Entry) -> str:
    """How what leaves it is taken back, if it ever is."""
    return "" if node.edge is None else f"  {node.edge.pattern}"


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
    parts += [f"{k.replace('_', ' ')} {v}" for k, v in table.extra.items() if k != "next_final"]
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
