"""Writes the lists in language.md that the program itself knows: sources, sinks, options, aggregates, functions.

`python tutorials/reference/lists.py` brings the page up to date; a test fails while it isn't. Not for prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from jupyter_stream.aggregates import AGGREGATES
from jupyter_stream.core.figures import FIGURES, MEANINGS
from jupyter_stream.core.schema import type_name
from jupyter_stream.functions import describe
from jupyter_stream.magics.commands import COMMANDS
from jupyter_stream.magics.options import OPTIONS
from jupyter_stream.sinks import GENERAL as OF_SINKS
from jupyter_stream.sinks import SINKS
from jupyter_stream.sources import SOURCES
from jupyter_stream.sources.options import GENERAL

PAGE = Path(__file__).with_name("language.md")


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A Markdown table; cells that hold code are given with their backticks."""
    lines = [head, ("---",) * len(head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def sources() -> str:
    """The options that only some connectors take."""
    own: dict[tuple[str, str], list[str]] = {}
    for connector in SOURCES:
        for name, text in connector.options.items():
            if name not in GENERAL:
                own.setdefault((name, text), []).append(f"`{connector.scheme}://`")
    rows = ((", ".join(schemes), f"`{name}`", text) for (name, text), schemes in own.items())
    return table(("of", "option", "meaning"), rows)


def figures() -> str:
    """The columns of the engine's own figures."""
    rows = []
    for name, meaning in MEANINGS.items():
        found = {of: column for of, columns in FIGURES.items() for column in columns if column[0] == name}
        dtype = next(iter(found.values()))[1]
        rows.append((f"`{name}`", ", ".join(found), type_name(dtype), meaning))
    return table(("column", "of", "type", "meaning"), rows)


def options() -> str:
    """What every source takes in WITH."""
    return table(("option", "meaning"), ((f"`{name}`", text) for name, text in GENERAL.items()))


def sinks() -> str:
    """Every sink with its modes and its promise."""
    rows = ((f"`{s.scheme}://`", f"`{s.example}`", ", ".join(s.modes), s.promised({}), s.how) for s in SINKS)
    return table(("sink", "for example", "modes", "promise", "how"), rows)


def sink_options() -> str:
    """What sinks take in WITH: all of them, and some."""
    own: dict[tuple[str, str], list[str]] = {}
    for connector in SINKS:
        for name, text in connector.options.items():
            own.setdefault((name, text), []).append(f"`{connector.scheme}://`")
    rows = [("all", f"`{name}`", text) for name, text in OF_SINKS.items()]
    rows += [(", ".join(schemes), f"`{name}`", text) for (name, text), schemes in own.items()]
    return table(("of", "option", "meaning"), rows)


def aggregates() -> str:
    """Every aggregate."""
    return table(
        ("aggregate", "what it gives", "for example"),
        ((f"`{a.signature}`", a.description, f"`{a.example}`") for a in AGGREGATES),
    )


def functions() -> str:
    """Every scalar function and operator."""
    return table(
        ("function", "what it gives", "for example"),
        ((f"`{f.signature}`", f.description, f"`{f.example}`") for f in describe()),
    )


def cell_options() -> str:
    """What can stand on a `%%stream` line."""
    rows = []
    for o in OPTIONS:
        names = ", ".join(f"`{name} {o.takes}`" if o.takes else f"`{name}`" for name in (o.long, o.short) if name)
        choices = f": {', '.join(f'`{c}`' for c in o.choices)}" if o.choices else ""
        rows.append((names, o.help.replace("%%", "%") + choices))
    return table(("option", "meaning"), rows)


def commands() -> str:
    """What can follow `%stream`."""
    return table(("command", "does"), ((f"`%stream {c.name} {c.takes}".rstrip() + "`", c.help) for c in COMMANDS))


LISTS = (sources, figures, options, sinks, sink_options, aggregates, functions, cell_options, commands)


def literal(text: str) -> str:
    """The text for a substitution that takes it as it is."""
    return text.replace("\\", "\\\\")


def written(page: str) -> str:
    """The page with its lists as the program has them now.

    Raises:
        ValueError: a list's place is missing from the page.
    """
    for make in LISTS:
        place = re.compile(rf"(<!-- {make.__name__}: written by lists.py -->\n).*?(<!-- end -->)", re.DOTALL)
        if not place.search(page):
            raise ValueError(f"language.md has no place for the {make.__name__}")
        page = place.sub(rf"\g<1>\n{literal(make())}\n\g<2>", page)
    return page


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
