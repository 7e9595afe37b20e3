"""That rows are late because of one row, or one key, whose clock is ahead."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from jupyter_stream.core.counting import counted
from jupyter_stream.core.time import show
from jupyter_stream.engine.pipeline import Pipeline
from jupyter_stream.syntax.dialect import as_written

if TYPE_CHECKING:
    from jupyter_stream.engine.feed import Feed
    from jupyter_stream.engine.leaders import Leader
    from jupyter_stream.spark.run import SparkRun

_LEAST: Final = 5
"""Late rows that one other must have made late to be named."""
_SHARE: Final = 0.8
"""Of the late rows, how many it must be."""


def clock_ahead(run: Pipeline | SparkRun) -> str | None:
    """A sentence; None where no single row or key is the cause."""
    for feed in run.feeds:
        counts = Counter(dict(feed.ingest.leaders.late))
        told = None if not counts else _sentence(feed, counts)
        if told is not None:
            return told
    return None


def _sentence(feed: Feed, counts: Counter[Leader]) -> str | None:
    whole = counts.total()
    leader, most = counts.most_common(1)[0]
    column, value = _key(feed, leader)
    said = None if column is None else f"{column}={value!r}"
    if most < max(_LEAST, _SHARE * whole):
        if column is None:
            return None
        of_key = [(one, n) for one, n in counts.items() if dict(one.texts).get(column) == value]
        most = sum(n for _, n in of_key)
        if most < max(_LEAST, _SHARE * whole) or len(of_key) == len(counts) == 1:
            return None
        leader = min((one for one, _ in of_key), key=lambda one: one.time)
    sent = f"{said} sent" if said is not None else "one row has the time"
    when = str(leader.time) if _integers(feed) else show(leader.time)
    mend = "Keep it out"
    if column is not None and value is not None:
        text = value.replace("'", "''")
        mend += f": CREATE STREAM {as_written(feed.stream.name)} ... WHERE {as_written(column)} <> '{text}'"
    return f"{most} of {counted(whole, 'late row')}: since {sent} {when}. {mend}, or WITH (ahead = '5 minutes')."


def _key(feed: Feed, leader: Leader) -> tuple[str | None, str | None]:
    """The column that tells whose row it is: the first of texts, but for one that holds times."""
    for name, value in leader.texts:
        if value is not None and len(value) <= 40 and name != feed.stream.time.column:
            return name, value
    return None, None


def _integers(feed: Feed) -> bool:
    field = feed.stream.schema.find(feed.stream.time.column or "")
    return field is not None and field.dtype.is_integer()
