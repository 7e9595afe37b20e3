"""Which partials several aggregates are kept as: those of one kind over one input are kept once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jupyter_stream.aggregates import Dense, FrameForm, Partial


@dataclass(frozen=True)
class Layout:
    """The partials that are numbers.

    Attributes:
        partials: what is kept; the first is the count of all rows.
        inputs: of each partial, by index, the column of its values and that of its FILTER condition; None without.
        own: of each aggregate its partials, by index; none where it is kept as frames.
    """

    partials: tuple[Partial, ...]
    inputs: tuple[tuple[int | None, int | None], ...]
    own: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, aggregates: Sequence[tuple[Dense | FrameForm, int | None, int | None]]) -> Layout:
        """For each aggregate its form, and by index the columns of its values and of its FILTER condition; None without."""
        known: dict[tuple[Partial, int | None, int | None], int] = {(Partial("count"), None, None): 0}
        own = []
        for form, argument, where in aggregates:
            partials = form.partials if isinstance(form, Dense) else ()
            own.append(tuple(known.setdefault((p, argument, where), len(known)) for p in partials))
        return cls(tuple(p for p, _, _ in known), tuple((a, w) for _, a, w in known), tuple(own))


__all__ = ["Layout"]
