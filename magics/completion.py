"""Completion in `%%stream` cells and `%stream` lines. The only file that knows IPython's matcher API, which is provisional."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from IPython.core.completer import SimpleCompletion, context_matcher

from jupyter_stream.magics.commands import COMMANDS
from jupyter_stream.magics.completion_in_statements import Word, columns, in_statement, starting
from jupyter_stream.magics.options import OPTIONS

if TYPE_CHECKING:
    from jupyter_stream.session.session import Session

_CELL: Final = re.compile(r"\s*%%stream(?=\s|$)")
_LINE: Final = re.compile(r"^(?:.*=\s*)?%stream(?=\s)(.*)$")
_AXES: Final = ("--x", "-x", "--y", "-y", "--by", "-b")
"""Options whose value is a column."""


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
        return in_statement(before, so_far, "\n".join(lines[first + 1 :]), session)
    found = _LINE.match(before)
    return _commands(found[1], session) if found else ([], "")


def _options(before: str, body: str, session: Session | None) -> tuple[list[Word], str]:
    words = before.split(" ")
    fragment, previous = words[-1], words[-2] if len(words) > 1 else ""
    if previous in _AXES:
        return starting(fragment, columns(body, session)), fragment
    for option in OPTIONS:
        if previous in (option.long, option.short) and option.takes is not None:
            return starting(fragment, ((c, "value") for c in option.choices or ())), fragment
    if fragment.startswith("-") or not fragment:
        return starting(fragment, ((o.long, "option") for o in OPTIONS)), fragment
    return [], fragment


def _commands(rest: str, session: Session | None) -> tuple[list[Word], str]:
    words = rest.lstrip().split(" ")
    fragment = words[-1]
    if len(words) == 1:
        return starting(fragment, ((c.name, "command") for c in COMMANDS)), fragment
    command = next((c for c in COMMANDS if c.name == words[0].lower()), None)
    if command is None or not command.takes:
        return [], fragment
    names = [(name, "query") for name in session.queries] if session is not None and command.name != "record" else []
    if command.name in ("drop", "record", "describe") and session is not None:
        names += [(name, "stream") for name in session.catalog.names]
    return starting(fragment, [*names, *([("all", "value")] if "all" in command.takes else [])]), fragment
