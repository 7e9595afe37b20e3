"""What runs on Spark, and how, by class of node: `SUPPORT`. EXPLAIN, refusals, translation and the reference's table all read it.

A new node needs an entry here, and its row in `rows` where none of those goes for it. One that Spark has has a translation as
well; any other runs as the kernel's operators, with all of its query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from jupyter_stream.aggregates.user.stored import tables_of
from jupyter_stream.core.messages import BROKEN, ROW, TS, UNTIL, WINDOW_END, WINDOW_ID, WINDOW_START
from jupyter_stream.flow.filter import FilterOperator
from jupyter_stream.flow.named import Named
from jupyter_stream.flow.project import ProjectOperator
from jupyter_stream.flow.unnest import UnnestOperator
from jupyter_stream.functions import only_here
from jupyter_stream.functions.expression import columns, show
from jupyter_stream.plan.logical import (
    Aggregate,
    Alive,
    Bags,
    Derived,
    Distinct,
    ExtentChanges,
    ExtentRows,
    Filter,
    Join,
    Lookup,
    MatchRows,
    Newest,
    Over,
    Plan,
    Project,
    RelationJoin,
    Retimed,
    Sample,
    Scan,
    Shed,
    TableRelation,
    Top,
    ToStream,
    Union,
    Unnest,
    WindowFunctions,
)
from jupyter_stream.plan.wording import in_words, items_in_words
from jupyter_stream.spark.expressions import item, quoted, sql
from jupyter_stream.spark.joins import JOIN, LOOK_UP
from jupyter_stream.spark.node_support import Around, Frame, NodeSupport, Part
from jupyter_stream.spark.rows import (
    ANYTHING_ELSE,
    DERIVED,
    DERIVED_IN_ORDER,
    FIRST_ROWS,
    JOINS_UNDER_SLIDE,
    OF_TABLES,
    OWN_FUNCTIONS,
    RETROACTIVE_TABLES,
    ROW_NUM,
    ROW_NUM_OF_DERIVED,
    ROW_PATTERNS,
    SAMPLE,
    SELECT,
    SETS,
    STREAMS_OF_RELATIONS,
    TABLES_BESIDE_RELATIONS,
    TOLERANCE,
    UNION,
    UNION_OF_WINDOWS,
    UNNEST,
    WHERE,
    WINDOW_FUNCTIONS,
    Support,
    of_window,
)
from jupyter_stream.spark.scans import SCAN
from jupyter_stream.spark.stage import Stage, below, windows_below
from jupyter_stream.spark.windowed import OVERFLOWED, WINDOWED
from jupyter_stream.windows.on_spark import NO_SLIDE, OVER

_SYSTEM: Final = (TS, BROKEN, ROW, UNTIL)
_ABOVE: Final = (TS, WINDOW_START, WINDOW_END, WINDOW_ID, OVERFLOWED)
_RELATION: Final = of_window(NO_SLIDE)


def _always(row: Support, named: Callable[[Any], str], **more: Any) -> NodeSupport[Any]:
    """The support of nodes that all have one row."""
    return NodeSupport(rows=(row,), parts=lambda plan: [(named(plan), row)], **more)


def _as_class(plan: Plan) -> str:
    return type(plan).__name__.lower()


def _project(plan: Project, inputs: Sequence[Frame], around: Around) -> Frame:
    made = (item(e, n) for n, e in plan.items)
    return inputs[0].selectExpr(*made, *(quoted(c) for c in inputs[0].columns if c in (*_SYSTEM, *_ABOVE)))


def _unnest(plan: Unnest, inputs: Sequence[Frame], around: Around) -> Frame:
    arrays = [quoted(c) for c in plan.columns]
    frame = inputs[0]
    if len(arrays) > 1:
        others = [quoted(c) for c in frame.columns if c not in plan.columns]
        frame = frame.selectExpr(*others, *(f"coalesce({array}, array()) AS {array}" for array in arrays))
    whole = arrays[0] if len(arrays) == 1 else f"arrays_zip({', '.join(arrays)})"
    generator = "posexplode_outer" if plan.outer else "posexplode"
    made = frame.selectExpr("*", f"{generator}({whole}) AS (`$place`, `$item`)")
    items = ["`$item`"] if len(arrays) == 1 else [f"`$item`.{array}" for array in arrays]
    kept = [quoted(c) for c in inputs[0].columns if c not in plan.columns]
    kept += [f"{item} AS {array}" for item, array in zip(items, arrays, strict=True)]
    if plan.position is not None:
        kept.append(f"CAST(`$place` + 1 AS BIGINT) AS {quoted(plan.position)}")
    return made.selectExpr(*kept)


def _union(plan: Union, inputs: Sequence[Frame], around: Around) -> Frame:
    shared = [c for c in _SYSTEM if all(c in f.columns for f in inputs)]
    renamed = [
        f.selectExpr(
            *(
                f"{quoted(own)} AS {quoted(name)}"
                for own, name in zip(part.schema.names, plan.schema.names, strict=True)
            ),
            *(quoted(c) for c in shared),
        )
        for f, part in zip(inputs, plan.parts, strict=True)
    ]
    whole = renamed[0]
    for frame in renamed[1:]:
        whole = whole.unionByName(frame)
    return whole


def _derived(plan: Derived) -> Iterator[Part]:
    name = "SELECT in FROM" if plan.name is None else f"stream {plan.name}"
    yield name, DERIVED_IN_ORDER if plan.ordered else DERIVED


def _to_stream(plan: ToStream) -> Iterator[Part]:
    if plan.looks is not None:
        yield str(plan.looks), JOINS_UNDER_SLIDE
    else:
        yield plan.kind.upper(), STREAMS_OF_RELATIONS


def _table(plan: TableRelation) -> Iterator[Part]:
    yield f"table {plan.table.name}", RETROACTIVE_TABLES if plan.table.retroactive else TABLES_BESIDE_RELATIONS


def row_numbers(plan: Plan) -> Iterator[Part]:
    """Of any node: whether it reads arrival numbers."""
    if any(ROW in columns(e) for e in plan.expressions):
        counted = any(isinstance(n, Derived | Stage) for n in below(plan))
        yield "row_num", ROW_NUM_OF_DERIVED if counted else ROW_NUM


def own_functions(plan: Plan) -> Iterator[Part]:
    """Of any node: the functions it calls that Spark hasn't."""
    for name in sorted(frozenset[str]().union(*map(only_here, plan.expressions))):
        yield f"{name}()", OWN_FUNCTIONS


def tables_looked_into(plan: Plan) -> Iterator[Part]:
    """Of any node, wherever it runs: its aggregates that look into tables of the session."""
    for program in dict.fromkeys(
        program for call in plan.user_calls for program in (call.program, call.combine) if program
    ):
        for name, writes in tables_of(program).items():
            yield f"{program.name}() {'writing' if writes else 'reading'} {name}", OF_TABLES


SUPPORT: Final[Mapping[type[Plan], NodeSupport[Any]]] = {
    Scan: SCAN,
    Filter: _always(
        WHERE,
        lambda plan: f"filter {in_words(show(plan.predicate), plan)}",
        translate=lambda plan, inputs, _: inputs[0].where(sql(plan.predicate)),
        operators=lambda plan: [FilterOperator(plan.predicate)],
        anywhere=True,
    ),
    Project: _always(
        SELECT,
        lambda plan: f"project {items_in_words(plan)}",
        translate=_project,
        operators=lambda plan: [ProjectOperator(plan.items)],
        anywhere=True,
    ),
    Derived: NodeSupport[Derived](
        rows=(DERIVED, DERIVED_IN_ORDER),
        parts=_derived,
        translate=lambda plan, inputs, _: inputs[0],
        operators=lambda plan: [] if plan.name is None else [Named(plan.name)],
        anywhere=True,
    ),
    Unnest: _always(
        UNNEST,
        lambda plan: "UNNEST",
        translate=_unnest,
        operators=lambda plan: [UnnestOperator(plan)],
        anywhere=True,
    ),
    Lookup: LOOK_UP,
    Union: NodeSupport[Union](
        rows=(UNION, UNION_OF_WINDOWS),
        parts=lambda plan: [("union", UNION)],
        also=lambda plan, _: [("union", UNION_OF_WINDOWS)] if windows_below(plan) else [],
        translate=_union,
    ),
    Aggregate: WINDOWED,
    Over: _always(of_window(OVER), lambda plan: str(plan.window), spread=lambda plan: plan.window.spread_by(())),
    MatchRows: _always(ROW_PATTERNS, lambda _: "MATCH_RECOGNIZE", spread=lambda plan: plan.partition),
    Join: JOIN,
    Alive: _always(_RELATION, lambda _: "relation"),
    RelationJoin: _always(_RELATION, lambda _: "relation"),
    Distinct: _always(SETS, _as_class),
    Bags: _always(SETS, _as_class),
    ToStream: NodeSupport[ToStream](rows=(JOINS_UNDER_SLIDE, STREAMS_OF_RELATIONS), parts=_to_stream),
    TableRelation: NodeSupport[TableRelation](rows=(RETROACTIVE_TABLES, TABLES_BESIDE_RELATIONS), parts=_table),
    Sample: _always(SAMPLE, lambda plan: f"SAMPLE({plan.percent})"),
    Shed: _always(TOLERANCE, lambda _: "shedding"),
    Top: _always(FIRST_ROWS, lambda _: "first rows"),
    WindowFunctions: _always(WINDOW_FUNCTIONS, lambda _: "window functions"),
    ExtentRows: _always(ANYTHING_ELSE, lambda _: "rows of each extent"),
    ExtentChanges: _always(ANYTHING_ELSE, _as_class),
    Newest: _always(ANYTHING_ELSE, _as_class),
    Retimed: _always(ANYTHING_ELSE, _as_class),
}
OF_EVERY_NODE: Final = (ROW_NUM, ROW_NUM_OF_DERIVED, OWN_FUNCTIONS, OF_TABLES)
"""Rows that `row_numbers`, `own_functions` and `tables_looked_into` may give."""
