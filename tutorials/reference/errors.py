"""Writes errors.md: every mistake the program tells, and what it says to do about it, read from the program's own text.

`python tutorials/reference/errors.py` brings the page up to date; a test fails while it isn't. Not for errors of Python.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = Path(__file__).with_name("errors.md")
CLASSES = {
    "QueryError": "a mistake in what was written, with its place",
    "SourceError": "a source that can't be opened: a missing file, an unknown name in the notebook, a wrong option",
    "UnsupportedError": "a query that is well formed and can't be run here, with the reason and the way round",
    "EngineError": "a failure of ours while a query ran; the log has the details",
}
METHODS = {
    "error": ("QueryError", ""),
    "fail": ("QueryError", ""),
    "unsupported": ("UnsupportedError", " isn't available in this version"),
    "missing": ("QueryError", " is missing here"),
}
"""What the parser and the binder tell errors with: the class unless another is said, and what they add to the message."""
FAMILIES = (
    ("Statements and expressions", "jupyter_stream/language"),
    ("Functions and aggregates", "jupyter_stream/functions", "jupyter_stream/aggregates", "jupyter_stream/user_aggregates.py"),
    ("Sources", "jupyter_stream/sources"),
    ("Tables", "jupyter_stream/tables.py", "jupyter_stream/table_statements.py"),
    ("Windows, plans and operators", "jupyter_stream/windows", "jupyter_stream/plan", "jupyter_stream/operators",
     "jupyter_stream/state", "jupyter_stream/summaries", "jupyter_stream/summary_statements.py"),
    ("On Spark", "jupyter_stream/spark"),
    ("Recordings and replays", "jupyter_stream/recordings.py", "jupyter_stream/engine/recorder.py"),
    ("Charts and dashboards", "jupyter_stream/views", "jupyter_stream/dashboards.py"),
    ("Magics", "magics"),
    ("Sessions and running queries", "jupyter_stream"),
)  # fmt: skip
"""Where errors are told, by what they are about; a file belongs to the first family that has it."""
HEAD = """# Errors

Every mistake that Jupyter Stream tells, and what it says to write instead; written by [errors.py](errors.py) from the program
itself.
`…` stands for a name, a value or a reason. In a query an error has its line and column, counted as the notebook shows them, and
a caret under the place. All of them are a `StreamError`:

"""


def told(path: Path) -> Iterator[tuple[str, str, str]]:
    """The class, the message and the hint of each error that a file makes."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        first, rest = node.args[0], node.args[1:]
        said = {k.arg: k.value for k in node.keywords}
        message, hint, kind = words(first), said.get("hint"), name
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
            found = [ROOT / place] if place.endswith(".py") else sorted((ROOT / place).rglob("*.py"))
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
