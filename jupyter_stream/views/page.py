"""Where views stand in a notebook: one widget, and under it the picture that stays in the file. For one view or several."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from jupyter_stream.views import output, saved
from jupyter_stream.views.widget import LiveWidget, PageChannel


@dataclass(frozen=True, slots=True)
class Still:
    """A view as it is kept in the file.

    Attributes:
        html: its picture, last rows and one line.
        text: the one line.
    """

    html: str
    text: str


class Page:
    """Two outputs of a cell. Written by the thread that shows it, then by the view thread alone.

    Args:
        panels: how many views stand side by side; 0 for one that is no dashboard.
    """

    def __init__(self, panels: int = 0) -> None:
        self.widget = LiveWidget(key=uuid.uuid4().hex, panels=panels)
        self._display_id = f"jupyter-stream-{self.widget.key}"
        self._stills: dict[PageChannel, Still] = {}
        self._lines = 0

    def enter(self) -> PageChannel:
        """The line of the next view."""
        self._lines += 1
        return PageChannel(self.widget, self._lines - 1 if self.widget.panels else None)

    def put(self, line: PageChannel, still: Still) -> None:
        """Take a view's newest picture for the file."""
        self._stills[line] = still

    def show(self) -> None:
        """Put both outputs under the running cell."""
        output.show(self.widget.bundle)
        output.show(self._bundle(), self._display_id)

    def update(self) -> int:
        """Bring the picture in the file up to date; returns the bytes sent."""
        bundle = self._bundle()
        output.update(bundle, self._display_id)
        return sum(map(len, bundle.values()))

    def _bundle(self) -> dict[str, str]:
        stills = list(self._stills.values())
        text = "\n".join(still.text for still in stills)
        return {"text/html": saved.outer([still.html for still in stills]), "text/plain": text}
