"""How a query is to run, as whoever starts it says: engine, strategy, partitions, budget, weight, settings of Spark's."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypedDict, cast

from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.functions import Call, OwnName
from jupyter_stream.functions.expression import walk as parts_of
from jupyter_stream.plan.logical import BoundQuery, walk
from jupyter_stream.plan.preference import Budget, parse_budget, parse_weight
from jupyter_stream.plan.strategy import STRATEGIES, Strategy
from jupyter_stream.plan.upkeep import PARTITIONS, UPKEEPS, Maintenance, Upkeep
from jupyter_stream.session.checkpoints import Checkpoints
from jupyter_stream.spark.record import writer_of
from jupyter_stream.spark.settings import Settings, settings

ENGINES: Final = ("kernel", "spark")
"""Where queries can run."""


class RunWords(TypedDict, total=False):
    """How queries are to run, in the words of whoever starts them.

    Attributes:
        engine: where queries run: `kernel` or `spark`.
        strategy: how windows with SLIDE are aggregated in the kernel: `wid`, `paned-wid`, `adapt-wid`, `rows`; or how the
            state of relations is kept: `upa`, `direct`, `nt`; None leaves it to the planner.
        partitions: expiry partitions that rows of relations are kept in.
        master: on Spark: where it runs, such as `local[2]`; give it with the first query on Spark.
        conf: on Spark: settings of Spark's, a mapping or `key=value` words.
        checkpoint: a folder the query goes on from when it is started again; of several queries, the others have folders in it.
        checkpoint_every: in the kernel: the time between two cuts, such as `5 seconds`; 10 seconds by default.
        checkpoint_reset: in the kernel: begin anew, whatever the folder has.
        trigger: on Spark: the time between micro-batches, such as `5 seconds`.
        budget: in the kernel: how much work a query may do, such as `20%` of a core or `500 probes/row`; answers are then
            estimates at first. None for no limit: answers are exact.
        weight: in the kernel: its share of the processor, and with a budget of the time left, against other queries'.
    """

    engine: str
    strategy: Strategy | Upkeep | None
    partitions: int
    master: str | None
    conf: Mapping[str, str] | Sequence[str]
    checkpoint: str | Path | None
    checkpoint_every: str | None
    checkpoint_reset: bool
    trigger: str | None
    budget: str | None
    weight: float | str


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What was asked for.

    Attributes:
        engine: where it runs.
        strategy: how windows with SLIDE are aggregated, or how the state of relations is kept; None for the planner's choice.
        partitions: expiry partitions that rows of relations are kept in.
        budget: what it may spend before more input is taken; None without.
        weight: its share of the processor, and with a budget of the time left, against other queries'.
        spark: settings of Spark's.
        numbers: of the queries of a text.
        checkpoints: in the kernel: where its queries go on from; None without.
    """

    engine: str = "kernel"
    strategy: Strategy | Upkeep | None = None
    partitions: int = PARTITIONS
    budget: Budget | None = None
    weight: float = 1.0
    spark: Settings = field(default_factory=Settings)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    checkpoints: Checkpoints | None = None

    def of_next(self) -> RunOptions:
        """Those of the next query of a text: on Spark the first has the checkpoint's folder, the others folders in it."""
        if self.spark.checkpoint is None:
            return self
        number = next(self.numbers)
        path = self.spark.checkpoint if number == 1 else self.spark.checkpoint / str(number)
        return replace(self, spark=replace(self.spark, checkpoint=path))

    @property
    def writer(self) -> str | None:
        """What sinks know the query's writer by, where it has a checkpoint on Spark."""
        return None if self.spark.checkpoint is None else writer_of(self.spark.checkpoint)

    def of_query(self, query: BoundQuery) -> BoundQuery:
        """The query, to be run so."""
        if self.budget is not None and (query.tolerance or query.target) is not None:
            raise QueryError(
                "--budget doesn't go together with a tolerance: each says what is to be done when there isn't time for all",
                hint="Leave one of the two out.",
            )
        query = replace(query, budget=self.budget, weight=self.weight)
        if self.strategy in UPKEEPS:
            return replace(query, maintenance=Maintenance(self.strategy, self.partitions))
        strategy = cast("Strategy | None", self.strategy)
        return replace(query, strategy=strategy, maintenance=Maintenance(partitions=self.partitions))


def run_options(
    *,
    engine: str = "kernel",
    strategy: Strategy | Upkeep | None = None,
    partitions: int = PARTITIONS,
    master: str | None = None,
    conf: Mapping[str, str] | Sequence[str] = (),
    checkpoint: str | Path | None = None,
    checkpoint_every: str | None = None,
    checkpoint_reset: bool = False,
    trigger: str | None = None,
    budget: str | None = None,
    weight: float | str = 1.0,
) -> RunOptions:
    """What these words ask for; their meaning is that of `RunWords`.

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
            f"a strategy can be chosen in the kernel only, not on {engine}",
            hint="Leave the strategy out, or the engine.",
        )
    if engine != "spark" and (master, tuple(conf), trigger) != (None, (), None):
        raise QueryError("--master, --conf and --trigger need Spark", hint="Add --engine spark.")
    checkpoints = _checkpoints(engine, checkpoint, checkpoint_every, checkpoint_reset)
    on_spark = checkpoint if engine == "spark" else None
    allowed, share = None if budget is None else parse_budget(budget), parse_weight(str(weight))
    if engine != "kernel" and (allowed is not None or share != 1):
        raise UnsupportedError(
            "budgets and weights work in the kernel only, not on Spark",
            hint="Leave --budget and --weight out.",
        )
    spark = settings(master, conf, on_spark, trigger)
    return RunOptions(engine, strategy, partitions, allowed, share, spark, checkpoints=checkpoints)


def _checkpoints(engine: str, path: str | Path | None, every: str | None, reset: bool) -> Checkpoints | None:
    if engine == "spark":
        if every is not None or reset:
            raise QueryError(
                "--checkpoint-every and --checkpoint-reset are for queries in the kernel",
                hint="On Spark a cut is taken with each micro-batch; delete the folder to begin anew.",
            )
        return None
    if path is None and (every is not None or reset):
        raise QueryError("--checkpoint-every and --checkpoint-reset need a checkpoint", hint="Add --checkpoint DIR.")
    return None if path is None else Checkpoints(path, every, reset)


def query_identity(query: BoundQuery) -> tuple[object, ...]:
    """What makes a query the same as another: its words, and the functions of Python's that they meant."""
    parts = (part for node in walk(query.plan) for expr in node.expressions for part in parts_of(expr))
    called = frozenset(p.function for p in parts if isinstance(p, Call) and isinstance(p.function, OwnName))
    how = query.strategy, query.maintenance, query.preference, query.budget, query.weight, query.tolerance, query.target
    return query.text.strip(), called, how, query.changed


__all__ = ["ENGINES", "RunOptions", "RunWords", "query_identity", "run_options"]
