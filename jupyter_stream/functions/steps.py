"""The steps of a long expression over a frame: which of them are computed together, and how long their columns are kept.

Not for what becomes a step: `kernel` says that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import polars as pl

from jupyter_stream.arrays.rows import few
from jupyter_stream.functions.function import ComputedStep, Step

_WIDE: Final = 64
"""Columns of steps a frame has before those that nobody reads any more are left out."""
_TOGETHER: Final = 32
"""Steps that read no others' columns which are computed at once: a call of Polars takes as long as ten of them do."""
_AHEAD: Final = 256
"""Steps among which they are looked for."""

Run: TypeAlias = tuple[pl.Expr, ...] | ComputedStep


@dataclass(frozen=True, slots=True)
class _Turn:
    """What is computed at once.

    Attributes:
        run: the expressions.
        made: the names of their columns.
        over: columns of steps that nobody reads behind it.
    """

    run: Run
    made: tuple[str, ...]
    over: tuple[str, ...] = ()


class Timetable:
    """Steps in the order in which they are computed.

    Args:
        steps: each group of which may read those before it.
        read: what is to be computed of the frame. Of many steps, only the columns that these read are there in the end. Without
            it all are.
    """

    def __init__(self, steps: Sequence[Step], read: Iterable[pl.Expr] | None = None) -> None:
        if read is None or 2 * len(steps) <= _WIDE:
            self._turns = [_Turn(step, ()) for step in steps]
        else:
            self._turns = list(_dropping(list(_grouped(steps)), read))

    def over(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The frame with the columns of the steps."""
        for turn in self._turns:
            if isinstance(turn.run, ComputedStep):
                frame = turn.run(frame)
            else:
                frame = frame.with_columns_seq(turn.run) if few(frame) else frame.with_columns(turn.run)
            if turn.over:
                frame = frame.drop(turn.over)
        return frame


def with_steps(frame: pl.DataFrame, steps: Sequence[Step], read: Iterable[pl.Expr] | None = None) -> pl.DataFrame:
    """The frame with the columns of `Compiled.steps`, see `Timetable`."""
    return Timetable(steps, read).over(frame) if steps else frame


def _grouped(steps: Sequence[Step]) -> Iterator[_Turn]:
    """The steps, those that read only the frame's own columns with others of that kind."""
    made = [_made(step) for step in steps]
    of_steps = {name for names in made for name in names}
    alone = [isinstance(step, ComputedStep) or not of_steps.isdisjoint(_names(_reads(step))) for step in steps]
    done = [False] * len(steps)
    for at, step in enumerate(steps):
        if done[at]:
            continue
        if isinstance(step, ComputedStep) or alone[at]:
            yield _Turn(step, made[at])
            continue
        ahead = [i for i in range(at, min(at + _AHEAD, len(steps))) if not alone[i] and not done[i]][:_TOGETHER]
        for i in ahead:
            done[i] = True
        yield _Turn(tuple(e for i in ahead for e in _reads(steps[i])), tuple(name for i in ahead for name in made[i]))


def _dropping(turns: Sequence[_Turn], read: Iterable[pl.Expr]) -> Iterator[_Turn]:
    """The same, with the columns that are left out behind each."""
    last = {name: at for at, turn in enumerate(turns) for name in _names(_reads(turn.run))}
    last |= dict.fromkeys(_names(read), len(turns))
    there: list[str] = []
    most = _WIDE
    for at, turn in enumerate(turns):
        there.extend(turn.made)
        if len(there) <= most:
            yield turn
            continue
        over = tuple(name for name in there if last.get(name, -1) <= at)
        there = [name for name in there if last.get(name, -1) > at]
        most = len(there) + _WIDE
        yield _Turn(turn.run, turn.made, over)


def _made(step: Step) -> tuple[str, ...]:
    return (step.name,) if isinstance(step, ComputedStep) else tuple(made.meta.output_name() for made in step)


def _reads(step: Run) -> tuple[pl.Expr, ...]:
    """What a step computes of the columns that are there."""
    return step.args if isinstance(step, ComputedStep) else step


def _names(read: Iterable[pl.Expr]) -> Iterator[str]:
    """The columns that expressions read."""
    return (name for made in read for name in made.meta.root_names())
