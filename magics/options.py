"""The options of `%%stream`, as one table: the parser, its help and completion read it. Not for what they mean to a session."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from keyword import iskeyword
from typing import Any, Final, NoReturn

from jupyter_stream.errors import QueryError
from jupyter_stream.syntax.statements import FIRST_WORDS
from jupyter_stream.views.options import CHARTS, ViewOptions, refuse

ENGINES: Final = ("kernel", "spark")


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Attributes:
        long: its name with dashes.
        short: the one-letter form, None for none.
        help: a sentence.
        takes: what follows, in capitals; None for a switch.
        choices: all it can be, where that is a fixed set.
        several: whether it may be said more than once.
    """

    long: str
    short: str | None
    help: str
    takes: str | None = None
    choices: tuple[str, ...] | None = None
    several: bool = False


OPTIONS: Final = (
    Option("--engine", "-e", "where the query runs", "ENGINE", ENGINES),
    Option("--master", None, "where Spark runs, such as local[*]; only with the first query on Spark", "MASTER"),
    Option("--conf", None, "a setting of Spark; may be written several times", "KEY=VALUE", several=True),
    Option("--checkpoint", None, "the folder from which the query goes on when it is started again", "DIR"),
    Option("--checkpoint-every", None, "in the kernel: time between cuts, such as '5 seconds' (10 seconds)", "TIME"),
    Option("--checkpoint-reset", None, "in the kernel: begin anew, whatever the folder has"),
    Option("--trigger", None, "on Spark: time between micro-batches, such as '5 seconds'", "TIME"),
    Option("--chart", "-c", "how the answer is drawn", "KIND", CHARTS),
    Option("--x", "-x", "column of the horizontal axis", "COLUMN"),
    Option("--y", "-y", "column of the vertical axis; or several, with commas between them", "COLUMN"),
    Option("--by", "-b", "column that splits rows into coloured series; none for one series", "COLUMN"),
    Option("--last", "-l", "rows, or a time span such as '10 minutes', kept on screen (500)", "N"),
    Option("--top", "-t", "how many bars or rows of a table to show: those with the largest --y", "N"),
    Option("--multiples", "-m", "a small chart for each value of --by"),
    Option("--keep", "-k", "result rows kept in memory (1000000)", "N"),
    Option(
        "--into",
        None,
        "a sink, or an address such as file://answers/, where answers are written too",
        "SINK",
        several=True,
    ),
    Option("--budget", None, "how much work it may do: 20%% of a core, or 500 probes/row", "BUDGET"),
    Option("--weight", "-w", "its share of the processor, compared with other queries (1)", "W"),
    Option("--paused", "-p", "start paused: nothing is read until %%stream resume NAME"),
    Option("--quiet", "-q", "show nothing; the variable NAME is set all the same"),
    Option("--help", "-h", "this text"),
)


_OF_SESSION: Final = (
    *("master", "conf", "checkpoint", "checkpoint_every", "checkpoint_reset"),
    *("trigger", "budget", "weight", "into"),
)
"""Options that `Session.run` knows under the same name."""


@dataclass(frozen=True, slots=True)
class CellLine:
    """What a `%%stream` line says.

    Attributes:
        name: the query's name, None to have one given.
        view: how to show it.
        session: keyword arguments for `Session.run`, those that were said.
        quiet: whether to show nothing.
        help: whether help was asked for.
    """

    name: str | None
    view: ViewOptions
    session: dict[str, Any]
    quiet: bool
    help: bool


def parse(line: str, defaults: Mapping[str, Any] | None = None) -> CellLine:
    """Read the rest of a `%%stream` line.

    Args:
        line: what stands behind `%%stream`.
        defaults: `chart`, `last`, `keep`, `engine` and `quiet` where the line doesn't say them.

    Raises:
        QueryError: an unknown option or a value that can't be, naming the nearest that could.
    """
    words = split(line)
    if words and not words[0].startswith("-") and words[0].lower() in ("help", "?"):
        words[0] = "--help"
    before_options = list(takewhile(lambda word: not word.startswith("-"), words))
    begins = next((word for word in before_options[:-1][:2] if word.upper() in BEGINNINGS), None)
    if begins is not None:
        raise QueryError(
            f"{begins} can't be on the line of %%stream, which takes a name and options",
            hint="Write statements on the lines below it.",
        )
    said = _parser().parse_args(_known(words))
    for name, value in (defaults or {}).items():
        if getattr(said, name) in (None, False):
            setattr(said, name, value)
    if said.name is not None and (not said.name.isidentifier() or iskeyword(said.name)):
        raise QueryError(
            f"a query's name becomes a Python variable; {said.name!r} can't be one",
            hint="Use letters, digits and underscores, not starting with a digit, and no keyword of Python.",
        )
    session: dict[str, Any] = {}
    if said.engine is not None:
        session["engine"] = said.engine
    for name in _OF_SESSION:
        if getattr(said, name):
            session[name] = getattr(said, name)
    if said.keep is not None:
        session["keep"] = _positive("--keep", str(said.keep))
    if said.paused:
        session["paused"] = True
    last = 500 if said.last is None else said.last
    top = None if said.top is None else _positive("--top", said.top)
    view = ViewOptions(said.chart or "auto", said.x, said.y, said.by, last, top, said.multiples)
    return CellLine(said.name, view, session, said.quiet, said.help)


def split(line: str) -> list[str]:
    """The words of a magic's line, quotes respected.

    Raises:
        QueryError: a quote is not closed.
    """
    try:
        return shlex.split(line)
    except ValueError:
        raise QueryError("a quote on this line is not closed", hint=f"The line is: {line}") from None


def usage() -> str:
    """The help text of `%%stream`."""
    return _parser().format_help()


def _known(words: list[str]) -> list[str]:
    """Refuse what is no option before argparse does, which would not say what is meant."""
    names = tuple(n for o in OPTIONS for n in (o.long, o.short) if n is not None)
    takes = {n: o for o in OPTIONS for n in (o.long, o.short) if n is not None}
    i = 0
    while i < len(words):
        word, _, value = words[i].partition("=")
        if word.startswith("-") and len(word) > 1:
            if word not in names:
                raise refuse("option", word, tuple(o.long for o in OPTIONS))
            option = takes[word]
            if option.takes is not None and not value:
                i += 1
                if i >= len(words) or (words[i].startswith("--")):
                    raise QueryError(f"{word} needs a value: {word} {option.takes}")
                value = words[i]
            if option.choices is not None and value not in option.choices:
                raise refuse(word.lstrip("-"), value, option.choices)
        i += 1
    return words


def _positive(name: str, text: str) -> int:
    digits = text.replace("_", "").replace(",", "")
    if not digits.isdigit() or int(digits) < 1:
        raise QueryError(f"{name} takes a number of rows, not {text!r}", hint=f"Write for instance {name} 1000000.")
    return int(digits)


BEGINNINGS: Final = frozenset(words.split()[0] for words in FIRST_WORDS)
"""The words that statements begin with."""


class Parser(argparse.ArgumentParser):
    """Says mistakes as errors for people."""

    def error(self, message: str) -> NoReturn:
        """Raise `QueryError`."""
        extra = message.removeprefix("unrecognized arguments: ")
        if extra != message:
            hint = "Options start with --; %%stream --help lists them. A value with spaces needs quotes."
            raise QueryError(f"%%stream takes one name, and this line also has: {extra}", hint=hint)
        raise QueryError(message, hint="%%stream --help lists the options.")


def _parser() -> Parser:
    parser = Parser(
        prog="%%stream",
        description="Run the statements in this cell. A SELECT starts a query, shows it live and binds NAME to its handle.",
        add_help=False,
        allow_abbrev=False,
        formatter_class=lambda prog: argparse.HelpFormatter(prog, max_help_position=30, width=100),
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="name of the query and of the variable (q1, q2, ...)")
    for option in OPTIONS:
        names = [option.long] if option.short is None else [option.short, option.long]
        if option.takes is None:
            parser.add_argument(*names, action="store_true", help=option.help)
        else:
            text = option.help + (f": {', '.join(option.choices)}" if option.choices else "")
            action = "append" if option.several else "store"
            parser.add_argument(*names, action=action, metavar=option.takes, help=text)
    return parser
