"""From statements to bound plans: `bind_stream`, `bind_derived`, `bind_query`. What names and types mean."""

from jupyter_stream.binding.bind_preference import bind_summary
from jupyter_stream.binding.bind_statement import bind_derived, bind_query, bind_table_as, bind_view
from jupyter_stream.binding.bind_table import bind_assignments, bind_table, bind_values, bind_where
from jupyter_stream.binding.bind_tolerance import bind_target
from jupyter_stream.binding.create import OPTIONS, bind_stream
from jupyter_stream.binding.own_function import SqlFunction
from jupyter_stream.binding.user_aggregate import SqlAggregate

__all__ = [
    "OPTIONS",
    "SqlAggregate",
    "SqlFunction",
    "bind_assignments",
    "bind_derived",
    "bind_query",
    "bind_stream",
    "bind_summary",
    "bind_table",
    "bind_table_as",
    "bind_target",
    "bind_values",
    "bind_view",
    "bind_where",
]
