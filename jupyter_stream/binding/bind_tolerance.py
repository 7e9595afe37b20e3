"""WITH TOLERANCE and APPROXIMATE, from what is written to what the plan is to do under load (stream-manager paper §5)."""

from __future__ import annotations

from dataclasses import replace

from jupyter_stream.errors import UnsupportedError
from jupyter_stream.plan.logical import BoundQuery, streams, walk
from jupyter_stream.plan.sampling import unshed
from jupyter_stream.plan.shedding import shedding
from jupyter_stream.plan.tolerance import Room, Tolerance
from jupyter_stream.plan.weighed import PRECISION
from jupyter_stream.syntax.query_syntax import TargetClause, ToleranceClause, TolerancePart
from jupyter_stream.syntax.syntax import Select


def bind_tolerance(query: BoundQuery, statement: Select) -> BoundQuery:
    """The query with what it may give up, and what it is to fit into.

    Raises:
        QueryError: a part of the tolerance that this query can't give up, with the reason.
        UnsupportedError: it doesn't go together with another clause.
    """
    clause, target = statement.tolerance, statement.target
    if clause is None and target is None:
        return query
    place = statement.body.span if clause is None else clause.span
    source = statement.source
    if statement.preference is not None:
        raise source.error(
            "an approximation doesn't go together with WITH PREFERENCE",
            statement.preference.span,
            "Leave one of the two out: a preference says what comes first, and all of it comes when time allows.",
            UnsupportedError,
        )
    if query.plan.schema.find(PRECISION) is not None:
        raise source.error(
            f"approximate answers have a column {PRECISION}, and this query already has one",
            place,
            "Give it another name with AS.",
        )
    if all(stream.table is not None for stream in streams(query.plan)):
        raise source.error(
            "there is no stream here that could be too much",
            place,
            "Leave it out: tables and views are read whole.",
        )
    if clause is not None:
        _check(query, statement, clause, static=target is not None)
        query = replace(query, tolerance=_tolerance(clause))
    if target is not None:
        return replace(query, target=bind_target(target))
    return shedding(query)


def bind_target(clause: TargetClause) -> Room:
    """What an APPROXIMATE is to fit into."""
    return Room(clause.kind, clause.amount)


def _tolerance(clause: ToleranceClause) -> Tolerance:
    sample, error = (None if part is None else part.value / 100 for part in (clause.sample, clause.error))
    return Tolerance(None if clause.window is None else int(clause.window.value), sample, error)


def _check(query: BoundQuery, statement: Select, clause: ToleranceClause, static: bool) -> None:
    """Raise for what can't be given up."""
    part = clause.sample or clause.error
    source, reason = statement.source, unshed(query.plan)
    if part is None or static:
        return
    if reason is not None:
        word = "SAMPLE" if part is clause.sample else "ERROR"
        raise source.error(
            f"no rows of this query can be left out: {reason}",
            part.span,
            f"Leave {word} out: without it the query is exact, or held back.",
        )
    if query.emit.mode != "final":
        assert statement.emit is not None
        raise source.error(
            "EMIT isn't available for answers that may be approximate",
            statement.emit.span,
            "Leave EMIT out, or the tolerance.",
            UnsupportedError,
        )
    if clause.error is not None:
        _check_error(query, statement, clause.error)


def _check_error(query: BoundQuery, statement: Select, part: TolerancePart) -> None:
    nodes = list(walk(query.plan))
    unscaled = [name for node in nodes for name in node.unscaled]
    if unscaled or not any(node.holds == "groups" for node in nodes):
        what = (
            f"nothing says how far {unscaled[0]} is off" if unscaled else "rows are left out or not, and have no error"
        )
        raise statement.source.error(
            f"ERROR needs count, sum and avg only: {what}", part.span, "Write SAMPLE AT LEAST 20 instead."
        )


__all__ = ["bind_target", "bind_tolerance"]
