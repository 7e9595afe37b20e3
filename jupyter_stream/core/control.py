"""Control tables: what an operator, queue or synopsis tells of itself while it runs, and what may be changed.

After STREAM's `stream-manager` paper §6: EXPLAIN, the plan view and the scheduler read these and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

from jupyter_stream.core.time import MIN_TIME


@dataclass(slots=True)
class ControlTable:
    """Live attributes of one operator, queue or synopsis.

    Attributes:
        name: what it is, as EXPLAIN shows it.
        rows_in: rows taken since the start.
        rows_out: rows given since the start.
        batches_in: batches taken since the start.
        bytes: state held now.
        peak_bytes: the most state ever held.
        low_watermark: the punctuation its output has reached, microseconds.
        nanoseconds: processor time spent in it.
        late_rows: rows that missed an answer here.
        failed_rows: rows an expression failed on here.
        extra: attributes only this kind has, such as `open_extents` or `live_groups`.
        settings: attributes that may be written while it runs.
    """

    name: str
    rows_in: int = 0
    rows_out: int = 0
    batches_in: int = 0
    bytes: int = 0
    peak_bytes: int = 0
    low_watermark: int = MIN_TIME
    nanoseconds: int = 0
    late_rows: int = 0
    failed_rows: int = 0
    extra: dict[str, int | float | str] = field(default_factory=dict)
    settings: dict[str, int | float | str] = field(default_factory=dict)

    def holds(self, count: int) -> None:
        """Say how many bytes of state are held now."""
        self.bytes = count
        self.peak_bytes = max(self.peak_bytes, count)

    def most(self, name: str, count: int) -> None:
        """Say how many there are now of which the greatest number is to be known."""
        known = self.extra.get(name, 0)
        assert not isinstance(known, str)
        self.extra[name] = max(known, count)

    def took(self, rows: int) -> None:
        """Say that a batch of so many rows came in."""
        self.rows_in += rows
        self.batches_in += 1

    def shared_by(self, queries: Sequence[str]) -> None:
        """Say which queries share it."""
        if len(queries) > 1:
            self.extra["shared_by"] = ", ".join(queries)
        else:
            self.extra.pop("shared_by", None)

    def as_dict(self) -> dict[str, int | float | str]:
        """Everything in one flat dictionary, for views."""
        flat = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("extra", "settings")}
        return {**flat, **self.extra, **self.settings}
