"""What `Session.run` gives, under the cell: handles as live views, messages and listings as text."""

from __future__ import annotations

from jupyter_stream.magics import output


def tell(result: object) -> None:
    """Show a message or a listing; anything else is not for telling."""
    from jupyter_stream.session.query import Explanation, Listing, Message

    if isinstance(result, Message):
        output.say(result.text)
    elif isinstance(result, Explanation):
        output.say(result.text.narrow)
    elif isinstance(result, Listing):
        output.show_frame(result.title, result.frame)
