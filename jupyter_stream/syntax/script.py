"""A cell's text as statements: cut at `;`, comments and quotes respected, `{{ }}` taken out. Not for what they mean.

A `{{ expression }}` is replaced by a `?` and blanks of the same length, so that every offset stays true.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from jupyter_stream.syntax.source_text import SourceText, Span

_PIECES = re.compile(
    r"""
      (?P<line>--[^\n]*)
    | (?P<block>/\*)
    | (?P<raw>(?<![A-Za-z0-9_])[rR](?:'[^']*'|"[^"]*"))
    | (?P<single>'(?:\\.|''|[^'\\])*')
    | (?P<double>"(?:\\.|""|[^"\\])*")
    | (?P<back>`(?:``|[^`])*`)
    | (?P<curly>[“”](?:\\.|[^”\\])*”|[‘’](?:\\.|[^’\\])*’)
    | (?P<open>['"`“”‘’])
    | (?P<value>\{\{)
    | (?P<brace>[{}])
    | (?P<semicolon>;)
    """,
    re.VERBOSE | re.DOTALL,
)
_QUOTE_NAMES = {"'": "a text in quotes", '"': "a text in double quotes", "`": "a name in backticks"}


@dataclass(frozen=True, slots=True)
class Piece:
    """One statement's text.

    Attributes:
        masked: it, with blanks for what is between `{{` and `}}`.
        span: where it is in the cell.
        values: the expressions of `{{ }}`, by the offset of their first brace, with their spans.
    """

    masked: str
    span: Span
    values: dict[int, tuple[str, Span]]


def cut(source: SourceText) -> Iterator[Piece]:
    """The statements of a cell, empty ones left out.

    Raises:
        QueryError: a quote, a comment or a `{{` that isn't closed.
    """
    text = source.text
    masked: list[str] = []
    values: dict[int, tuple[str, Span]] = {}
    start = at = depth = 0
    copied = 0
    has_content = False

    def piece(end: int) -> Piece:
        body = "".join(masked) + text[copied:end]
        first = len(body) - len(body.lstrip())
        return Piece(body.strip(), Span(start + first, start + len(body.rstrip())), dict(values))

    while match := _PIECES.search(text, at):
        kind = match.lastgroup
        has_content = (
            has_content or bool(text[at : match.start()].strip()) or kind not in ("line", "block", "semicolon")
        )
        at = match.end()
        if kind == "block":
            at = _end_of_comment(source, match.start())
        elif kind == "open":
            what = _QUOTE_NAMES.get(match[0], "a text in curly quotes")
            raise source.error(f"{what} isn't closed", Span(match.start(), match.end()), "Close it on the same line.")
        elif kind == "value":
            at = _end_of_value(source, match.start())
            span = Span(match.start(), at)
            expression = text[match.start() + 2 : at - 2].strip()
            if not expression:
                raise source.error("there is nothing between {{ and }}", span, "Write a Python expression there.")
            values[match.start()] = (expression, span)
            blank = "".join(c if c in "\r\n" else " " for c in text[match.start() + 1 : at])
            masked += [text[copied : match.start()], "?", blank]
            copied = at
        elif kind == "brace":
            depth = max(0, depth + (1 if match[0] == "{" else -1))
        elif kind == "semicolon" and depth == 0:
            if has_content:
                yield piece(match.start())
            start, copied, has_content = at, at, False
            masked.clear()
            values.clear()
    if has_content or text[at:].strip():
        yield piece(len(text))


def _end_of_comment(source: SourceText, start: int) -> int:
    """Behind the comment that opens at `start`; comments nest, as in Spark."""
    depth, at = 0, start
    while match := re.compile(r"/\*|\*/").search(source.text, at):
        depth += 1 if match[0] == "/*" else -1
        at = match.end()
        if depth == 0:
            return at
    raise source.error("a comment isn't closed", Span(start, start + 2), "Close it with */")


def _end_of_value(source: SourceText, start: int) -> int:
    """Behind the `}}` that closes the `{{` at `start`: the first that leaves a Python expression, else the first."""
    first = end = source.text.find("}}", start + 2)
    while end >= 0:
        # `}}}` closes a dictionary first: the braces that belong to us are the last two of a run.
        while source.text.startswith("}", end + 2) and not _is_python(source.text[start + 2 : end]):
            end += 1
        if _is_python(source.text[start + 2 : end]):
            return end + 2
        end = source.text.find("}}", end + 2)
    if first < 0:
        raise source.error("{{ isn't closed", Span(start, start + 2), "Close it with }}")
    return first + 2


def _is_python(text: str) -> bool:
    try:
        ast.parse(f"({text.strip()})", mode="eval")
    except (SyntaxError, ValueError):
        return False
    return True
