"""Writes errors.md: every error message of the program, and what it says to do about it, read from the program's own text.

`python tutorials/reference/errors.py` brings the page up to date; a test fails while it isn't. Not for errors of Python.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "jupyter_stream"
PAGE = Path(__file__).with_name("errors.md")
CLASSES = {
    "QueryError": "a mistake in what was written, with its place",
    "ConnectorError": "a source or a sink that can't be what was asked for: the family of the next two",
    "SourceError": "a source that can't be opened: a missing file, an unknown name in the notebook, a wrong option",
    "SinkError": "a sink that can't take an answer: a bad address or option, a mode it doesn't have, a table with other columns",
    "UnsupportedError": "a query that is well formed and can't be run here, with the reason and the way round",
    "EngineError": "an internal failure while a query ran; the log has the details",
}
METHODS = {
    "error": ("QueryError", ""),
    "fail": ("QueryError", ""),
    "unsupported": ("UnsupportedError", " isn't available in this version"),
    "missing": ("QueryError", " is missing here"),
}
"""What the parser and the binder tell errors with: the class unless another is said, and what they add to the message."""
RETURNED = ("unlike",)
"""Methods that return a message and a hint, for whoever asks to tell."""
FAMILIES = (
    ("Statements and expressions", "syntax", "binding"),
    ("Functions and aggregates", "functions", "aggregates", "session/user_aggregates.py"),
    ("Sources", "sources"),
    ("Sinks", "sinks", "session/sink_statements.py"),
    ("Tables", "session/tables.py", "session/table_statements.py"),
    ("Windows, plans and operators", "windows", "plan", "flow", "windowed", "relations", "joins", "budget", "graph", "partials",
     "arrays", "keys", "summaries", "session/summary_statements.py"),
    ("On Spark", "spark"),
    ("Recordings and replays", "session/recordings.py", "engine/recorder.py"),
    ("Charts and dashboards", "views", "session/dashboards.py"),
    ("Magics", "../magics"),
    ("Sessions and running queries", ""),
)  # fmt: skip
"""Where errors are told, by what they are about: rooms and files. A file belongs to the first family that has it."""
HEAD = """# Errors

Every error message of Jupyter Stream, and what it says to write instead; written by [errors.py](errors.py) from the program
itself.
`…` stands for a name, a value or a reason. In a query an error has its line and column, counted as the notebook shows them, and
a caret under the place. All of them are a `StreamError`:

"""


def told(path: Path) -> Iterator[tuple[str, str, str]]:
    """The class, the message and the hint of each error that a file makes."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name in RETURNED:
            given = (
                n.value.elts for n in ast.walk(node) if isinstance(n, ast.Return) and isinstance(n.value, ast.Tuple)
            )
            yield from (("QueryError", words(message), words(hint)) for message, hint in given)
        if not isinstance(node, ast.Call) or not node.args:
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        first, rest = node.args[0], node.args[1:]
        said = {k.arg: k.value for k in node.keywords}
        message, hint, kind = words(first), said.get("hint"), name
        if (
            isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "log"
        ):
            continue
        if name in METHODS and isinstance(node.func, ast.Attribute):
            hint = hint or (rest[1] if len(rest) > 1 else None)
            chosen = said.get("kind") or (rest[2] if len(rest) > 2 else None)
            kind = chosen.id if isinstance(chosen, ast.Name) else METHODS[name][0]
            message += METHODS[name][1]
        if kind in CLASSES and message.strip("… ") and not isinstance(first, ast.Name):
            yield kind, message, words(hint)


def words(node: ast.expr | None) -> str:
    """A text of the program as people read it; what is filled in is an ellipsis."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=values):
            return "".join(words(v) for v in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return words(left) + words(right)
        case None | ast.Constant(value=None):
            return ""
    return "…"


def page() -> str:
    """The whole page."""
    parts = [HEAD + "".join(f"- `{name}`: {what}\n" for name, what in CLASSES.items())]
    taken: set[Path] = set()
    for title, *places in FAMILIES:
        rows: set[tuple[str, str, str]] = set()
        for place in places:
            at = PACKAGE / place
            found = [at] if place.endswith(".py") else sorted(at.rglob("*.py"))
            for path in found:
                if path not in taken and path.name != "errors.py":
                    taken.add(path)
                    rows |= set(told(path))
        if rows:
            lines = [
                f"| {cell(m)} | {cell(h)} | {k} |\n" for k, m, h in sorted(rows, key=lambda row: (row[1].lower(), row))
            ]
            parts.append(
                f"\n## {title}\n\n| what it says | what to do | class |\n| --- | --- | --- |\n" + "".join(lines)
            )
    return "".join(parts)


def cell(text: str) -> str:
    """A cell of a table: markup in the text stays text."""
    plain = " ".join(text.split())
    for sign in "\\|<>*_`[]":
        plain = plain.replace(sign, "\\" + sign)
    return plain


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
