"""`rand()` in a body: a sequence of its own for each group, the same in every run and on both engines."""

from __future__ import annotations

from typing import Any

from jupyter_stream.aggregates.user.body import Chance
from jupyter_stream.functions.hashing import unit
from jupyter_stream.functions.scalar import Env, Scalar


def next_of(chance: Chance) -> Scalar:
    """The next number of the sequence, which begins anew with the group's state."""
    number, seed = chance.table, chance.seed

    def run(env: Env) -> Any:
        held = env[0][number]
        count = held[0][0] + 1 if held else 0
        held[:] = [(count,)]
        return unit(str(count), seed)

    return run


__all__ = ["next_of"]
