"""Progress of an external stream, row by row: the punctuation that holds just before each row comes.

None stands for minus infinity. Rows are in arrival order; rows whose time is NULL go to `errors(name)` and say nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.oracle.values import Row, same_key


@dataclass(frozen=True)
class InOrder:
    """Nothing said, or `WATERMARK FOR ts AS ts`: punctuation `max(ts)`."""

    declared: bool = False


@dataclass(frozen=True)
class Watermark:
    """`WATERMARK FOR ts AS ts - INTERVAL delay`: punctuation `max(ts) - delay`, microseconds."""

    delay: int


@dataclass(frozen=True)
class Slack:
    """`WITH (slack = 'n rows')`: at most n of the rows that came before a row are newer than it."""

    rows: int


@dataclass(frozen=True)
class Apart:
    """`CONSTRAINT ORDERED (ts) WITHIN n ROWS`: rows more than n rows apart are in order."""

    rows: int


@dataclass(frozen=True)
class PunctuationColumn:
    """`WITH (punctuation = 'col')`: a row with a value there is no data but a punctuation."""

    column: str


@dataclass(frozen=True)
class KeyedPunctuation(PunctuationColumn):
    """The same, for the rows of one key only; without a key, for all."""

    key: str


Progress = InOrder | Watermark | Slack | Apart | PunctuationColumn


@dataclass(frozen=True)
class Clusters:
    """`CONSTRAINT CLUSTERED (column) WITHIN n ROWS`, and how long past the newest time queries keep a value (None: for ever)."""

    column: str
    rows: int
    horizon: int | None

    def judge(self, arrived: list[Arrived]) -> list[Arrived]:
        """The rows, with what was promised of their value when it was over before they came."""
        found: list[Arrived] = []
        values: dict[
            object, tuple[int, int | None]
        ] = {}  # the number of the last row; the promise it broke if it broke one
        for r in arrived:
            value = same_key(r.row[self.column])
            last, promise = values.get(value, (None, None))
            if r.row[self.column] is None:
                found.append(r)
                continue
            if last is not None and r.number - last - 1 > self.rows:
                newest = max(a.ts for a in arrived if a.number <= last + self.rows + 1)
                promise = 2**62 if self.horizon is None else newest + self.horizon
                if r.before is not None and r.before >= promise:
                    promise = None  # forgotten
            values[value] = (r.number, promise)
            if promise is not None:
                before = promise if r.before is None else max(r.before, promise)
                r = replace(r, before=before, before_all=r.before, broke=True)
            found.append(r)
        return found


@dataclass(frozen=True)
class Arrived:
    """A row of data.

    Attributes:
        row: its columns.
        ts: its time.
        number: its place in arrival order, among all rows that came.
        before: the punctuation when it came.
        before_all: the one that speaks for all keys.
    """

    row: Row
    ts: int
    number: int
    before: int | None
    before_all: int | None = None
    broke: bool = False
    """Whether its value was over when it came."""

    @property
    def late(self) -> bool:
        """Whether it broke the punctuation."""
        return self.before is not None and self.ts < self.before


def after_these(seen: list[int], said: list[int], rule: Progress) -> int | None:
    """The punctuation after rows with the times `seen` came, and the punctuations `said`."""
    if isinstance(rule, InOrder):
        return max(seen, default=None)
    if isinstance(rule, Watermark):
        return max(seen) - rule.delay if seen else None
    if isinstance(rule, Slack):
        newest_first = sorted(seen, reverse=True)
        return newest_first[rule.rows] if len(newest_first) > rule.rows else None
    if isinstance(rule, Apart):
        return max(seen[: max(0, len(seen) - rule.rows)], default=None)
    return max(said, default=None)


def judge(rows: list[Row], time: str, rule: Progress) -> list[Arrived]:
    """The rows of data among `rows`, each with the punctuation before it."""
    arrived: list[Arrived] = []
    seen: list[int] = []
    said: list[int] = []
    of_key: dict[object, list[int]] = {}
    for number, row in enumerate(rows, start=1):
        if isinstance(rule, KeyedPunctuation) and row[rule.column] is not None and row[rule.key] is not None:
            of_key.setdefault(same_key(row[rule.key]), []).append(row[rule.column])  # type: ignore[arg-type]
            continue
        if isinstance(rule, PunctuationColumn) and row[rule.column] is not None:
            said.append(row[rule.column])  # type: ignore[arg-type]
            continue
        ts = row[time]
        if ts is None:
            continue
        assert isinstance(ts, int)
        own = of_key.get(same_key(row[rule.key]), []) if isinstance(rule, KeyedPunctuation) else []
        arrived.append(Arrived(row, ts, number, after_these(seen, [*said, *own], rule), after_these(seen, said, rule)))
        seen.append(ts)
    return arrived
