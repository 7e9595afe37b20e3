"""Operators of queries with a budget, from what the planner says. Not for what they do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from jupyter_stream.budget.estimated import Estimated, EstimatedConfig
from jupyter_stream.budget.promises import Promise
from jupyter_stream.budget.promising_join import PromisingJoin, PromisingJoinConfig
from jupyter_stream.budget.promising_rows import PromisingRows, PromisingRowsConfig
from jupyter_stream.budget.time_slots import Slots, SummaryKeeper
from jupyter_stream.flow.steps import Entry, Step
from jupyter_stream.functions.expression import Expr, columns
from jupyter_stream.graph import planned
from jupyter_stream.plan.logical import Aggregate, BoundQuery, Join
from jupyter_stream.plan.preference import PreferenceItem
from jupyter_stream.plan.promising import Promising, about, known_by, own_columns, predicate_of, scaled, scan_of

MOST_AT_ONCE: Final = 16
"""Slots."""


def slots(how: Promising, port: int) -> tuple[Slots, object]:
    """What cuts a stream into slots and keeps its summaries, and what equals it in queries that share it."""
    summaries = how.summaries[port]
    scans = [scan_of(part).stream for part in (how.base.inputs if isinstance(how.base, Join) else (how.base,))]
    does = ("slots", how.width, summaries, how.keep, tuple(id(s) for s in scans))
    return Slots(how.width, summaries, how.keep), does


def promising_rows(query: BoundQuery, how: Promising, place: Callable[[], Step]) -> PromisingRows:
    """A selection with a budget; `place` says where it stands, when it runs."""
    items, summaries = how.items[0], how.summaries[0]
    predicate = predicate_of(how.base)
    first = frozenset(summaries[0].spec.columns) if summaries else frozenset[str]()
    promise = _promise(items, own_columns(scan_of(how.base), items))
    of_value = about(predicate, first)
    extent = None if how.aggregate is None else how.aggregate.window.span
    config = PromisingRowsConfig(query.preference, promise, of_value, predicate, extent)
    return PromisingRows(config, lambda: keeper_of(place(), 0))


def promising_join(
    query: BoundQuery, how: Promising, wanted: frozenset[str] | None, place: Callable[[], Step]
) -> PromisingJoin:
    """A join with a budget; `place` says where it stands, when it runs."""
    join = how.base
    assert isinstance(join, Join)
    asked = [known_by(join, side, how.items[side]) for side in (0, 1)]
    own = [own_columns(scan_of(part), how.items[side]) for side, part in enumerate(join.inputs)]
    if wanted is not None:  # the values rows are asked about are kept with them
        right = dict(zip(join.right.schema.names, join.right_names, strict=True))
        read = [c for e in (*asked[1].values(), *own[0].values()) for c in columns(e)]
        read += [right[c] for e in (*asked[0].values(), *own[1].values()) for c in columns(e)]
        wanted = wanted | frozenset(read)
    config = planned.join_config(join, wanted)
    promises = (_promise(how.items[0], asked[0]), _promise(how.items[1], asked[1]))
    of_own = (_promise(how.items[0], own[0]), _promise(how.items[1], own[1]))
    plain = replace(config, promised=(None, None))
    made = PromisingJoinConfig(plain, how.width, query.preference, promises, of_own, _at_once(how))
    return PromisingJoin(made, lambda: (keeper_of(place(), 0), keeper_of(place(), 1)))


def _at_once(how: Promising) -> int:
    """Slots whose rows may look for partners together: what a summary knows of the time before them is coarse by then, so that
    it reaches as far again.
    """
    reach = min((s.spec.span(s.spec.depth) for of in how.summaries for s in of), default=MOST_AT_ONCE * how.width * 2)
    return max(1, min(MOST_AT_ONCE, reach // (2 * how.width)))


def estimated(query: BoundQuery, aggregate: Aggregate, place: Callable[[], Step]) -> Estimated:
    """What marks answers of an aggregate whose input has a budget; `place` says where the aggregate stands."""
    extent = aggregate.window.span
    assert extent is not None

    def rows() -> PromisingRows:
        node: Step | Entry = place()
        while not isinstance(node, Step) or not isinstance(node.operator, PromisingRows):
            assert isinstance(node, Step)
            node = node.inputs[0]
        return node.operator

    return Estimated(EstimatedConfig(extent, scaled(query, aggregate)), rows)


def keeper_of(step: Step, port: int) -> SummaryKeeper:
    """The keeper of the stream that comes to an input of a step, which it may share with other queries."""
    node = step.inputs[port]
    while True:
        assert isinstance(node, Step)
        if isinstance(node.operator, Slots):
            return node.operator.keeper
        node = node.inputs[0]


def _promise(items: tuple[PreferenceItem, ...], at: dict[str, Expr]) -> Promise | None:
    return Promise(items, at) if items else None


__all__ = ["estimated", "keeper_of", "promising_join", "promising_rows", "slots"]
