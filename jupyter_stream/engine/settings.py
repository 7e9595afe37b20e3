"""What of a running plan may be changed: one table, each setting with the nodes it is for.

These are the run-time controls of `stream-overview` §4.3. Operators read what they go by from their control tables, so that most
changes are a number written there. Not for how values are shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeAlias

from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.diagram import Attribute
from jupyter_stream.engine.feed import Feed
from jupyter_stream.engine.pipeline import Pipeline
from jupyter_stream.errors import QueryError
from jupyter_stream.graph.graph import Step
from jupyter_stream.plan.logical import BoundQuery
from jupyter_stream.plan.preference import Budget, parse_budget, parse_weight
from jupyter_stream.plan.promising import allowed
from jupyter_stream.schedulers import SCHEDULERS, Scheduler
from jupyter_stream.schedulers import scheduler as policy_named

Place: TypeAlias = Step | Feed


class Policies(Protocol):
    """What serves inputs by a policy: the engine."""

    @property
    def scheduler(self) -> str:
        """The policy's name."""

    def schedule(self, policy: Scheduler) -> None:
        """Another policy from now on."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Something that may be changed while a query runs.

    Attributes:
        name: what it goes by.
        help: what it is, and what may be written.
        now: its value at a place of a query's plan; None where there is nothing of the kind.
        read: what somebody wrote. Raises `QueryError` for a value that can't be.
        write: changes it to what was read, on the engine's thread.
    """

    name: str
    help: str
    now: Callable[[Policies, Pipeline, Place], Attribute | None]
    read: Callable[[str], Any]
    write: Callable[[Policies, Pipeline, Place, Any], None]


_UNITS: Final = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE)


def _count(name: str, what: str, example: str) -> Callable[[str], int]:
    def read(text: str) -> int:
        digits = text.replace(",", "").replace("_", "").strip()
        if not digits.isdecimal() or int(digits) < 1:
            raise QueryError(f"{name} is a number of {what}, not {text!r}", hint=f"Write for instance {example}.")
        return int(digits)

    return read


def _size(text: str) -> int:
    match = _SIZE.fullmatch(text.replace(",", "").replace("_", "").strip())
    unit = None if match is None else _UNITS.get(match[2].lower())
    if match is None or unit is None or float(match[1]) * unit < 1:
        raise QueryError(
            f"memory_limit is a size, not {text!r}", hint="Write for instance 64 MB, or a number of bytes."
        )
    return int(float(match[1]) * unit)


def _table(place: Place) -> ControlTable:
    return place.control if isinstance(place, Step) else place.queue


def _of_table(name: str) -> Callable[[Policies, Pipeline, Place], Attribute | None]:
    """A number that an operator reads from its control table."""
    return lambda _policies, _pipeline, place: _table(place).settings.get(name)


def _to_table(name: str) -> Callable[[Policies, Pipeline, Place, int], None]:
    def write(_policies: Policies, _pipeline: Pipeline, place: Place, value: int) -> None:
        _table(place).settings[name] = value

    return write


def _scheduler(policies: Policies, _pipeline: Pipeline, place: Place) -> str | None:
    return policies.scheduler if isinstance(place, Feed) else None


def _schedule(policies: Policies, _pipeline: Pipeline, _place: Place, policy: Scheduler) -> None:
    policies.schedule(policy)


def _most_rows(_policies: Policies, _pipeline: Pipeline, place: Place, rows: int) -> None:
    assert isinstance(place, Feed)
    place.hold(rows)


def _spends(pipeline: Pipeline, place: Place) -> bool:
    """Whether the query's budget is spent there."""
    return pipeline.spending is not None and pipeline.spending.step is place


def _budget(_policies: Policies, pipeline: Pipeline, place: Place) -> str | None:
    return str(pipeline.query.budget) if _spends(pipeline, place) else None


def _as_shown(text: str) -> Budget:
    return parse_budget(re.sub(r"\s+of one core\s*$", "", text))


def _allow(_policies: Policies, pipeline: Pipeline, _place: Place, budget: Budget) -> None:
    assert pipeline.spending is not None
    pipeline.spending.allow(budget)
    _shown_now(pipeline, replace(pipeline.query, budget=budget))


def _weight(_policies: Policies, pipeline: Pipeline, place: Place) -> float | None:
    return pipeline.query.weight if _spends(pipeline, place) else None


def _weigh(_policies: Policies, pipeline: Pipeline, _place: Place, weight: float) -> None:
    assert pipeline.spending is not None
    pipeline.spending.weigh(weight)
    _shown_now(pipeline, replace(pipeline.query, weight=weight))


def _shown_now(pipeline: Pipeline, query: BoundQuery) -> None:
    """Have EXPLAIN, and whoever compares queries, see what was changed."""
    before, after = allowed(pipeline.query), allowed(query)
    pipeline.graph.notes = tuple(after if note == before else note for note in pipeline.graph.notes)
    pipeline.query = query


SETTINGS: Final = (
    Setting(
        "most_rows",
        "how many rows may wait in its queue, such as 100000; when the queue is full, the source waits",
        _of_table("most_rows"),
        _count("most_rows", "rows", "100000"),
        _most_rows,
    ),
    Setting(
        "scheduler",
        f"who is served and works next, in all queries: {', '.join(s.name for s in SCHEDULERS)}",
        _scheduler,
        policy_named,
        _schedule,
    ),
    Setting(
        "budget",
        "how much work the query may do from now on: 20% of one core, or 500 probes/row",
        _budget,
        _as_shown,
        _allow,
    ),
    Setting(
        "weight",
        "its share of the processor, and of the time that is left, compared with other queries: 2 gives it twice as much",
        _weight,
        parse_weight,
        _weigh,
    ),
    Setting(
        "memory_limit",
        "bytes of what is put off for later, such as 64 MB; beyond that the oldest is dropped and missing from the answer",
        _of_table("memory_limit"),
        _size,
        _to_table("memory_limit"),
    ),
    Setting(
        "partitions",
        "how many partitions, by expiry, its rows are kept in, such as 20: with more, less is sorted and more is searched",
        _of_table("partitions"),
        _count("partitions", "expiry partitions", "20"),
        _to_table("partitions"),
    ),
)


def settings_of(policies: Policies, pipeline: Pipeline, place: Place) -> dict[str, tuple[Attribute, str]]:
    """What may be changed at a place of a plan: by name its value now, and what it is."""
    found = ((s, s.now(policies, pipeline, place)) for s in SETTINGS)
    return {s.name: (value, s.help) for s, value in found if value is not None}


def change(policies: Policies, pipeline: Pipeline, place: Place | None, name: str, value: object) -> Callable[[], None]:
    """What changes a setting at a place of a plan, for the engine's thread to do; None is a place without any.

    Raises:
        QueryError: it has no such setting, or the setting can't have that value.
    """
    known = {} if place is None else settings_of(policies, pipeline, place)
    setting = next((s for s in SETTINGS if s.name == name), None)
    if place is None or setting is None or name not in known:
        where = "this part of the plan" if place is None else place.control.name
        hint = f"It has {', '.join(known)}." if known else "Other parts of the plan have settings: click them."
        raise QueryError(f"{where} has no setting {name}", hint=hint)
    read = setting.read(str(value))
    return lambda: setting.write(policies, pipeline, place, read)


__all__ = ["SETTINGS", "Setting", "change", "settings_of"]
