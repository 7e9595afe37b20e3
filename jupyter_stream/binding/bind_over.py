"""`agg(x) OVER (...)` in a select list: which aggregates over which windows, one plan node for each window."""

from __future__ import annotations

from dataclasses import replace

from jupyter_stream.binding.bind_aggregate import Grouping, InputNames
from jupyter_stream.binding.bind_expression import ExpressionBinder
from jupyter_stream.binding.bind_lag import LAG, bind_lag
from jupyter_stream.binding.bind_user_call import over_plan
from jupyter_stream.binding.bind_window import WindowContext, bind_partition
from jupyter_stream.binding.event_time import need_a_time
from jupyter_stream.binding.scope import Scope
from jupyter_stream.binding.window_functions import misplaced
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.functions import Expr
from jupyter_stream.plan.logical import Plan
from jupyter_stream.syntax.nodes import FunctionCall, Node, walk
from jupyter_stream.syntax.query_syntax import WindowClause
from jupyter_stream.syntax.source_text import SourceText
from jupyter_stream.windows import OverWindow


def over_calls(nodes: list[Node]) -> list[FunctionCall]:
    """The calls with OVER behind them, in the order written."""
    return [
        part
        for node in nodes
        for part in walk(node)
        if isinstance(part, FunctionCall) and part.window is not None and part.window.over
    ]


class OverNames(InputNames):
    """Names of a select list with OVER in it: columns of FROM, and the columns of the aggregates.

    Args:
        scope: what FROM gives.
        source: the cell.
        clause: where the expression stands, for errors.
        aliases: as of `InputNames`.
    """

    def __init__(self, scope: Scope, source: SourceText, clause: str, aliases: dict[str, Expr]) -> None:
        super().__init__(scope, source, clause, aliases)
        self._groups: dict[OverWindow, Grouping] = {}

    def aggregate(self, call: FunctionCall) -> Expr:
        """The column of an aggregate's answer.

        Raises:
            QueryError: its window is wrong, or doesn't go with the others.
        """
        if call.window is None or not call.window.over:
            return super().aggregate(call)
        if call.name.text.lower() == LAG:
            default = ExpressionBinder(self.source, self).bind
            return bind_lag(call, call.window, self.source, self.aggregate, default)
        said = misplaced(call, self.source)
        if said is not None:
            raise said
        window = bind_over(call.window, self.scope, self.source)
        thinning = next((w for w in self._groups if w != window and (_thins(w) or _thins(window))), None)
        if thinning is not None:
            raise self.source.error(
                "with SLIDE or ACTIVE EXPIRATION all windows of a query must be the same",
                call.window.span,
                "Write the same OVER (...) behind each aggregate, or one query for each.",
            )
        grouping = self._groups.get(window)
        if grouping is None:
            grouping = Grouping(self.scope, self.source, f"$over{len(self._groups)}_")
            grouping.window = window
            self._groups[window] = grouping
        return grouping.aggregate(replace(call, window=None))

    @property
    def has_windows(self) -> bool:
        """Whether anything is over a window of its own."""
        return bool(self._groups)

    def plan(self, below: Plan) -> Plan:
        """The rows of FROM with a column for each aggregate."""
        for window, grouping in self._groups.items():
            below = over_plan(below, window, grouping)
        return below


def bind_over(clause: WindowClause, scope: Scope, source: SourceText) -> OverWindow:
    """The window of an OVER clause.

    Raises:
        QueryError: an unknown column, a column of time the rows don't progress on, a window in FROM as well.
        UnsupportedError: a form that isn't available.
    """
    if scope.window is not None and not scope.window.keeps_all:
        raise source.error(
            "a query can't have a window in FROM and OVER", clause.span, "Remove the window after the stream."
        )
    if clause.on is not None and clause.on.text.lower() not in _own_time(scope):
        raise source.error(
            f"OVER can only be ordered by the time column of the stream, not by {clause.on.text}",
            clause.on.span,
            None if scope.time.column is None else f"Write ORDER BY {scope.time.column}, or leave it out.",
            UnsupportedError,
        )
    if clause.session is not None or clause.landmark:
        raise source.error(
            "OVER takes ROWS or RANGE only, not SESSION or ALL",
            clause.span,
            "Write OVER (RANGE 10 MINUTES PRECEDING) or OVER (RANGE UNBOUNDED PRECEDING); a session goes into FROM: "
            "[SESSION 30 MINUTES].",
        )
    need_a_time(scope, clause.span, source)
    partition = tuple(expr for _, expr in bind_partition(WindowContext(clause, scope, source)))
    rows = clause.range.value if clause.range is not None and clause.range.kind == "rows" else None
    length = clause.range.value if clause.range is not None and clause.range.kind == "time" else None
    if clause.now:
        length = 0
    if clause.active_expiration and length is None:
        raise source.error(
            "ACTIVE EXPIRATION needs a length of time",
            clause.span,
            "Write OVER (RANGE 5 MINUTES PRECEDING ACTIVE EXPIRATION).",
        )
    slide = clause.slide
    if clause.active_expiration and slide is not None:
        raise source.error("a window can't have both SLIDE and ACTIVE EXPIRATION", slide.span, "Remove one of them.")
    every = slide.value if slide is not None and slide.kind == "rows" else 1
    slot = slide.value if slide is not None and slide.kind == "time" else None
    return OverWindow(rows, length, partition, every, slot, clause.active_expiration, clause.peers)


def _own_time(scope: Scope) -> set[str]:
    time = scope.time
    return {n.lower() for n in (time.column, time.pseudo) if n is not None} | time.names


def _thins(window: OverWindow) -> bool:
    """Whether it gives fewer rows than come in, or gives them at other times."""
    return window.every > 1 or window.slot is not None or window.on_expiry
