"""How a query with a budget is run, where it can be, and whether a summary pays (promising-tuples paper §4, §5.1)."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Final, Literal

from jupyter_stream.core.time import show_duration
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.functions.expression import Column, Expr, columns, conjuncts
from jupyter_stream.plan.logical import (
    Aggregate,
    BoundQuery,
    Derived,
    Filter,
    Join,
    Plan,
    Project,
    Scan,
    down_to,
    under,
    way_down,
)
from jupyter_stream.plan.preference import Preference, PreferenceItem, SummaryDef
from jupyter_stream.plan.references import bounds
from jupyter_stream.plan.rules.common import all_of
from jupyter_stream.summaries.spec import ATOMS, LONGEST

COVERAGE: Final = "coverage"
"""The result column of a query with a budget."""
PER_ROW: Final = 100
"""Nanoseconds that keeping a summary takes for a row, measured on batches of 64k."""
_SLOT: Final = 1_000_000
"""Of a stream without a summary and without a window, microseconds."""


@dataclass(frozen=True)
class Promising:
    """A budget spent on what promises most.

    Attributes:
        kind: what has the budget: a join or a selection.
        base: the node of the plan that becomes the operator with the budget.
        width: of a slot, microseconds.
        keep: how far back the other stream's rows are asked for, microseconds; None for as far as summaries go.
        items: the preference's expressions by stream.
        summaries: what is kept by stream.
        aggregate: what the rows are the input of, whose answers are estimates while some wait; None for a selection.
    """

    kind: Literal["join", "rows"]
    base: Plan
    width: int
    keep: int | None
    items: tuple[tuple[PreferenceItem, ...], ...]
    summaries: tuple[tuple[SummaryDef, ...], ...]
    aggregate: Aggregate | None = None


@dataclass(frozen=True)
class Plain:
    """The ordinary operators; `reason` says why."""

    reason: str


def chosen(query: BoundQuery, plan: Plan) -> Promising | Plain | None:
    """How a query is run, whose plan has been optimized; None where it has neither preference nor budget.

    Raises:
        UnsupportedError: a query that can't have a budget.
    """
    if query.budget is None:
        if query.preference is None:
            return None
        return Plain(
            "no budget: everything is exact and given at once, so that nothing has to come first, and no summary is kept"
        )
    found = _shape(query, plan)
    if query.preference is not None:
        reason = _does_not_pay(query, found, _windows(found.base))
        if reason is not None:
            return Plain(f"{reason}: the plain operator runs, without a budget")
    return found


def _shape(query: BoundQuery, plan: Plan) -> Promising:
    if plan.schema.find(COVERAGE) is not None:
        raise UnsupportedError(
            f"a budget adds a column {COVERAGE}, and this query already has one", hint="Give it another name with AS."
        )
    if query.emit.mode != "final":
        raise UnsupportedError(
            "EMIT can't be combined with a budget",
            hint="Leave one of them out: a budget gives estimates of its own.",
        )
    base = way_down(plan, lambda node: isinstance(node, Project | Filter | Derived) and _stream(node) is None)[-1]
    items = () if query.preference is None else query.preference.items
    ports = 2 if isinstance(base, Join) else 1
    by_port = tuple(tuple(i for i in items if i.port == port) for port in range(ports))
    kept = tuple(tuple(dict.fromkeys(e.summary for i in of for e in i.estimates)) for of in by_port)
    every = [s for of in kept for s in of]
    atom = min((s.spec.granularity // ATOMS for s in every), default=None)
    if isinstance(base, Join):
        return _join(base, by_port, kept, atom)
    if isinstance(base, Aggregate):
        window = base.window
        ends, length = window.schedule, window.span
        plain = window.instants is not None and window.on is None and not (base.user or base.other_windows)
        if ends is None or length is None or not plain or _stream(base.input) is None:
            raise _refused("aggregates of one stream over a window of time with SLIDE")
        slot = gcd(ends.slide, length, ends.phase)
        return Promising("rows", base.input, slot, None, by_port, kept, base)
    if _stream(base) is None:
        raise _refused("joins of two streams, selections, and aggregates of one stream over a window with SLIDE")
    return Promising("rows", base, _SLOT if atom is None else atom * LONGEST, None, by_port, kept)


def _join(
    join: Join,
    items: tuple[tuple[PreferenceItem, ...], ...],
    kept: tuple[tuple[SummaryDef, ...], ...],
    atom: int | None,
) -> Promising:
    if join.kind != "inner" or any(_stream(part) is None for part in join.inputs):
        raise _refused("inner joins of two streams")
    low, high = bounds(join)
    ranges = [abs(b) + 1 for b in (low, high) if b is not None]
    keep = max(ranges) if len(ranges) == 2 else None
    if atom is None:
        width = _SLOT if keep is None else max(1, keep // ATOMS)
    else:  # fewer slots cost less; two of them in a window tell old from new
        width = atom * next((n for n in (LONGEST, 2) if keep is None or 2 * n * atom <= keep), 1)
    return Promising("join", join, width, keep, items, kept)


def _refused(what: str) -> UnsupportedError:
    return UnsupportedError(
        f"a budget can be used only with {what}",
        hint="Leave --budget out: the query is exact then, and takes the time it takes.",
    )


def _stream(plan: Plan) -> Scan | None:
    """The stream that a plan selects from, where it does no more."""
    stream = under(plan, Filter)
    return stream if isinstance(stream, Scan) else None


def scan_of(plan: Plan) -> Scan:
    """The stream that a plan selects from."""
    found = _stream(plan)
    assert found is not None
    return found


def predicate_of(plan: Plan) -> Expr | None:
    """What a plan that selects from a stream selects by."""
    parts = [node.predicate for node in down_to(plan, Filter) if isinstance(node, Filter)]
    return all_of(parts[::-1]) if parts else None


def about(predicate: Expr | None, names: frozenset[str]) -> Expr | None:
    """The part of a predicate that reads these columns alone."""
    parts = [] if predicate is None else [p for p in conjuncts(predicate) if columns(p) and columns(p) <= names]
    return all_of(parts) if parts else None


def known_by(join: Join, side: int, items: tuple[PreferenceItem, ...]) -> dict[str, Expr]:
    """For the columns that expressions about one side of a join name, what the other side's rows know them by.

    Raises:
        UnsupportedError: a column that the join doesn't compare.
    """
    pairs = [(pair[side], pair[1 - side]) for pair in join.keys]
    known = {mine.name: theirs for mine, theirs in pairs if isinstance(mine, Column)}
    named = _named(items)
    for name in sorted(named - known.keys()):
        raise UnsupportedError(
            f"a preference of a join can only use columns that the join compares, and {name} is not one of them",
            hint=f"Estimate {' or '.join(sorted(known)) or 'a column that stands in an equality'}.",
        )
    return {name: known[name] for name in named}


def own_columns(scan: Scan, items: tuple[PreferenceItem, ...]) -> dict[str, Expr]:
    """The columns that expressions about a stream name, as its own rows have them."""
    types = scan.schema.polars()
    return {name: Column(name, types[name]) for name in _named(items)}


def _named(items: tuple[PreferenceItem, ...]) -> set[str]:
    estimates = [e for i in items for e in i.estimates]
    own = {c for i in items for c in columns(i.value)} - {e.name for e in estimates}
    return own | {c for e in estimates for c in e.summary.spec.columns}


def _windows(base: Plan) -> int | None:
    """How far back rows are looked for, microseconds."""
    if not isinstance(base, Join):
        return None
    lengths = [w.span for w in base.windows if w.span is not None]
    return max(lengths, default=None)


def _does_not_pay(query: BoundQuery, found: Promising, reach: int | None) -> str | None:
    """Why a summary costs more than it saves (§5.1, figure 10); None where it doesn't."""
    if reach is not None and reach <= found.width:
        return (
            f"a window of {show_duration(reach)} is no longer than one zone of the summary ({show_duration(found.width)}), "
            "so its rows are searched just as fast without it"
        )
    budget = query.budget
    assert budget is not None
    for scan in (n for n in _scans(query.plan) if budget.kind == "share"):
        rate = scan.stream.options.get("rate", "").strip().lower().removesuffix("/s").replace(",", "").replace("_", "")
        if rate.isdigit() and int(rate) * PER_ROW / 1e9 > budget.amount / 2:
            share = 100 * int(rate) * PER_ROW / 1e9
            return f"at {int(rate):,} rows/s keeping the summary would take {share:.0f}% of a core, of a budget of {budget}"
    return None


def _scans(plan: Plan) -> list[Scan]:
    return [plan] if isinstance(plan, Scan) else [s for part in plan.inputs for s in _scans(part)]


def read_of(preference: Preference, stream: str) -> set[str]:
    """The columns of a stream that a preference reads."""
    items = tuple(i for i in preference.items if any(e.summary.stream == stream for e in i.estimates))
    return _named(items)


def scaled(query: BoundQuery, aggregate: Aggregate) -> tuple[str, ...]:
    """The columns that a sample's share scales up: sums and counts, where rows are looked at in a fair way."""
    if query.preference is not None and query.preference.order != "weighted":
        return ()
    return tuple(c.name for c in aggregate.aggregates if c.function in ("count", "sum") and not c.distinct)


def allowed(query: BoundQuery) -> str:
    """What EXPLAIN says of a budget."""
    return f"budget: {query.budget}" + ("" if query.weight == 1 else f", weight {query.weight:g}")


def notes(query: BoundQuery, how: Promising | Plain | None) -> tuple[str, ...]:
    """What EXPLAIN says of a preference and a budget."""
    if how is None:
        return ()
    lines = []
    if query.preference is not None:
        lines.append(f"preference: {query.preference}")
    if query.budget is not None:
        lines.append(allowed(query))
    if isinstance(how, Plain):
        return (*lines, how.reason)
    if query.preference is None:
        lines.append("a budget without a preference: a uniform sample comes first")
    for summary in dict.fromkeys(s for of in how.summaries for s in of):
        spec = summary.spec
        lines.append(
            f"summary {summary}: {spec.kind.name}, at most {spec.bytes / 2**20:.1f} MiB, shared by all queries"
        )
    return tuple(lines)


__all__ = ["COVERAGE", "Plain", "Promising", "chosen", "notes", "predicate_of", "read_of", "scan_of"]
