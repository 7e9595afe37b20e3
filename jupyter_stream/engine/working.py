"""By what policy a query's operators take turns, for people: its own operators, and those of each part it shares with others.

Not for taking turns (`circuit`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jupyter_stream.engine.circuit import Circuit
from jupyter_stream.engine.queues import StepQueues
from jupyter_stream.engine.shared import SharedPart
from jupyter_stream.schedulers import FirstCome


@dataclass(frozen=True, slots=True)
class Working:
    """Operators that take turns among themselves.

    Attributes:
        policy: what they go by.
        straight: whether each message goes through all of them under any policy.
        circuit: what hands messages from one to the next.
        part: the part shared with other queries that they are; None for a query's own.
    """

    policy: str
    straight: bool
    circuit: Circuit
    part: SharedPart | None = None

    @classmethod
    def of(cls, part: SharedPart) -> Working:
        """Those of a part that queries share."""
        return cls(part.policy, part.straight, part.circuit, part)

    @property
    def operators(self) -> list[StepQueues]:
        """Those that have queues. Some that were a query's own may be a part's by now."""
        return [o for o in self.circuit.queues.operators if o.step.part is self.part]

    @property
    def title(self) -> str:
        """The policy, and whether it has no say."""
        straight = self.straight and self.circuit.order is None and self.policy != FirstCome.name
        return self.policy + (", each message straight through" if straight else "")

    @property
    def notes(self) -> list[str]:
        """What the policy goes by, as it was measured: with Chain, the envelopes."""
        order = self.circuit.order
        return [] if order is None else order.notes(self.operators)


def in_words(name: str, policy: str, working: Sequence[Working]) -> str:
    """The policies of a query's operators in a few words.

    Args:
        name: the query's name.
        policy: its own policy.
        working: its operators.
    """
    titles: dict[str, None] = {}
    for each in working:
        if each.part is None or each.policy == policy:
            titles[each.title] = None
            continue
        others = ", ".join(n for n in each.part.names if n != name)
        titles[f"{each.title} for operators shared with {others}"] = None
    return "; ".join(titles)


__all__ = ["Working", "in_words"]
