"""What a user-defined aggregate is: INITIALIZE, ITERATE, TERMINATE and EXPIRE (ESL, §3 and §4), however they are written.

Rows come in the order of their times, ties by their numbers; an answer is a list of returned values, as RETURN may hold any
number of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import polars as pl

from jupyter_stream.aggregates.protocol import BadArguments

if TYPE_CHECKING:
    from jupyter_stream.aggregates.user.segments import Outcome
    from jupyter_stream.aggregates.user.stepping import RowSteps
    from jupyter_stream.core.messages import Int64s

How: TypeAlias = Literal["recomputed", "delta", "paned", "running"]
"""How a call is run: afresh for each answer; kept on, rows that leave taken back by EXPIRE; from answers of panes; kept on."""


def check_count(name: str, wanted: int, given: int) -> None:
    """Raise `BadArguments` for a wrong number of arguments."""
    if wanted != given:
        raise BadArguments(f"{name} takes {wanted} argument{'s' * (wanted != 1)}, not {given}")


class GroupRun(Protocol):
    """One group's state, from INITIALIZE on."""

    def take(self, tag: int, row: Sequence[Any]) -> list[Any]:
        """INITIALIZE for the first row, ITERATE for those after it; what it returns.

        Args:
            tag: when the row leaves is judged by this, which never goes down: its time, its number or its pane.
            row: the arguments.

        Raises:
            RowError: the body has no value for it.
        """

    def expire(self, before: int) -> list[list[Any]]:
        """EXPIRE for each row with a tag less than that, oldest first; what each returned. Raises `RowError`."""

    def steps(self, steps: RowSteps) -> list[Outcome]:
        """Many rows, before each of which others may leave: what each returned, or why nothing."""

    def answer(self) -> list[Any]:
        """What TERMINATE returns. Raises `RowError`."""

    @property
    def alive(self) -> int:
        """Rows in the window that were not deleted; kept by window versions only, else how many were taken."""

    @property
    def bytes(self) -> int:
        """Bytes held, roughly."""


class Program(Protocol):
    """A user-defined aggregate for given types of arguments. Immutable.

    Attributes:
        name: as declared.
        arguments: what the arguments are cast to.
        dtype: the result's type, a STRUCT where RETURN has several columns.
        blocking: whether TERMINATE does anything: it then has an answer when asked only.
        expires: whether EXPIRE is given: rows can be taken back.
        numbered: whether the last argument is the row's number, which is no argument of the call.
    """

    name: str
    arguments: tuple[pl.DataType, ...]
    dtype: pl.DataType
    blocking: bool
    expires: bool
    numbered: bool

    def start(self) -> GroupRun:
        """A run without rows."""

    def over(self, rows: Sequence[Sequence[Any]]) -> list[Any]:
        """The answer over some rows, at least one, from the beginning: TERMINATE's, or without one the last row's.

        Raises:
            RowError: the body has no value for them.
        """

    def slices(self, columns: Sequence[pl.Series], height: int) -> Callable[[int, int], list[Any]]:
        """The same over rows of some columns, from one number to another."""

    def at_once(self, columns: Sequence[pl.Series], lengths: Int64s) -> list[Outcome | None] | None:
        """The same over many groups' rows, one group behind the other; None for those that `slices` is to be used for."""


class UserAggregate(Protocol):
    """A declared aggregate, for any types of arguments it takes.

    Attributes:
        name: as declared.
        signature: for people.
        description: one line.
        algebraic: declared ALGEBRAIC: answers of panes may be aggregated further.
        windowed: declared WINDOW, or written with what only windows have.
        text: the declaration.
    """

    name: str
    signature: str
    description: str
    algebraic: bool
    windowed: bool
    text: str

    def program(self, types: Sequence[pl.DataType]) -> Program:
        """The aggregate for these types. Raises `BadArguments`, or `QueryError` for what is wrong in its body."""


@dataclass(frozen=True, eq=False)
class UserCall:
    """A call of a user-defined aggregate in a plan.

    Attributes:
        program: what is run.
        column: the output column.
        how: how it is run.
        dtype: the type of a value it returns.
        combine: for paned calls, what is run over the answers of panes.
        words: how it is run, for people.
    """

    program: Program
    column: str
    how: How
    dtype: pl.DataType
    combine: Program | None = None
    words: str = ""

    def __str__(self) -> str:
        return f"{self.program.name} {self.how}"


__all__ = ["GroupRun", "How", "Program", "UserAggregate", "UserCall"]
