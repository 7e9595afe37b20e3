"""One family of errors. A mistake in a query is shown without a Python traceback; a mistake of ours never is."""

from __future__ import annotations

from typing import Self

from jupyter_stream.secrets import hidden


class StreamError(Exception):
    """Everything this package raises on purpose derives from this. Passwords in it are hidden."""

    def __str__(self) -> str:
        return hidden(super().__str__())


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
        super().__init__(hidden(message))
        self.message = hidden(message)
        self.line = line
        self.column = column
        self.snippet = None if snippet is None else hidden(snippet)
        self.width = max(1, width)
        self.hint = None if hint is None else hidden(hint)

    def __str__(self) -> str:
        """The message, the line with a caret, and the hint: at most 2,000 characters."""
        text = _shortened(self.message, 1_000)
        if self.line is not None and self.column is not None:
            text = f"line {self.line}, column {self.column}: {text}"
            if self.snippet is not None:
                shown, at, width = _around(self.snippet, self.column - 1, self.width)
                text += f"\n\n    {shown}\n    {' ' * at}{'^' * width}"
        if self.hint:
            text += ("\n\n" if self.snippet else "\n") + _shortened(self.hint, 400)
        return hidden(text)


_LINE = 85
"""Characters of a line that are shown."""


def _shortened(text: str, most: int) -> str:
    """A text's beginning and its end, where it is too long."""
    return text if len(text) <= most else f"{text[: most - most // 4 - 5]} ... {text[-(most // 4) :]}"


def _around(line: str, at: int, width: int) -> tuple[str, int, int]:
    """The part of a long line around a place, where the place is in it, and how much of it can be underlined."""
    if len(line) <= _LINE:
        return line, at, max(1, min(width, len(line) - at))
    width = min(width, _LINE // 2)
    start = max(0, min(at - (_LINE - width) // 2, len(line) - _LINE))
    end = min(len(line), start + _LINE)
    before, behind = "... " if start else "", " ..." if end < len(line) else ""
    return f"{before}{line[start:end]}{behind}", at - start + len(before), max(1, min(width, end - at))


class ConnectorError(QueryError):
    """A source or a sink that can't be what was asked for.

    Attributes:
        option: the option of WITH that is wrong, in lower case; None where it is the address or something else.
    """

    option: str | None = None

    def about(self, option: str) -> Self:
        """The same, said of an option."""
        self.option = option.lower()
        return self


class SourceError(ConnectorError):
    """A source that can't be opened: a missing file, an unknown name in the notebook, a bad option."""


class SinkError(ConnectorError):
    """A sink that can't take an answer: a bad address or option, a mode it doesn't have, a table with other columns."""


class UnsupportedError(QueryError):
    """A query that is well formed but can't be run, with the reason and the way round."""


class EngineError(StreamError):
    """A failure of ours while a query ran; the log has the traceback."""


def reason(error: BaseException) -> str:
    """Why a query failed, for people; of an error of ours the log has to have the traceback."""
    if isinstance(error, StreamError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "it was interrupted in the middle of a step; start it again"
    if isinstance(error, MemoryError):
        return "there was not enough memory" + (f" ({error})" if str(error) else "")
    return f"{type(error).__name__}: {error} (an internal error; the log has the details)"
