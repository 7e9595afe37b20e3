"""What an operator is. It never reads a clock, never knows a clause's syntax, and never sorts its input."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeGuard, runtime_checkable

import polars as pl

from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import Batch, KeyPunctuation, Message, PairPunctuation, Punctuation, Tick
from jupyter_stream.core.time import MAX_TIME, MIN_TIME


class Operator(Protocol):
    """A frozen configuration, a small state, and functions from a message to messages.

    Any split of the same rows into batches gives the same answers. Messages returned are sent on in order; they may be
    made lazily, and the engine may give other input between two of them only where the operator says `Rest`.
    """

    control: ControlTable
    synopses: list[ControlTable]
    """Control tables of what it remembers."""

    def on_batch(self, port: int, batch: Batch) -> Iterable[Message]:
        """Rows arrived on an input."""

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterable[Message]:
        """An input has promised something about its rows to come."""

    def on_tick(self, tick: Tick) -> Iterable[Message]:
        """Provisional answers are wanted."""


@runtime_checkable
class ByKey(Protocol):
    """An operator that group-wise punctuations say something. To others they are not told, which is always right."""

    def on_key_punctuation(self, port: int, punctuation: KeyPunctuation) -> Iterable[Message]:
        """An input has promised something about rows of some keys."""


@runtime_checkable
class Paired(Protocol):
    """An operator that hears how far each of the two times of joined rows has got. To others it is not told."""

    def on_pair_punctuation(self, punctuation: PairPunctuation) -> Iterable[Message]:
        """A join below has promised something of each time."""


class Foresees(Protocol):
    """An operator that can work out something of rows before it is given them."""

    def foresee(self, port: int, batch: Batch) -> None:
        """A batch that comes next on an input, or never. Called by another thread than the engine's, while that may give it
        others: it changes nothing of its state, and the answers are the same without.
        """


def foresees(operator: Operator) -> TypeGuard[Foresees]:
    """Whether an operator can. Asked of each batch, and `isinstance` of a protocol takes ten times as long."""
    return hasattr(operator, "foresee")


@dataclass(frozen=True)
class Recall:
    """What an operator's answers to come go by.

    Attributes:
        since: the earliest time of rows among it, microseconds; `MAX_TIME` without any.
        rest: what else it goes by: two operators that do the same say the same from here on if these are equal, and if what
            came since is what both have had.
    """

    since: int
    rest: object = None


@runtime_checkable
class Forgets(Protocol):
    """An operator that goes by what came some time ago no more, so that a query that came later may come to share it."""

    def recalls(self) -> Recall | None:
        """What it goes by; None if all it ever had matters."""


@runtime_checkable
class Waits(Protocol):
    """An idle-waiting-prone operator that knows until when: it holds something that a punctuation would let go [stream-mill §3].

    Low-watermarks of inputs are the paper's time-stamp memory (TSM) registers, one for each input, and this is its relaxed *more*
    turned round: an operator has more to do once the least of them has come to this time. Rows of equal time on several inputs
    wait for nothing but that: a register keeps its value when its input is empty.
    """

    @property
    def waits_for(self) -> int:
        """The least punctuation that lets it give something; `MAX_TIME` while it holds nothing of the kind, and `MIN_TIME` where
        it holds something and doesn't know.
        """


def waits_for(operator: Operator) -> int:
    """The same of any operator: one that holds something and doesn't say for how long may wait for any punctuation."""
    if isinstance(operator, Waits):
        return operator.waits_for
    return MIN_TIME if operator.control.bytes else MAX_TIME


@runtime_checkable
class Narrow(Protocol):
    """An operator that leaves out columns which nobody reads."""

    @property
    def wanted(self) -> frozenset[str] | None:
        """Those that somebody reads; None for all there can be."""

    def widen(self, wanted: frozenset[str] | None) -> None:
        """Somebody reads these, too: queries that share an operator may read different columns of its rows."""


@runtime_checkable
class Finds(Protocol):
    """An operator that finds rows it keeps by their key, and on some of its inputs by all their values as well."""

    by_values: tuple[bool, ...]
    """Of each input whose rows are kept: whether by all their values."""


def either(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    """The columns that one of two readers reads; None is all."""
    return None if one is None or other is None else one | other


@runtime_checkable
class Shown(Protocol):
    """An operator whose state can be looked at, for people who look into a running plan."""

    def head(self, most: int) -> pl.DataFrame:
        """The first of what it remembers, at most so many rows."""


class Stateless:
    """An operator that keeps nothing and leaves rows their times: punctuations and ticks pass through."""

    def __init__(self, name: str) -> None:
        self.control = ControlTable(name)
        self.synopses: list[ControlTable] = []

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterable[Message]:
        """Pass it on."""
        self.control.low_watermark = punctuation.value
        return (punctuation,)

    def on_pair_punctuation(self, punctuation: PairPunctuation) -> Iterable[Message]:
        """Pass it on."""
        return (punctuation,)

    def on_tick(self, tick: Tick) -> Iterable[Message]:
        """Pass it on."""
        return (tick,)
