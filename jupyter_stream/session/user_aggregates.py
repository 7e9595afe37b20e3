"""What SHOW, DESCRIBE and DROP AGGREGATE answer. Not for calling them."""

from __future__ import annotations

import re

import polars as pl

from jupyter_stream.aggregates.user import Declared
from jupyter_stream.aggregates.user.declared import PYTHON
from jupyter_stream.aggregates.user.python import PythonAggregate
from jupyter_stream.engine.explain import Text
from jupyter_stream.errors import QueryError
from jupyter_stream.functions.python import PythonFunction, functions_called
from jupyter_stream.plan.catalog import Catalog
from jupyter_stream.plan.logical import Plan, walk
from jupyter_stream.session import own_functions
from jupyter_stream.session.query import Explanation, Listing, Message
from jupyter_stream.syntax import Drop
from jupyter_stream.syntax.diagnose import did_you_mean
from jupyter_stream.syntax.source_text import Name, SourceText


def known(catalog: Catalog) -> dict[str, Declared]:
    """All that a session can call, its own first."""
    return {**PYTHON, **catalog.aggregates}


def rows(catalog: Catalog) -> list[tuple[str, str, str, str]]:
    """Lines of DESCRIBE FUNCTIONS: name, signature, description, example."""
    found = []
    for declared in known(catalog).values():
        for version in declared.versions:
            call = version.signature.split(" ->")[0]
            over = f"{call} OVER (RANGE 1 MINUTE PRECEDING)" if version.windowed else call
            found.append((declared.name, version.signature, version.description, over))
    return found


def listing(catalog: Catalog) -> Listing:
    """SHOW AGGREGATES."""
    lines = [
        (
            v.name,
            v.signature,
            "window" if v.windowed else "base",
            "algebraic" if v.algebraic else "",
            v.description,
        )
        for d in known(catalog).values()
        for v in d.versions
    ]
    schema = {n: pl.String() for n in ("aggregate", "signature", "version", "algebra", "description")}
    return Listing("Aggregates", pl.DataFrame(lines, schema=schema, orient="row"))


def description(catalog: Catalog, name: Name, source: SourceText) -> Explanation:
    """DESCRIBE AGGREGATE: the declarations. Raises `QueryError` if there is none of that name."""
    declared = known(catalog).get(name.text.lower())
    if declared is None:
        raise _unknown(catalog, name, source)
    return Explanation(Text("\n\n".join(v.text for v in declared.versions)))


def texts(plan: Plan, catalog: Catalog) -> dict[str, str]:
    """What the aggregates that a plan calls are declared as, and the functions; and what their texts name. Of Python's a digest.

    Functions in SQL that it calls itself are written into it.
    """
    named = [call.program.name for node in walk(plan) for call in node.user_calls]
    declared, functions = known(catalog), own_functions.known(catalog)
    found = {
        f"function {owner.name}": owner.code.digest
        for node in walk(plan)
        for expr in node.expressions
        for owner in functions_called(expr)
    }
    while named:
        word = named.pop().lower()
        each, function = declared.get(word), functions.get(word)
        if each is not None and f"aggregate {each.name}" not in found:
            parts = [v.code.digest if isinstance(v, PythonAggregate) else v.text for v in each.versions]
            found[f"aggregate {each.name}"] = "; ".join(parts)
            named += [inner for v in each.versions for inner in re.findall(r"\w+", v.text)]
        if function is not None and f"function {function.name}" not in found:
            found[f"function {function.name}"] = (
                function.code.digest if isinstance(function, PythonFunction) else function.text
            )
            named += re.findall(r"\w+", function.text)
    return found


def drop(catalog: Catalog, statement: Drop) -> Message:
    """DROP AGGREGATE: both versions. Queries that call it go on. Raises `QueryError` if there is none of that name."""
    name = statement.name
    if name.text.lower() not in known(catalog):
        if statement.if_exists:
            return Message(f"There is no {name.text}.")
        raise _unknown(catalog, name, statement.source)
    found = catalog.aggregates.pop(name.text.lower(), None) or PYTHON.pop(name.text.lower())
    return Message(f"Aggregate {found.name} is dropped.")


def _unknown(catalog: Catalog, name: Name, source: SourceText) -> QueryError:
    names = [d.name for d in known(catalog).values()]
    hint = did_you_mean(name.text, names, "aggregates") if names else "CREATE AGGREGATE declares one."
    return source.error(f"there is no user-defined aggregate called {name.text}", name.span, hint)
