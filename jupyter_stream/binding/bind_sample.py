"""SAMPLE(p) in FROM: some of a stream's rows, before any window on them."""

from __future__ import annotations

import zlib
from dataclasses import replace

from jupyter_stream.plan.logical import (
    Derived,
    Filter,
    Lookup,
    Plan,
    Project,
    Sample,
    Scan,
    Union,
    streams,
    under,
    walk,
)
from jupyter_stream.plan.relations import is_relation
from jupyter_stream.syntax.query_syntax import SampleClause
from jupyter_stream.syntax.source_text import SourceText, Span


def sampled(plan: Plan, clause: SampleClause, source: SourceText) -> Plan:
    """The rows that are kept.

    Raises:
        QueryError: there is no stream to sample, or its seed is no number.
    """
    if is_relation(plan) or any(stream.table is not None for stream in streams(plan)):
        raise source.error(
            "SAMPLE needs a stream",
            clause.span,
            "Put SAMPLE after the stream: FROM (SELECT ... FROM stream SAMPLE(10) ...).",
        )
    return _sampled(plan, clause.percent, source, clause.span)


def _sampled(plan: Plan, percent: float, source: SourceText, span: Span) -> Plan:
    if isinstance(plan, Union):  # each part by itself: their rows have numbers of their own
        return replace(plan, parts=tuple(_sampled(part, percent, source, span) for part in plan.parts))
    numbered = isinstance(under(plan, Filter, Project, Derived, Lookup, Sample), Scan)
    # what was sampled before is sampled anew, and so are other streams
    before = sum(isinstance(node, Sample) for node in walk(plan))
    names = "/".join([*(stream.name for stream in streams(plan)), str(before)])
    return Sample(plan, percent, _seed(plan, source, span) + zlib.crc32(names.encode()), numbered, plan.schema)


def _seed(plan: Plan, source: SourceText, span: Span) -> int:
    for stream in streams(plan):
        text = next((v for k, v in stream.options.items() if k.lower() == "seed"), None)
        if text is None:
            continue
        try:
            return int(text) << 32
        except ValueError:
            raise source.error(
                f"the seed of {stream.name} must be a whole number, not {text}", span, "Write WITH (seed = '1')."
            ) from None
    return 0


__all__ = ["sampled"]
