"""Which answers come first when there isn't time for all, and how much time there is [promising-tuples §2, §4].

A preference changes no answer, only when it comes: it belongs to a query as a whole, whose plan is the same without.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from jupyter_stream.core.time import show_duration
from jupyter_stream.errors import QueryError
from jupyter_stream.functions.expression import Expr
from jupyter_stream.summaries.protocol import Measure
from jupyter_stream.summaries.spec import SummarySpec

PreferenceOrder: TypeAlias = Literal["desc", "asc", "weighted"]


@dataclass(frozen=True, eq=False)
class SummaryDef:
    """A declared summary.

    Attributes:
        name: as declared.
        stream: the stream's name.
        spec: what the statement says.
        text: the statement.
    """

    name: str
    stream: str
    spec: SummarySpec
    text: str = ""

    def __str__(self) -> str:
        lengths = ", ".join(show_duration(self.spec.length(level)) for level in range(1, self.spec.depth + 1))
        return f"{self.name} on {self.stream} ({', '.join(self.spec.columns)}), granularities {lengths}"


@dataclass(frozen=True)
class Estimate:
    """`SUMMARY.Estimate.Count(x)` in a preference.

    Attributes:
        name: the column its value has in the preference's expression.
        measure: what is estimated.
        column: which of the summary's measured columns; 0 for a count.
        summary: by which it is estimated.
    """

    name: str
    measure: Measure
    column: int
    summary: SummaryDef


@dataclass(frozen=True)
class PreferenceItem:
    """One expression of a preference. All of its columns are of one stream.

    Attributes:
        port: which stream of FROM, from 0.
        value: over that stream's columns and the names of `estimates`.
        estimates: those it is made of, at least one.
        text: as typed.
    """

    port: int
    value: Expr
    estimates: tuple[Estimate, ...]
    text: str


@dataclass(frozen=True)
class Preference:
    """WITH PREFERENCE.

    Attributes:
        order: the answers of greatest value first, or of least; or a fair sample.
        items: what the value is; several about one stream are multiplied.
        fade: what a priority is multiplied by for each granularity further back.
        window: WINDOW, microseconds; None without.
    """

    order: PreferenceOrder
    items: tuple[PreferenceItem, ...]
    fade: float = 1.0
    window: int | None = None

    def __str__(self) -> str:
        fades = "" if self.fade == 1 else f" fade factor {self.fade:g}"
        return f"{self.order} {', '.join(i.text for i in self.items)}{fades}"

    @property
    def summaries(self) -> tuple[SummaryDef, ...]:
        """Those it estimates by, each once."""
        return tuple(dict.fromkeys(e.summary for i in self.items for e in i.estimates))


@dataclass(frozen=True, slots=True)
class Budget:
    """What a query may spend before more input is taken.

    Attributes:
        kind: `share` of one core, measured; `probes` for each row that comes.
        amount: up to 1 for a share.
    """

    kind: Literal["share", "probes"]
    amount: float

    def __str__(self) -> str:
        return f"{100 * self.amount:g}% of one core" if self.kind == "share" else f"{self.amount:g} probes/row"


_BUDGET: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(%|probes?\s*(?:/|per)\s*row)\s*", re.IGNORECASE)


def parse_budget(text: str) -> Budget:
    """`20%` or `500 probes/row`. Raises `QueryError` for anything else, and for more than there is."""
    match = _BUDGET.fullmatch(text)
    if match is None:
        raise QueryError(
            f"{text!r} is not a budget", hint="Write --budget 20%, of one core, or --budget '500 probes/row'."
        )
    amount, share = float(match[1]), match[2] == "%"
    if amount <= 0:
        raise QueryError("a budget must be more than 0", hint="Write --budget 20% or --budget '500 probes/row'.")
    if share and amount > 100:
        raise QueryError(
            f"a budget can't be more than 100% of one core, and this is {amount:g}%",
            hint="Write --budget 100%, or leave it out: everything is exact then.",
        )
    return Budget("share", amount / 100) if share else Budget("probes", amount)


def parse_weight(text: str) -> float:
    """A positive number. Raises `QueryError` for anything else."""
    try:
        weight = float(text)
    except ValueError:
        weight = 0.0
    if not 0 < weight <= 1_000_000:
        raise QueryError(f"{text!r} is not a weight", hint="Write --weight 2, for twice the share of other queries.")
    return weight


__all__ = ["Budget", "Estimate", "Preference", "PreferenceItem", "SummaryDef", "parse_budget", "parse_weight"]
