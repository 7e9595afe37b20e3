"""`%%dashboard`: a query per line, its name and how it is shown. Not for starting queries."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

from jupyter_stream.errors import QueryError
from jupyter_stream.magics import commands, options

if TYPE_CHECKING:
    from jupyter_stream.session.session import Session

_FIRST_LINE: Final = 2
_EXAMPLE: Final = "Write a query's name on each line, and how to show it, such as: hot --chart bar"


def show(session: Session, line: str, cell: str) -> None:
    """Read the cell and show the dashboard.

    Raises:
        QueryError: no queries, one that doesn't exist, an option that is not about showing.
    """
    if line.strip():
        raise QueryError(
            f"%%dashboard takes nothing more on its line, and this line has: {line.strip()}", hint=_EXAMPLE
        )
    panels = []
    for number, text in enumerate(cell.splitlines(), _FIRST_LINE):
        if text.strip() and not text.strip().startswith(("#", "--")):
            panels.append(_panel(session, text, number))
    if not panels:
        raise QueryError("this dashboard has no query", hint=_EXAMPLE)
    from jupyter_stream import views
    from jupyter_stream.session.dashboards import dashboard

    dashboard(*(views.panel(query, **said) if said else query for query, said in panels))


def _panel(session: Session, text: str, number: int) -> tuple[Any, dict[str, Any]]:
    said = options.parse(text)
    if said.name is None or said.session or said.quiet or said.help:
        raise QueryError(f"line {number}: a panel is a query and how it is shown, not {text.strip()!r}", hint=_EXAMPLE)
    plain = options.parse(said.name).view
    view = {f.name: getattr(said.view, f.name) for f in dataclasses.fields(plain)}
    # what a line says is of its panel alone: the query's other views stay as they are
    return commands.find(session, said.name), {k: v for k, v in view.items() if v != getattr(plain, k)}
