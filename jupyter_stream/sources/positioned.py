"""Sources of messages whose server keeps them and can be told where to begin: they go on after their process was killed.

Not for a connection that breaks while the process lives, after which every source of messages comes back by itself.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace

from jupyter_stream.sources.broker import BrokerSource
from jupyter_stream.sources.inbox import Inbox, Item
from jupyter_stream.sources.protocol import Chunk, Request


class PositionedSource(BrokerSource):
    """Messages of a server that has positions (`sources.protocol.Resumes`)."""

    @abstractmethod
    def position_after(self, item: Item) -> object:
        """Where a connection is to begin for what comes after a message; None where the server doesn't tell."""

    def read_on(self, request: Request, place: object) -> Iterator[Chunk]:
        """As `read`, from the position that a former read had reached.

        Raises:
            SourceError: the server doesn't let us read, or has nothing of what was there.
        """
        inbox = Inbox(request.trouble)
        inbox.position = place
        for chunk, items in self.received(request, inbox):
            if items:
                place = self.position_after(items[-1]) or place
                self.look_at_place(place, request)
            elif place is None:
                place = inbox.first
            yield replace(chunk, place=place)

    def look_at_place(self, place: object, request: Request) -> None:
        """Say on the view that the server gives its messages no positions, where that is so."""
        if place is None:
            request.trouble.text = f"{self.at} gives its messages no ids: what is sent after a kill is lost."


__all__ = ["PositionedSource"]
