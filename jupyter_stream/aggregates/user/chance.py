"""`rand()` in a body: a sequence of numbers that is the same in every run and on both engines."""

from __future__ import annotations

from typing import Any

from jupyter_stream.aggregates.user.body import Chance
from jupyter_stream.functions.hashing import unit
from jupyter_stream.functions.scalar import Env, Scalar


def next_of(chance: Chance) -> Scalar:
    """The next number of the sequence: it begins where the state's salt says, or anew with the state where it has none."""
    number, seed = chance.table, chance.seed

    def run(env: Env) -> Any:
        held = env[0][number]
        count, salt = held[0] if held else (-1, None)
        held[:] = [(count + 1, salt)]
        return unit(str(count + 1) if salt is None else f"{count + 1} {salt}", seed)

    return run


__all__ = ["next_of"]
