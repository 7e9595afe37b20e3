"""The case of a drawn call: its value here and in Spark. Batches of them, since Spark answers hundreds as soon as one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from tests.differential.calls import NOT_IN_SPARK, Drawn, call, drawable
from tests.differential.draw import Draw
from tests.differential.known import known
from tests.differential.spark_values import Here, Refused, RowError, There, ours
from tests.functions.test_same_as_spark import LAST_BIT

AT_ONCE = 60


@dataclass(frozen=True)
class Judged:
    """A drawn call and what came of it: `refused` here, `unknown` to Spark (or known to differ), or `found`, how they differ."""

    name: str
    drawn: Drawn
    refused: str = ""
    unknown: str = ""
    found: str = ""

    @property
    def text(self) -> str:
        """The query."""
        return ours(self.drawn)


def judged(name: str, drawn: Drawn, here: object, there: object) -> Judged:
    """Both values compared."""
    if isinstance(there, Refused):
        return Judged(name, drawn, unknown=str(there))
    if isinstance(here, RowError) and isinstance(there, RowError) and "THE QUERY FAILS" not in here.reason:
        return Judged(name, drawn)
    if same(here, there, name in LAST_BIT):
        return Judged(name, drawn)
    if why := known(name, drawn, here, there):
        return Judged(name, drawn, unknown=f"known: {why}")
    return Judged(name, drawn, found=f"here {here!r}, in Spark {there!r}")


def same(here: object, there: object, loose: bool) -> bool:
    """Whether two values are the same; `loose` but for the last bits of a floating point number."""
    if isinstance(there, Decimal) and not isinstance(here, Decimal):
        there = float(there)
    if isinstance(here, list | tuple) and isinstance(there, list | tuple):
        return len(here) == len(there) and all(same(a, b, loose) for a, b in zip(here, there, strict=True))
    if isinstance(here, bool) != isinstance(there, bool):
        return False
    if isinstance(here, int | float) and isinstance(there, int | float):
        if math.isnan(here) or math.isnan(there):
            return math.isnan(here) and math.isnan(there)
        return here == there or (loose and math.isclose(here, there, rel_tol=1e-12, abs_tol=1e-300))
    return type(here) is type(there) and here == there


def batches(here: Here, there: There, draws: Sequence[tuple[str, Draw]], failing: int = AT_ONCE) -> Iterator[Judged]:
    """What comes of each draw: the function's name, and the choices.

    Of the calls of a batch that fail here Spark is asked about `failing` at most, since each takes it a query of its own.
    """
    for start in range(0, len(draws), AT_ONCE):
        refused, asked = [], []
        for name, draw in draws[start : start + AT_ONCE]:
            drawn = call(draw, name)
            try:
                value, dtype = here.value(drawn)
            except Refused as error:
                refused.append(Judged(name, drawn, refused=str(error)))
            else:
                asked.append((name, drawn, value, dtype))
        yield from refused
        fine = [a for a in asked if not isinstance(a[2], RowError)]
        wrong = [a for a in asked if isinstance(a[2], RowError)][:failing]
        theirs = there.values([(d, x) for _, d, _, x in fine])
        theirs += [there.values([(d, x)])[0] for _, d, _, x in wrong]
        for (name, drawn, value, _), other in zip([*fine, *wrong], theirs, strict=True):
            yield judged(name, drawn, value, other)


def draws(seed: int | str, each: int) -> list[tuple[str, Draw]]:
    """So many draws of every function that Spark has."""
    return [(name, Draw(f"{seed} {name} {i}")) for name in drawable() if name not in NOT_IN_SPARK for i in range(each)]
