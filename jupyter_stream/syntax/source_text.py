"""Where things stand in the text of a cell, and errors that point there. Not for reading the text."""

from __future__ import annotations

from dataclasses import dataclass, field

from jupyter_stream.errors import QueryError


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of the text: offsets of its first character and of the one behind its last."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """From here to the end of the other."""
        return Span(min(self.start, other.start), max(self.end, other.end))


@dataclass(frozen=True, slots=True)
class Name:
    """A name and where it stands. Names that are spelt alike are equal, wherever they stand."""

    text: str
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class SourceText:
    """The whole text of a cell.

    Attributes:
        text: as typed.
        first_line: number of its first line as the notebook shows it.
    """

    text: str
    first_line: int = 1

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Line (as the notebook counts) and column (from 1) of a character."""
        before = self.text[:offset]
        return self.first_line + before.count("\n"), offset - (before.rfind("\n") + 1) + 1

    def line_at(self, offset: int) -> str:
        """The line a character is on, tabs as single spaces so that a caret below it stands right."""
        start = self.text.rfind("\n", 0, offset) + 1
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end].rstrip("\r").replace("\t", " ")

    def error(
        self, message: str, span: Span, hint: str | None = None, kind: type[QueryError] = QueryError
    ) -> QueryError:
        """An error that shows the line with a caret under the span (its first line, where it has several)."""
        start = min(span.start, max(len(self.text) - 1, 0))
        while start > 0 and self.text[start] in "\r\n":
            start -= 1  # a caret stands under a character, never behind the line
        snippet = self.line_at(start)
        line, column = self.line_and_column(start)
        width = max(1, min(span.end - start, len(snippet) - column + 1))
        return kind(message, line=line, column=column, snippet=snippet, width=width, hint=hint)

    def slice(self, span: Span) -> str:
        """The text of a span, runs of blanks as one."""
        return " ".join(self.text[span.start : span.end].split())
