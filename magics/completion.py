"""Completion in `%%stream` cells and `%stream` lines. The only file that knows IPython's matcher API, which is provisional."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from IPython.core.completer import SimpleCompletion, context_matcher

from jupyter_stream.magics.commands import COMMANDS
from jupyter_stream.magics.options import OPTIONS

if TYPE_CHECKING:
    from jupyter_stream.session import Session

_CELL: Final = re.compile(r"\s*%%stream(?=\s|$)")
_LINE: Final = re.compile(r"^(?:.*=\s*)?%stream(?=\s)(.*)$")
_WORD: Final = re.compile(r"[\w$]*$")
_WITH: Final = re.compile(r"\bWITH\s*\([^)]*$", re.IGNORECASE)
_VALUE: Final = re.compile(r"(\w+)\s*=\s*'([^']*)$")
_QUOTED: Final = re.compile(r"'([^']+)'")
_AXES: Final = ("--x", "-x", "--y", "-y", "--by", "-b")
"""Options whose value is a column."""
_URI: Final = re.compile(r"SOURCE\s+'(\w*)$", re.IGNORECASE)

Word = tuple[str, str]
"""What is inserted, and its kind as front ends show it."""


def matcher(session: Callable[[], Session | None]) -> Any:
    """A matcher for `IPCompleter.custom_matchers`.

    Args:
        session: gives the session, None while there is none (then streams and queries are unknown).
    """

    @context_matcher(identifier="jupyter_stream")  # type: ignore[untyped-decorator] # IPython publishes no types
    def stream_matcher(context: Any) -> dict[str, Any]:
        words, fragment = complete(context.full_text, context.cursor_line, context.cursor_position, session())
        return {
            "completions": [SimpleCompletion(text=text, type=kind) for text, kind in words],
            "matched_fragment": fragment,
            # nothing Python would complete belongs in a stream cell
            "suppress": bool(_CELL.match(context.full_text)) or bool(words),
        }

    return stream_matcher


def complete(text: str, line: int, column: int, session: Session | None) -> tuple[list[Word], str]:
    """Words that fit at the cursor, and the fragment before it that they replace."""
    lines = text.split("\n")
    before = lines[line][:column]
    if _CELL.match(text):
        first = next(i for i, t in enumerate(lines) if t.strip())
        if line == first:
            return _options(before, "\n".join(lines[first + 1 :]), session)
        so_far = "\n".join([*lines[first + 1 : line], before])
        return _language(before, so_far, "\n".join(lines[first + 1 :]), session)
    found = _LINE.match(before)
    return _commands(found[1], session) if found else ([], "")


def _options(before: str, body: str, session: Session | None) -> tuple[list[Word], str]:
    words = before.split(" ")
    fragment, previous = words[-1], words[-2] if len(words) > 1 else ""
    if previous in _AXES:
        return _starting(fragment, _columns(body, session)), fragment
    for option in OPTIONS:
        if previous in (option.long, option.short) and option.takes is not None:
            return _starting(fragment, ((c, "value") for c in option.choices or ())), fragment
    if fragment.startswith("-") or not fragment:
        return _starting(fragment, ((o.long, "option") for o in OPTIONS)), fragment
    return [], fragment


def _commands(rest: str, session: Session | None) -> tuple[list[Word], str]:
    words = rest.lstrip().split(" ")
    fragment = words[-1]
    if len(words) == 1:
        return _starting(fragment, ((c.name, "command") for c in COMMANDS)), fragment
    command = next((c for c in COMMANDS if c.name == words[0].lower()), None)
    if command is None or not command.takes:
        return [], fragment
    names = [(name, "query") for name in session.queries] if session is not None and command.name != "record" else []
    if command.name in ("drop", "record", "describe") and session is not None:
        names += [(name, "stream") for name in session.catalog.names]
    return _starting(fragment, [*names, *([("all", "value")] if "all" in command.takes else [])]), fragment


def _language(before: str, so_far: str, body: str, session: Session | None) -> tuple[list[Word], str]:
    uri = _URI.search(before)
    if uri:
        from jupyter_stream.sources import SOURCES

        return _starting(uri[1], ((f"{s.scheme}://", "source") for s in SOURCES)), uri[1]
    found = _WORD.search(before)
    fragment = found[0] if found else ""
    if not fragment and not before.endswith((".", "'")):
        return [], fragment
    value = _VALUE.search(so_far)
    if value and _WITH.search(so_far[: value.start(1)]):
        return _starting(value[2], ((v, "value") for v in _with_values(value[1]))), value[2]
    if before[: len(before) - len(fragment)].count("'") % 2:
        return [], fragment  # inside a string
    if _WITH.search(so_far):
        return _starting(fragment, ((name, "option") for name in _with_options())), fragment
    after_dot = before[: len(before) - len(fragment)].endswith(".")
    columns = _columns(body, session)
    if after_dot:
        return _starting(fragment, columns), fragment
    streams = [(name, "stream") for name in session.catalog.names] if session is not None else []
    return _starting(fragment, [*columns, *streams, *_functions(), *_keywords(fragment)]), fragment


def _columns(body: str, session: Session | None) -> list[Word]:
    """Columns, with their types, of the streams the cell names; of all streams while it names none yet."""
    if session is None:
        return []
    said = {word.lower() for word in re.findall(r"\w+", body)}
    entries = list(session.catalog)
    named = [e for e in entries if e.name.lower() in said] or entries
    from jupyter_stream.core.schema import type_name

    found = [(f.name, f"column {type_name(f.dtype)}") for e in named for f in e.schema]
    made = [("window_start", "column TIMESTAMP"), ("window_end", "column TIMESTAMP"), ("row_num", "column BIGINT")]
    return list(dict([*reversed(made), *reversed(found)]).items())[::-1]


def _with_options() -> list[str]:
    from jupyter_stream.language import OPTIONS as STREAM_OPTIONS
    from jupyter_stream.sources import SOURCES
    from jupyter_stream.sources.options import GENERAL

    return sorted({*STREAM_OPTIONS, *GENERAL, *(name for source in SOURCES for name in source.options)})


def _with_values(option: str) -> list[str]:
    """The values that an option's description shows, in quotes."""
    from jupyter_stream.sources import SOURCES
    from jupyter_stream.sources.options import GENERAL

    texts = [GENERAL.get(option.lower(), ""), *(s.options.get(option.lower(), "") for s in SOURCES)]
    return list(dict.fromkeys(value for text in texts for value in _QUOTED.findall(text)))


def _functions() -> list[Word]:
    """Functions with their signatures."""
    from jupyter_stream.aggregates import AGGREGATES
    from jupyter_stream.functions import describe

    known = [*((a.name, a.signature) for a in AGGREGATES), *((f.name, f.signature) for f in describe())]
    return [(name, f"function {signature}") for name, signature in known if name[:1].isalpha()]


def _keywords(fragment: str) -> list[Word]:
    from jupyter_stream.language import KEYWORDS

    lower = fragment.islower()
    return [(word.lower() if lower else word, "keyword") for word in KEYWORDS]


def _starting(fragment: str, words: Iterable[Word]) -> list[Word]:
    low = fragment.lower()
    seen: dict[str, str] = {}
    for text, kind in words:
        if text.lower().startswith(low):
            seen.setdefault(text, kind)
    return list(seen.items())
