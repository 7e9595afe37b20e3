"""The language: text -> statements (`parse`) -> bound logical plans (`bind_stream`, `bind_derived`, `bind_query`)."""

from jupyter_stream.language.bind_query import bind_derived, bind_query
from jupyter_stream.language.create import OPTIONS, bind_stream
from jupyter_stream.language.keywords import KEYWORDS
from jupyter_stream.language.statements import parse
from jupyter_stream.language.syntax import (
    CreateStream,
    CreateStreamAs,
    Describe,
    DescribeFunctions,
    Drop,
    Explain,
    Select,
    Show,
    Statement,
    stream_names,
)

__all__ = [
    "KEYWORDS",
    "OPTIONS",
    "CreateStream",
    "CreateStreamAs",
    "Describe",
    "DescribeFunctions",
    "Drop",
    "Explain",
    "Select",
    "Show",
    "Statement",
    "bind_derived",
    "bind_query",
    "bind_stream",
    "parse",
    "stream_names",
]
