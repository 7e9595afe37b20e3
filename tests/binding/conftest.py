"""A catalog of declared streams, and short ways to bind a text against it and to show what came out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

import polars as pl
import pytest

from jupyter_stream.binding import bind_derived, bind_query, bind_stream, bind_summary
from jupyter_stream.core.schema import TIMESTAMP, Schema
from jupyter_stream.errors import QueryError
from jupyter_stream.functions.expression import show
from jupyter_stream.plan.catalog import Catalog, StreamDef, TimeSpec, Watermark
from jupyter_stream.plan.logical import (
    Aggregate,
    BoundQuery,
    Derived,
    Filter,
    Join,
    Over,
    Plan,
    Project,
    Sample,
    Scan,
    Union,
)
from jupyter_stream.syntax import CreateStream, CreateStreamAs, CreateSummary, Select, parse
from jupyter_stream.syntax.statements import Statement


@dataclass
class ListedSource:
    """A source that only has columns: nothing is read when a query is bound."""

    schema: Schema
    replayable: bool = True
    units: Mapping[str, str] = field(default_factory=dict)


OWN = Schema.of((("a", pl.Int64()), ("b", pl.String()), ("ts", TIMESTAMP)))
"""Columns of every source whose stream declares none."""


def open_source(uri: str, schema: Schema | None, options: Mapping[str, str]) -> ListedSource:
    return ListedSource(schema if schema is not None else OWN)


PACKETS = "(srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, length INT, ts TIMESTAMP)"
DECLARED = (
    *(f"CREATE STREAM {name} {PACKETS} ORDER BY ts SOURCE 'frame://p'" for name in ("M", "Main", "Main1", "Main2")),
    *(f"CREATE STREAM {name} {PACKETS} ORDER BY ts SOURCE 'frame://p'" for name in ("Control", "M1", "packets")),
    "CREATE STREAM trades (symbol STRING, price DOUBLE, size BIGINT, `order` INT, at BIGINT) ORDER BY at SOURCE 'frame://t'",
    "CREATE STREAM clicks (user STRING, page STRUCT<url: STRING, n: INT>, tags ARRAY<STRING>) ORDER BY current_time SOURCE 'x'",
    "CREATE STREAM bids (item INT, bid_time TIMESTAMP, other TIMESTAMP) SOURCE 'x'",
    "CREATE STREAM hourly AS SELECT srcIP, count(*) AS n FROM M [RANGE 1 HOUR TUMBLING] GROUP BY srcIP",
)


def shown(plan: Plan) -> str:
    """A plan on one line, outermost first."""
    if isinstance(plan, Scan):
        return plan.stream.name
    if isinstance(plan, Derived):
        return plan.name
    if isinstance(plan, Filter):
        return f"Filter({show(plan.predicate)}) <- {shown(plan.input)}"
    if isinstance(plan, Project):
        items = ", ".join(n if show(e) == n else f"{n}={show(e)}" for n, e in plan.items)
        return f"Project({items}) <- {shown(plan.input)}"
    if isinstance(plan, Sample):
        return f"Sample({plan.percent:g}%) <- {shown(plan.input)}"
    if isinstance(plan, Union):
        return f"Union({'; '.join(shown(p) for p in plan.parts)})"
    if isinstance(plan, Join):
        keys = " AND ".join(f"{show(a)} = {show(b)}" for a, b in plan.keys)
        rest = f" AND {show(plan.residual)}" if plan.residual is not None else ""
        near = f"{plan.low} <= dt <= {plan.high}"
        return f"Join({plan.kind}: {keys}{rest}, {near}) <- ({shown(plan.left)}; {shown(plan.right)})"
    assert isinstance(plan, Aggregate | Over)
    calls = []
    for call in plan.aggregates:
        args = ", ".join([*(show(a) for a in call.args), *(repr(p) for p in call.parameters)])
        where = f" where {show(call.where)}" if call.where is not None else ""
        calls.append(f"{call.function}({'distinct ' if call.distinct else ''}{args}){where}")
    if isinstance(plan, Over):
        return f"Over({', '.join(calls)} | {plan.window}) <- {shown(plan.input)}"
    under = f" where {show(plan.where)}" if plan.where is not None else ""
    keys = ", ".join(n if show(e) == n else f"{n}={show(e)}" for n, e in plan.keys)
    return f"Aggregate({keys} | {', '.join(calls)} | {plan.window}{under}) <- {shown(plan.input)}"


@cache
def _declared() -> list[Statement]:
    """What is declared, as it is read: binding makes a catalog of it, reading it takes ten times as long."""
    return [statement for text in DECLARED for statement in parse(text)]


@pytest.fixture
def catalog() -> Catalog:
    made = Catalog()
    for statement in _declared():
        if isinstance(statement, CreateStream):
            made.add(bind_stream(statement, open_source))
        else:
            assert isinstance(statement, CreateStreamAs)
            made.add(bind_derived(statement, made))
    time = TimeSpec("external", "ts", Watermark(0))
    late = Schema.of((("srcIP", pl.String()), ("ts", TIMESTAMP), ("punctuation", TIMESTAMP), ("missed", pl.Int64())))
    made.add(StreamDef("late(M)", late, time, "", ListedSource(late)))
    return made


@pytest.fixture
def query(catalog: Catalog) -> Callable[..., BoundQuery]:
    """Binds the text of one SELECT."""

    def bind(text: str, parameters: object = None) -> BoundQuery:
        (statement,) = parse(text, parameters)  # type: ignore[arg-type]
        assert isinstance(statement, Select)
        return bind_query(statement, catalog)

    return bind


@pytest.fixture
def plan(query: Callable[..., BoundQuery]) -> Callable[..., str]:
    """Binds the text of one SELECT and shows its plan."""
    return lambda text, parameters=None: shown(query(text, parameters).plan)


@pytest.fixture
def mistake(catalog: Catalog) -> Callable[..., QueryError]:
    """The error a text gives when it is parsed and bound."""

    def run(text: str, parameters: object = None) -> QueryError:
        with pytest.raises(QueryError) as caught:
            for statement in parse(text, parameters):  # type: ignore[arg-type]
                if isinstance(statement, Select):
                    bind_query(statement, catalog)
                elif isinstance(statement, CreateStreamAs):
                    bind_derived(statement, catalog)
                elif isinstance(statement, CreateStream):
                    bind_stream(statement, open_source, catalog)
                elif isinstance(statement, CreateSummary):
                    bind_summary(statement, catalog)
        return caught.value

    return run


@pytest.fixture
def source_opener() -> Callable[..., ListedSource]:
    """Opens sources that are not there."""
    return open_source
