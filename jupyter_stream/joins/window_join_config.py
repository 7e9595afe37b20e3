"""What a join of two streams is told: which rows meet, and what of them somebody reads."""

from __future__ import annotations

from dataclasses import dataclass

from jupyter_stream.core.schema import Schema
from jupyter_stream.functions.expression import Expr
from jupyter_stream.plan.logical import JoinKind
from jupyter_stream.plan.references import Referring
from jupyter_stream.windows import Schedule


@dataclass(frozen=True)
class WindowJoinConfig:
    """Which rows meet.

    Attributes:
        kind: as of `plan.logical.Join`.
        left: the left rows' columns.
        right: the right rows' columns.
        right_names: what these are called in the joined row.
        schema: the joined row's columns.
        keys: pairs of expressions that are to be equal.
        residual: a further condition over the joined row, None without.
        low: least right time minus left time, None for no bound.
        high: the greatest.
        lifetimes: how long rows of each side live, microseconds, None for ever: joined rows live while both do.
        wanted: the columns of the joined row that somebody reads; None for all.
        extents: when the extents end of a tumbling window, one of which both rows have to be in; None without.
        ends: whether somebody reads when joined rows leave.
        promised: which of the keys group-wise punctuations of each input speak of, if any.
        joint: which of the keys it promises something of itself, where both inputs have; None where nobody asks.
        paired: whether somebody hears what it promises of each of its times.
        judged: the FOREIGN KEY that rows of an input break which find no partner; None without.
    """

    kind: JoinKind
    left: Schema
    right: Schema
    right_names: tuple[str, ...]
    schema: Schema
    keys: tuple[tuple[Expr, Expr], ...]
    residual: Expr | None
    low: int | None
    high: int | None
    lifetimes: tuple[int | None, int | None]
    wanted: frozenset[str] | None = None
    ends: bool = True
    promised: tuple[int | None, int | None] = (None, None)
    extents: Schedule | None = None
    judged: Referring | None = None
    joint: int | None = None
    paired: bool = False


__all__ = ["WindowJoinConfig"]
