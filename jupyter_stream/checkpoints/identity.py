"""Which query a checkpoint belongs to, and what is otherwise in one that it doesn't."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from jupyter_stream.plan.logical import BoundQuery

_SHOWN: Final = 400
"""Characters of a text that a message shows."""
_PIECE: Final = re.compile(
    r"""(?P<quoted>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`)|(?:--[^\n]*|/\*.*?\*/|\s)+""", re.DOTALL
)
"""What is in quotes; or space and comments, which mean nothing."""


def identity(query: BoundQuery, plan: str, declared: Mapping[str, str], sinks: Mapping[str, str]) -> dict[str, str]:
    """What must be the same for a checkpoint to be taken up: each part by its name.

    Args:
        query: the query.
        plan: its plan as text, of which every letter counts.
        declared: how what it names is declared, by name; and how it runs.
        sinks: what it writes to: the address of each, and how.
    """
    found = {"the query": query.text, **declared, **{f"sink {uri}": said for uri, said in sinks.items()}}
    return {**{name: _words(text) for name, text in found.items()}, "its plan": plan}


def _words(text: str) -> str:
    """The text with one space for all that stands between words, but in quotes as it is."""
    return _PIECE.sub(lambda piece: piece["quoted"] or " ", text).strip()


def changes(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """What is otherwise, a sentence for each part."""
    for name in dict.fromkeys([*before, *now]):
        if name not in now:
            yield f"{name} is gone; it was: {_short(before[name])}"
        elif name not in before:
            yield f"{name} is new: {_short(now[name])}"
        elif before[name] != now[name]:
            yield f"{name} was: {_short(before[name])}; and is now: {_short(now[name])}"


def _short(text: str) -> str:
    text = text.replace("\n", " ")
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


__all__ = ["changes", "identity"]
