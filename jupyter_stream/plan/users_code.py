"""Whether a node of a plan runs what users wrote: their aggregates, or their functions in Python."""

from __future__ import annotations

from jupyter_stream.functions import Call, OwnName
from jupyter_stream.functions.expression import walk
from jupyter_stream.plan.logical import Plan


def runs_users_code(node: Plan) -> bool:
    """Whether it does, of which a row may take any time."""
    called = (part.function for e in node.expressions for part in walk(e) if isinstance(part, Call))
    return bool(node.user_calls) or any(isinstance(function, OwnName) for function in called)


__all__ = ["runs_users_code"]
