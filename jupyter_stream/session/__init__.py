"""A session: what was declared, what runs, and the handles that people hold."""

from jupyter_stream.session.session import Session

__all__ = ["Session"]
