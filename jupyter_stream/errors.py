"""One family of errors. A mistake in a query is shown without a Python traceback; a mistake of ours never is."""

from __future__ import annotations


class StreamError(Exception):
    """Everything this package raises on purpose derives from this."""


class QueryError(StreamError):
    """A mistake in what the user wrote, with the place and the way out.

    Args:
        message: what is wrong, in one sentence.
        line: line of the mistake, counted from 1 as the notebook shows it; None when there is no place.
        column: column of the mistake, counted from 1.
        snippet: the text of that line.
        width: how many characters the caret underlines.
        hint: what to write instead.
    """

    def __init__(
        self,
        message: str,
        *,
        line: int | None = None,
        column: int | None = None,
        snippet: str | None = None,
        width: int = 1,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.snippet = snippet
        self.width = max(1, width)
        self.hint = hint

    def __str__(self) -> str:
        text = self.message
        if self.line is not None and self.column is not None:
            text = f"line {self.line}, column {self.column}: {text}"
            if self.snippet is not None:
                text += f"\n\n    {self.snippet}\n    {' ' * (self.column - 1)}{'^' * self.width}"
        if self.hint:
            text += ("\n\n" if self.snippet else "\n") + self.hint
        return text


class SourceError(QueryError):
    """A source that can't be opened: a missing file, an unknown name in the notebook, a bad option."""


class UnsupportedError(QueryError):
    """A query that is well formed but can't be run, with the reason and the way round."""


class EngineError(StreamError):
    """A failure of ours while a query ran; the log has the traceback."""
