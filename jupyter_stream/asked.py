"""How a query is to run, as whoever starts it says: engine, strategy, partitions, budget, weight, settings of Spark's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, cast

from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.plan.logical import Query
from jupyter_stream.plan.preference import Budget, parse_budget, parse_weight
from jupyter_stream.plan.strategy import STRATEGIES, Strategy
from jupyter_stream.plan.upkeep import PARTITIONS, UPKEEPS, Maintenance, Upkeep
from jupyter_stream.spark.settings import Settings, settings

ENGINES: Final = ("kernel", "spark")
"""Where queries can run."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for.

    Attributes:
        engine: where it runs.
        strategy: how windows with SLIDE are aggregated, or how the state of relations is kept; None for the planner's choice.
        partitions: expiry partitions that rows of relations are kept in.
        budget: what it may spend before more input is taken; None without.
        weight: its share of the time left, against other queries'.
        spark: settings of Spark's.
    """

    engine: str = "kernel"
    strategy: Strategy | Upkeep | None = None
    partitions: int = PARTITIONS
    budget: Budget | None = None
    weight: float = 1.0
    spark: Settings = field(default_factory=Settings)

    def of_query(self, query: Query) -> Query:
        """The query, to be run so."""
        query = replace(query, budget=self.budget, weight=self.weight)
        if self.strategy in UPKEEPS:
            return replace(query, maintenance=Maintenance(self.strategy, self.partitions))
        strategy = cast("Strategy | None", self.strategy)
        return replace(query, strategy=strategy, maintenance=Maintenance(partitions=self.partitions))


def asked(
    *,
    engine: str = "kernel",
    strategy: Strategy | Upkeep | None = None,
    partitions: int = PARTITIONS,
    master: str | None = None,
    conf: Mapping[str, str] | Sequence[str] = (),
    checkpoint: str | Path | None = None,
    trigger: str | None = None,
    budget: str | None = None,
    weight: float | str = 1.0,
) -> Asked:
    """What these words ask for; their meaning is that of `Session.run`.

    Raises:
        QueryError: a word that can't be one.
        UnsupportedError: what this engine has nothing for.
    """
    if engine not in ENGINES:
        raise QueryError(f"there is no engine {engine!r}", hint=f"Write {' or '.join(ENGINES)}.")
    known = (*STRATEGIES, *UPKEEPS)
    if strategy is not None and strategy not in known:
        raise QueryError(f"there is no strategy {strategy!r}", hint=f"Write {' or '.join(known)}.")
    if partitions < 1:
        raise QueryError("there has to be at least one partition", hint="Write partitions=10.")
    if strategy is not None and engine != "kernel":
        raise UnsupportedError(
            f"a strategy is the kernel's; {engine} has its own", hint="Leave the strategy out, or the engine."
        )
    if engine != "spark" and (master, tuple(conf), checkpoint, trigger) != (None, (), None, None):
        raise QueryError("--master, --conf, --checkpoint and --trigger are Spark's", hint="Add --engine spark.")
    allowed, share = None if budget is None else parse_budget(budget), parse_weight(str(weight))
    if engine != "kernel" and (allowed is not None or share != 1):
        raise UnsupportedError(
            "budgets and weights are the kernel's; Spark schedules its jobs itself",
            hint="Leave --budget and --weight out.",
        )
    return Asked(engine, strategy, partitions, allowed, share, settings(master, conf, checkpoint, trigger))


def what_is_asked(query: Query) -> tuple[object, ...]:
    """What makes a query the same as another."""
    return query.text.strip(), query.strategy, query.maintenance, query.preference, query.budget, query.weight


__all__ = ["ENGINES", "Asked", "asked", "what_is_asked"]
