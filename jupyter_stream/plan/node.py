"""What every node of a plan knows of itself: what it is over, what it computes, and what its columns are below.

Facts about plans (`relations`, `time_of`, `keyed`, ...) ask nodes this way, so that a new kind of node is met by what it is like.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.functions.expression import Expr
from jupyter_stream.plan.catalog import Step
from jupyter_stream.windows import Window

if TYPE_CHECKING:
    from jupyter_stream.aggregates.user import UserCall
    from jupyter_stream.plan.logical import Plan


Shorten: TypeAlias = "Callable[[Window], Window]"
"""A window to the one that stands in its place."""
Held: TypeAlias = Literal["nothing", "rows", "groups"]
Reads: TypeAlias = Literal["all", "passed", "made"]

_GOES_BY_ROWS = "it goes by rows that a sample would leave out"


class NoInput:
    """Rows from outside of the plan: of a stream or a table."""

    schema: Schema
    row_by_row: ClassVar[bool] = False
    """Whether each row of the input gives rows of its own at once, with its time and its lifetime."""
    written: ClassVar[str] = ""
    """What it is in SQL, where that is a clause of its own."""
    searches: ClassVar[bool] = False
    """Whether it looks at rows in the order of their times, and gives rows of its own once, when they are final."""
    reads: ClassVar[Reads] = "all"
    """Which columns of its input it looks at: all, or those its expressions name, of rows it passes on or makes others of."""
    holds: ClassVar[Held] = "nothing"
    """What it remembers: rows of its inputs, or something of groups of them."""

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """The plans below."""
        return ()

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """All it computes of the rows of its inputs."""
        return ()

    @property
    def steps(self) -> tuple[Step, ...] | None:
        """What it makes of each row of its input by itself; None where it does more than that."""
        return None

    def with_inputs(self, inputs: Sequence[Plan]) -> Self:
        """The same node over other inputs, of the same schemas."""
        return self

    def origin(self, column: str, port: int = 0) -> str | None:
        """The column of an input that a column of its rows is, as it is; None where it is none of that input's."""
        return None

    @property
    def gathers(self) -> bool:
        """Whether it remembers rows one by one."""
        return self.holds == "rows"

    @property
    def user_calls(self) -> tuple[UserCall, ...]:
        """The aggregates of users' own that it works out."""
        return ()

    # -- what may be given up (stream-manager paper §5)

    @property
    def unsampled(self) -> str | None:
        """Why the streams below can't be sampled without a bias in its answer; None where they can."""
        return None if self.row_by_row else _GOES_BY_ROWS

    @property
    def unscaled(self) -> tuple[str, ...]:
        """Aggregates of which nobody can say how far they are off over a sample."""
        return ()

    @property
    def share(self) -> float:
        """The share of its input's rows that is in its answer by chance."""
        return 1.0

    def grows_by_less(self, port: int) -> str | None:
        """Why less of that input makes more of its answer; None where it makes less."""
        return None

    @property
    def windows_kept(self) -> tuple[Window, ...]:
        """Windows that say how long it remembers rows."""
        return ()

    def shortened(self, shorten: Shorten) -> Self:
        """The same with other windows."""
        return self

    def carrying(self, below: Plan, fields: Sequence[Field]) -> Self:
        """The same over an input with more columns, which are passed on."""
        raise TypeError(f"{type(self).__name__} has answers of its own")


class OneInput(NoInput):
    """Rows made of those of one plan."""

    input: Plan

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.input,)

    def with_inputs(self, inputs: Sequence[Plan]) -> Self:
        (below,) = inputs
        return self if below is self.input else _replaced(self, input=below)

    def origin(self, column: str, port: int = 0) -> str | None:
        return column if self.input.schema.find(column) is not None else None

    def carrying(self, below: Plan, fields: Sequence[Field]) -> Self:
        made: Self = _replaced(self, input=below, schema=Schema((*self.schema, *fields)))
        return made


class TwoInputs(NoInput):
    """Rows of two plans side by side: the left one's columns, then the right one's under names of the joined row."""

    left: Plan
    right: Plan
    right_names: tuple[str, ...]

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.left, self.right)

    def with_inputs(self, inputs: Sequence[Plan]) -> Self:
        left, right = inputs
        return self if left is self.left and right is self.right else _replaced(self, left=left, right=right)

    def origin(self, column: str, port: int = 0) -> str | None:
        if port == 0:
            return column if self.left.schema.find(column) is not None else None
        return dict(zip(self.right_names, self.right.schema.names, strict=True)).get(column)


class ManyInputs(NoInput):
    """Rows of several plans, columns by position."""

    parts: tuple[Plan, ...]

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return self.parts

    def with_inputs(self, inputs: Sequence[Plan]) -> Self:
        same = all(new is old for new, old in zip(inputs, self.parts, strict=True))
        return self if same else _replaced(self, parts=tuple(inputs))

    def origin(self, column: str, port: int = 0) -> str | None:
        names = self.schema.names
        return self.parts[port].schema.names[names.index(column)] if column in names else None


def _replaced(node: Any, **changes: object) -> Any:
    """A copy of a node, all of which are frozen dataclasses."""
    return replace(node, **changes)
