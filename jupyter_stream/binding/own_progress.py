"""CREATE STREAM ... AS SELECT ... WATERMARK FOR: rows made one by one from another stream's, which go by a time of their own.

It reads the same source, and its SELECT is done before its time is looked at. So what the other stream promised, and which of its
rows were late, is nothing to it.
"""

from __future__ import annotations

from jupyter_stream.binding.create import ahead_of, time_column
from jupyter_stream.functions.expression import columns
from jupyter_stream.plan.catalog import Kept, Step, StreamDef, TimeSpec, Watermark
from jupyter_stream.plan.logical import Plan
from jupyter_stream.plan.steps_of import steps_of
from jupyter_stream.syntax.syntax import CreateStreamAs


def own_progress(statement: CreateStreamAs, plan: Plan) -> StreamDef:
    """The stream.

    Args:
        statement: with a WATERMARK.
        plan: its SELECT.

    Raises:
        QueryError: its SELECT puts rows together, or the watermark names no time.
    """
    watermark, source = statement.watermark, statement.source
    assert watermark is not None
    if watermark.path is not None:
        name = source.slice(watermark.column.span)
        raise source.error(
            "the watermark of a derived stream names one of its columns", watermark.column.span,
            f"Select it: AS SELECT {name} AS {watermark.column.text}, ... WATERMARK FOR {watermark.column.text} AS ....",
        )  # fmt: skip
    if statement.order_by is not None and statement.order_by.text.lower() != watermark.column.text.lower():
        raise source.error(
            f"ORDER BY names {statement.order_by.text}, and WATERMARK FOR names {watermark.column.text}",
            watermark.column.span, "Write the same column in both, or only one of the two.",
        )  # fmt: skip
    stream, steps = _steps(statement, plan)
    field = time_column(watermark.column, plan.schema, source)
    ahead, of = ahead_of(stream.options, live=not stream.source.replayable)
    time = TimeSpec("external", field.name, Watermark(watermark.delay), ahead=ahead, ahead_of=of)
    return StreamDef(
        statement.name.text, plan.schema, time, stream.uri, stream.source, stream.options, statement.text, steps=steps
    )


def _steps(statement: CreateStreamAs, plan: Plan) -> tuple[StreamDef, tuple[Step, ...]]:
    """The stream that is read, and what becomes of its source's rows."""
    found, source = steps_of(plan), statement.source
    assert statement.watermark is not None
    if found is None:
        raise source.error(
            "a WATERMARK of its own needs a SELECT that makes each row from one row of a stream",
            statement.watermark.span,
            "Leave windows, aggregates and joins to a query that reads this stream; or leave the WATERMARK out: the time is then "
            "that of the SELECT.",
        )
    made = [e for s in found[1] for e in ((s.predicate,) if isinstance(s, Kept) else (v for _, v in s.items))]
    if any(c.startswith("$") for e in made for c in columns(e)):
        raise source.error(
            "times of arrival, row numbers and answers are not known yet when a row is read",
            statement.body.span,
            "A stream with a WATERMARK of its own is computed from columns of the other alone.",
        )
    return found
