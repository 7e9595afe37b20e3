"""From a running query to the picture of its plan: nodes with their control tables, and what flows between them."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.diagram import Attribute, Diagram, Flow, Node
from jupyter_stream.core.time import MIN_TIME, show, show_span
from jupyter_stream.engine.explain import title
from jupyter_stream.engine.feed import Feed
from jupyter_stream.engine.pipeline import Pipeline
from jupyter_stream.engine.settings import SETTINGS, Policies, settings_of
from jupyter_stream.flow.protocol import Shown
from jupyter_stream.graph.graph import Entry, Step

RESULT = "result"
_TIMES = ("low_watermark", "next_final")
_CHANGED = {s.name for s in SETTINGS}


def diagram(pipeline: Pipeline, policies: Policies) -> Diagram:
    """A query's plan now.

    Args:
        pipeline: the query.
        policies: what serves inputs, which is a setting of each.
    """
    graph = pipeline.graph
    feeds = {feed.stream: feed for feed in list(pipeline.feeds)}
    ids: dict[Step | Entry, str] = {}
    nodes: list[Node] = []
    for entry in graph.entries:
        feed = feeds.get(entry.stream)
        known = next((ids[e] for e in ids if isinstance(e, Entry) and e.stream is entry.stream), None)
        ids[entry] = known or f"source {len(nodes)}"
        if known is None:
            nodes.append(_source(ids[entry], entry, feed, pipeline, policies))
    flows = []
    for number, step in enumerate(graph.steps):
        ids[step] = f"operator {number}"
    for step in graph.steps:
        nodes.append(_operator(ids[step], step, pipeline, policies))
        flows += [_flow(part, ids, ids[step], pipeline) for part in step.inputs]
    flows.append(_flow(graph.root, ids, RESULT, pipeline))
    sink, out = pipeline.sink, pipeline.results.rows_out
    goes_by = {f"goes by, {i}": note for i, note in enumerate(pipeline.goes_by, 1)}
    answers = {**_all(sink), "scheduler": pipeline.works_by, **goes_by}
    nodes.append(Node(RESULT, "result", f"answers of {pipeline.name}", sink.rows_in, out, attributes=answers))
    return Diagram(pipeline.name, tuple(nodes), tuple(flows), pipeline.explain(measured=True))


def places(pipeline: Pipeline) -> Iterator[tuple[str, Step | Feed]]:
    """What the nodes of its diagram stand for, by their ids."""
    seen: list[object] = []
    for entry in pipeline.graph.entries:
        if entry.stream not in seen:
            feed = next((f for f in pipeline.feeds if f.stream is entry.stream), None)
            if feed is not None:
                yield f"source {len(seen)}", feed
            seen.append(entry.stream)
    for number, step in enumerate(pipeline.graph.steps):
        yield f"operator {number}", step


def rows_at(pipeline: Pipeline, node: str, most: int) -> dict[str, pl.DataFrame]:
    """The rows waiting at a node and the head of its state. The engine's thread calls this."""
    if node == RESULT:
        return {"newest answers": pipeline.results.tail(most)[0]}
    place = dict(places(pipeline)).get(node)
    if isinstance(place, Feed):
        return {"waiting in its queue": place.waiting(most)}
    if place is not None and isinstance(place.operator, Shown):
        return {"head of its state": place.operator.head(most)}
    return {}


def _source(name: str, entry: Entry, feed: Feed | None, pipeline: Pipeline, policies: Policies) -> Node:
    title = f"scan {entry.stream.name}"
    if feed is None:
        return Node(name, "source", title, 0, 0)
    rows, queue = feed.control.rows_in, feed.queue
    attributes = {**_all(feed.control), **{f"queue {k}": v for k, v in _all(queue).items()}}
    waiting = int(queue.extra.get("queued_rows", 0))
    shared = str(feed.control.extra.get("shared_by", ""))
    settings = settings_of(policies, pipeline, feed)
    return Node(name, "source", title, rows, rows, queue.bytes, waiting, "", shared, attributes, settings)


def _operator(name: str, step: Step, pipeline: Pipeline, policies: Policies) -> Node:
    table = step.control
    attributes = _all(table)
    for synopsis in step.operator.synopses:
        attributes |= {f"{synopsis.name}: {k}": v for k, v in _all(synopsis).items()}
    keeps = pipeline.graph.keeps(step)
    shared = str(table.extra.get("shared_by", ""))
    settings = settings_of(policies, pipeline, step) if pipeline.running else {}
    queues = pipeline.queues_of(step)
    for port, queue in enumerate(queues):
        which = f"queue {port + 1}" if len(queues) > 1 else "queue"
        attributes |= {f"{which}: {k}": v for k, v in _all(queue).items()}
    waiting = sum(int(queue.extra.get("queued_rows", 0)) for queue in queues) if queues else None
    return Node(
        name, "operator", title(step, pipeline.graph.edge(step)), table.rows_in, table.rows_out, table.bytes, waiting,
        keeps or "", shared, attributes, settings,
    )  # fmt: skip


def _flow(part: Step | Entry, ids: dict[Step | Entry, str], to: str, pipeline: Pipeline) -> Flow:
    edge = pipeline.graph.edge(part)
    if isinstance(part, Step):
        source, rows = ids[part], part.control.rows_out
    else:  # it may enter operators that were another query's
        source = next(name for node, name in ids.items() if isinstance(node, Entry) and node.stream is part.stream)
        rows = sum(f.control.rows_in for f in list(pipeline.feeds) if f.stream is part.stream)
    return Flow(source, to, rows, "" if edge is None else edge.pattern)


def _all(table: ControlTable) -> dict[str, Attribute]:
    """A control table's attributes as people read them, without those that say nothing."""
    found: dict[str, Attribute] = {}
    for name, value in table.as_dict().items():
        if name == "name" or name in _CHANGED or value in (0, "", MIN_TIME):
            continue
        if name == "nanoseconds":
            found["time spent"] = show_span(int(value) // 1000)
        elif name in _TIMES:
            found[name.replace("_", " ")] = show(int(value))
        else:
            found[name.replace("_", " ")] = value
    return found
