"""A query shown in a way of its own, beside the others: what a dashboard is made of. Imports nothing slow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_stream.views.options import ViewOptions

if TYPE_CHECKING:
    from jupyter_stream.core.snapshot import Viewable


@dataclass(frozen=True, eq=False)
class Panel:
    """One of several views of a query. `q.chart(...)` leaves it as it is; as the last line of a cell it is shown live.

    Attributes:
        viewable: the query.
        options: how it is shown here.
    """

    viewable: Viewable
    options: ViewOptions

    def __repr__(self) -> str:
        return f"<{self.options.chart} of {self.viewable.name}>"

    def _ipython_display_(self) -> None:
        from jupyter_stream.views.live import LiveView

        LiveView(self.viewable, self.options, own=True)._ipython_display_()


__all__ = ["Panel"]
