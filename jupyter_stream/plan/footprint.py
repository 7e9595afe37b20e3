"""About how many bytes a plan will hold, and how much of a core it will take, from what is known of its streams.

Good for saying what fits into how much; what a running query holds and takes is measured (`core/control.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from jupyter_stream.core.schema import Schema
from jupyter_stream.plan.cost import EdgeEstimate, estimate
from jupyter_stream.plan.logical import Plan, streams
from jupyter_stream.plan.patterns import Edge, labelled
from jupyter_stream.plan.rates import Rates
from jupyter_stream.plan.tolerance import Room

_ROW: Final = 24
"""Bytes of a row kept, beside its columns: its time, when it ends, where it is found."""
_TEXT: Final = 24.0
"""Bytes of a text where none was seen."""
_PARTIAL: Final = 16
"""Bytes of an aggregate's partial result of one group and pane, and of what a group's key takes."""
_LOOK: Final = 40e-9
"""Seconds that a row looked at takes where nothing has been measured (counts and sums by key: 30 to 60 ns a row)."""


@dataclass(frozen=True)
class Known:
    """What is known of the streams.

    Attributes:
        rates: rows per second of their own time, and how many values their columns have.
        widths: bytes of a value of a column, by name, where they are not of one size.
        pace: seconds of the streams' time in a second of the clock; None where they come as fast as they are taken.
        look: seconds of a core that a row looked at takes.
    """

    rates: Rates = field(default=Rates())
    widths: Mapping[str, float] = field(default_factory=dict)
    pace: float | None = 1.0
    look: float = _LOOK


def needed(plan: Plan, target: Room, known: Known) -> float:
    """How much of what a target is about a plan needs, about."""
    return held(plan, known) if target.kind == "bytes" else taken(plan, known)


def held(plan: Plan, known: Known) -> float:
    """Bytes that a plan's operators hold, about."""
    edge = labelled(plan)
    return _held(edge, estimate(edge, known.rates), known)


def taken(plan: Plan, known: Known) -> float:
    """The share of a core that a plan takes, about; of a replay as fast as it can be, of all its time."""
    every = sum(known.rates.streams.get(s.name, 1.0) for s in streams(plan))  # each row is read and goes through
    looked = estimate(labelled(plan), known.rates).total + every
    return looked * known.look * (known.pace or 1.0)


def _held(edge: Edge, found: EdgeEstimate, known: Known) -> float:
    plan = edge.plan
    below = sum(_held(e, its, known) for e, its in zip(edge.inputs, found.inputs, strict=True))
    if plan.holds == "nothing":
        return below
    rows = sum(its.size * _width(e.plan.schema, known) for e, its in zip(edge.inputs, found.inputs, strict=True))
    return below + (rows if plan.gathers else min(rows, _of_groups(plan, found)))


def _of_groups(plan: Plan, found: EdgeEstimate) -> float:
    """Bytes of an aggregate's partial results, where its windows let it keep no rows."""
    each = _PARTIAL * max(1, len(plan.schema))
    (window, *others) = plan.windows_kept
    if not window.sliding:
        return each * found.size
    schedules = [(w.length, w.schedule.slide) for w in (window, *others) if w.schedule is not None]
    if len(schedules) <= len(others):
        return float("inf")
    panes = sum(2 + (length or slide) // slide for length, slide in schedules)
    return each * found.size * panes


def _width(schema: Schema, known: Known) -> float:
    sizes = (known.widths.get(f.name, _TEXT) if _varies(f.dtype) else 8.0 for f in schema)
    return _ROW + sum(sizes)


def _varies(dtype: pl.DataType) -> bool:
    return not (dtype.is_numeric() or dtype.is_temporal() or isinstance(dtype, pl.Boolean))


__all__ = ["Known", "held", "needed", "taken"]
