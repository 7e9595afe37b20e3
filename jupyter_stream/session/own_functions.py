"""What CREATE, DESCRIBE and DROP FUNCTION answer. Not for calling functions."""

from __future__ import annotations

from jupyter_stream import binding
from jupyter_stream.engine.explain import Text
from jupyter_stream.functions import OwnFunction
from jupyter_stream.functions.own import PYTHON
from jupyter_stream.plan.catalog import Catalog
from jupyter_stream.session.query import Explanation, Message
from jupyter_stream.syntax import CreateFunction, Drop
from jupyter_stream.syntax.diagnose import did_you_mean


def known(catalog: Catalog) -> dict[str, OwnFunction]:
    """All that a session can call, its own first."""
    return {**PYTHON, **catalog.functions}


def create(catalog: Catalog, statement: CreateFunction) -> Message:
    """CREATE FUNCTION. Raises `QueryError` for a mistake in it."""
    made = binding.SqlFunction(statement)
    again = made.name.lower() in catalog.functions
    catalog.functions[made.name.lower()] = made
    said = "declared again; queries that already run use the earlier one" if again else "declared"
    return Message(f"Function {made.signature} {said}.")


def rows(catalog: Catalog) -> list[tuple[str, str, str, str]]:
    """Lines of DESCRIBE FUNCTIONS: name, signature, description, example."""
    return [(f.name, f.signature, f.description, f.signature.split(" ->")[0]) for f in known(catalog).values()]


def description(catalog: Catalog, name: str) -> Explanation | None:
    """DESCRIBE FUNCTION: what it is and its declaration; None if there is none of that name."""
    found = known(catalog).get(name.lower())
    if found is None:
        return None
    return Explanation(Text(f"{found.signature}\n{found.description}\n\n{found.text}"))


def drop(catalog: Catalog, statement: Drop) -> Message:
    """DROP FUNCTION. Queries that call it go on. Raises `QueryError` if there is none of that name."""
    name = statement.name
    lower = name.text.lower()
    if lower not in known(catalog):
        if statement.if_exists:
            return Message(f"There is no {name.text}.")
        names = [f.name for f in known(catalog).values()]
        hint = did_you_mean(name.text, names, "functions") if names else "CREATE FUNCTION declares one."
        raise statement.source.error(f"there is no function of yours called {name.text}", name.span, hint)
    found = catalog.functions.pop(lower, None) or PYTHON.pop(lower)
    return Message(f"Function {found.name} is dropped.")


__all__ = ["create", "description", "drop", "known", "rows"]
