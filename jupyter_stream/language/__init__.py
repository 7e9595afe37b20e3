"""The language: text -> statements (`parse`) -> bound logical plans (`bind_stream`, `bind_derived`, `bind_query`)."""

from jupyter_stream.language.bind_preference import bind_summary
from jupyter_stream.language.bind_statement import bind_derived, bind_query, bind_table_as, bind_view
from jupyter_stream.language.bind_table import bind_assignments, bind_table, bind_values, bind_where
from jupyter_stream.language.create import OPTIONS, bind_stream
from jupyter_stream.language.keywords import KEYWORDS
from jupyter_stream.language.statements import parse
from jupyter_stream.language.syntax import (
    CreateAggregate,
    CreateStream,
    CreateStreamAs,
    CreateSummary,
    CreateTable,
    CreateTableAs,
    CreateView,
    Declaration,
    Delete,
    Describe,
    DescribeAggregate,
    DescribeFunctions,
    DescribeSummary,
    Drop,
    Explain,
    Insert,
    Select,
    Show,
    Statement,
    TableChange,
    Update,
    stream_names,
)
from jupyter_stream.language.user_aggregate import SqlAggregate

__all__ = [
    "KEYWORDS",
    "OPTIONS",
    "CreateAggregate",
    "CreateStream",
    "CreateStreamAs",
    "CreateSummary",
    "CreateTable",
    "CreateTableAs",
    "CreateView",
    "Declaration",
    "Delete",
    "Describe",
    "DescribeAggregate",
    "DescribeFunctions",
    "DescribeSummary",
    "Drop",
    "Explain",
    "Insert",
    "Select",
    "Show",
    "SqlAggregate",
    "Statement",
    "TableChange",
    "Update",
    "bind_assignments",
    "bind_derived",
    "bind_query",
    "bind_stream",
    "bind_summary",
    "bind_table",
    "bind_table_as",
    "bind_values",
    "bind_view",
    "bind_where",
    "parse",
    "stream_names",
]
