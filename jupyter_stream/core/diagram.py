"""What a plan view sees of a query: its operators, queues and what flows between them, at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

import polars as pl

from jupyter_stream.core.snapshot import Viewable

Attribute: TypeAlias = int | float | str
Kind: TypeAlias = Literal["source", "operator", "result"]


@dataclass(frozen=True, slots=True)
class Node:
    """An operator, a source with its queue, or the answers.

    Attributes:
        id: what it goes by while the query runs.
        kind: source, operator or result.
        title: what it is, as EXPLAIN shows it.
        rows_in: rows taken since the start.
        rows_out: rows given since the start.
        bytes: state held now; of a source, what waits in its queue.
        queued: rows waiting in its queues; None without one.
        keeps: the structure its state is in, in words; empty without one.
        shared_by: the queries that share it, between commas; empty for one query's own.
        attributes: its whole control table, and those of what it remembers.
        settings: what may be changed while it runs, by name the present value, and in words what it is.
    """

    id: str
    kind: Kind
    title: str
    rows_in: int
    rows_out: int
    bytes: int = 0
    queued: int | None = None
    keeps: str = ""
    shared_by: str = ""
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    settings: Mapping[str, tuple[Attribute, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Flow:
    """What goes from one node to another.

    Attributes:
        source: id of the node it leaves.
        target: id of the node it comes to.
        rows: rows since the start.
        pattern: how its rows come and go: MON, WKS, WK or STR; empty where that is not known.
    """

    source: str
    target: str
    rows: int
    pattern: str = ""


@dataclass(frozen=True, slots=True)
class Diagram:
    """A query's plan at one moment.

    Attributes:
        name: the query's name.
        nodes: each after those that feed it.
        flows: between them.
        text: the same for where nothing can be drawn.
    """

    name: str
    nodes: tuple[Node, ...]
    flows: tuple[Flow, ...]
    text: str

    def node(self, name: str) -> Node | None:
        """The node of that id."""
        return next((n for n in self.nodes if n.id == name), None)


class Plannable(Viewable, Protocol):
    """What a plan view needs of a query."""

    def diagram(self) -> Diagram | None:
        """Its plan now; None where nothing is known of it."""

    def plan_text(self) -> str:
        """The same as text."""

    def rows_at(self, node: str, most: int = 20) -> dict[str, pl.DataFrame]:
        """The rows now waiting at a node and the first of what it remembers, by what they are."""

    def set(self, node: str, setting: str, value: object) -> None:
        """Change what may be changed of a node while it runs. Raises `QueryError` for what may not, or can't be so."""
