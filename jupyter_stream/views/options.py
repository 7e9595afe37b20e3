"""What a user can say about a view: chart kind, roles of columns, how much stays on screen. Imports nothing slow."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Final

from jupyter_stream.core.suggest import nearest
from jupyter_stream.core.time import parse_duration
from jupyter_stream.errors import QueryError

CHARTS: Final = (
    "auto",
    "line",
    "bar",
    "area",
    "scatter",
    "heatmap",
    "summary",
    "table",
    "number",
    "none",
)
"""What `--chart` takes: `auto`, the names in `chart.KINDS`, `none`. Here, not there: the kinds import Bokeh, which is slow."""
MOST_ROWS: Final = 5_000
"""Rows a view ever draws. More points than pixels say nothing, and every row is sent to every open page."""
DEFAULT_ROWS: Final = 500


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """How a query is shown.

    Args:
        chart: a name in `views.CHARTS`, `auto`, or `none`.
        x: column for the horizontal axis.
        y: column, or columns between commas, for the vertical axis.
        by: column that splits rows into coloured series; `none` for one series.
        last: rows kept on screen, or a time span such as `"10 minutes"` back from the newest time shown.
        top: bars or rows of a table shown, those with the largest `y`.
        multiples: whether each series has a small chart of its own.

    Raises:
        QueryError: there is no such chart, `last` is neither, or `top` is no number of rows.
    """

    chart: str = "auto"
    x: str | None = None
    y: str | None = None
    by: str | None = None
    last: int | str = DEFAULT_ROWS
    top: int | None = None
    multiples: bool = False

    def __post_init__(self) -> None:
        if self.chart not in CHARTS:
            raise refuse("chart", self.chart, CHARTS)
        if self.top is not None and (not isinstance(self.top, int) or self.top < 1):
            raise QueryError(
                f"--top takes a number of rows, not {str(self.top)!r}", hint="Write for instance --top 10."
            )
        if isinstance(self.last, str) and self.last.strip().isdigit():
            object.__setattr__(self, "last", int(self.last))
        wrong = self.last < 1 if isinstance(self.last, int) else not parse_duration(self.last)
        if wrong:
            raise QueryError(
                f"--last takes a number of rows or a time span, not {str(self.last)!r}",
                hint="Write for instance --last 500 or --last '10 minutes'.",
            )

    def changed(self, **options: object) -> ViewOptions:
        """These options with others in their place. Raises `QueryError` where there is none of that name, too."""
        names = tuple(f.name for f in fields(self))
        wrong = next((name for name in options if name not in names), None)
        if wrong is not None:
            raise refuse("option of charts", wrong, names)
        return replace(self, **options)  # type: ignore[arg-type]  # values are checked when it is made

    @property
    def rows(self) -> int:
        """How many rows to ask a query for."""
        return min(self.last, MOST_ROWS) if isinstance(self.last, int) else MOST_ROWS

    @property
    def span(self) -> int | None:
        """Microseconds kept on screen, None where rows are counted."""
        return parse_duration(self.last) if isinstance(self.last, str) else None


def refuse(what: str, word: str, choices: tuple[str, ...], harmful: tuple[str, ...] = ()) -> QueryError:
    """The error for a word that is not among the choices, naming the nearest or all; the harmful ones aren't suggested."""
    near = nearest(word, [c for c in choices if c not in harmful])
    return QueryError(
        f"there is no {what} {word!r}",
        hint=f"Did you mean {near}?" if near else f"There are: {', '.join(choices)}." if choices else None,
    )
