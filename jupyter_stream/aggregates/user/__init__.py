"""User-defined aggregates [esl]: in SQL (`body`, `sql`) or in Python (`python`), taken row by row in the order of time."""

from jupyter_stream.aggregates.user.declared import Declared, calling, declared, declared_names
from jupyter_stream.aggregates.user.protocol import GroupRun, How, Program, UserAggregate, UserCall
from jupyter_stream.aggregates.user.python import inside
from jupyter_stream.aggregates.user.rows import HELD, ROWS, held_type

__all__ = [
    "HELD",
    "ROWS",
    "Declared",
    "GroupRun",
    "How",
    "Program",
    "UserAggregate",
    "UserCall",
    "calling",
    "declared",
    "declared_names",
    "held_type",
    "inside",
]
