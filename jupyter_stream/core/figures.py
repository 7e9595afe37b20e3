"""What a session tells of itself as rows: the columns of `system://queries`, `operators`, `queues` and `synopses`.

After `stream-manager` §6.1: control tables are read in the system's own language. Not for taking the figures, which the session
does (`session/figures.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import polars as pl

Columns: TypeAlias = tuple[tuple[str, pl.DataType, str | None], ...]
"""Name, type and unit (None without) of each."""
Row: TypeAlias = tuple[Any, ...]
Sampler: TypeAlias = Callable[[], list[Row]]
"""Rows without their time, of what happened since the call before."""
Figures: TypeAlias = Callable[[str], Sampler]
"""Gives a sampler of one of `FIGURES`, by its name."""

_STRING, _DOUBLE, _BIGINT = pl.String(), pl.Float64(), pl.Int64()
_QUERY: Final = (("query", _STRING, None),)
_COUNTS: Final = (("rows_in", _BIGINT, "rows"), ("rows_out", _BIGINT, "rows"))
_RATES: Final = (("rows_per_second", _DOUBLE, "rows/s"), ("busy", _DOUBLE, "%"))
_BYTES: Final = (("bytes", _BIGINT, "bytes"), ("peak_bytes", _BIGINT, "bytes"))
_WATERMARK: Final = (("low_watermark", _BIGINT, None),)
_ATTRIBUTES: Final = (("attributes", _STRING, None),)

FIGURES: Final[dict[str, Columns]] = {
    "queries": (
        *_QUERY,
        ("engine", _STRING, None),
        ("state", _STRING, None),
        *_COUNTS,
        ("late", _BIGINT, "rows"),
        ("bad", _BIGINT, "rows"),
        *_RATES,
        ("state_bytes", _BIGINT, "bytes"),
        ("answer_bytes", _BIGINT, "bytes"),
        *_WATERMARK,
        ("lag", _DOUBLE, "s"),
        ("error", _STRING, None),
    ),
    "operators": (
        *_QUERY,
        ("place", _BIGINT, None),
        ("operator", _STRING, None),
        ("shared_by", _STRING, None),
        *_COUNTS,
        ("batches_in", _BIGINT, None),
        *_RATES,
        *_BYTES,
        *_WATERMARK,
        ("late_rows", _BIGINT, "rows"),
        ("failed_rows", _BIGINT, "rows"),
        *_ATTRIBUTES,
    ),
    "queues": (
        *_QUERY,
        ("queue", _STRING, None),
        ("shared_by", _STRING, None),
        ("waiting", _BIGINT, "rows"),
        ("rows_in", _BIGINT, "rows"),
        ("rows_per_second", _DOUBLE, "rows/s"),
        *_BYTES,
        *_ATTRIBUTES,
    ),
    "synopses": (
        *_QUERY,
        ("operator", _STRING, None),
        ("synopsis", _STRING, None),
        *_COUNTS,
        *_BYTES,
        *_ATTRIBUTES,
    ),
}
"""What can be looked at, by the name after `system://`."""

MEANINGS: Final = {
    "query": "the query's name; of what queries share, the first one's",
    "engine": "`kernel` or `spark`",
    "state": "`waiting`, `running`, `paused`, `inactive`, `finished`, `stopped` or `failed`",
    "place": "0 for a source, from 1 on for operators, as EXPLAIN numbers them from the source upwards",
    "operator": "what it does, as EXPLAIN says it",
    "synopsis": "what it remembers, such as panes or key slots",
    "queue": "whose queue it is",
    "shared_by": "the queries that share it; NULL for one",
    "rows_in": "rows taken since its start",
    "rows_out": "rows given since its start",
    "late": "rows that missed an answer",
    "bad": "rows that could not be read or computed",
    "batches_in": "batches taken since its start",
    "rows_per_second": "rows taken per second since the last look",
    "busy": "processor time since the last look, in percent of one core",
    "waiting": "rows that wait in it now",
    "state_bytes": "what its operators hold now",
    "answer_bytes": "what is kept of its answers",
    "bytes": "what it holds now",
    "peak_bytes": "the most it ever held",
    "low_watermark": "the time (microseconds since 1970) before which no row comes any more; NULL before any and at the end",
    "lag": "seconds between its newest row and its watermark",
    "late_rows": "rows that missed an answer there",
    "failed_rows": "rows an expression failed on there",
    "attributes": "what only this kind has, and its settings, as JSON: `get_json_object(attributes, '$.live_groups')`",
    "error": "why it failed",
}
"""What each column says."""
