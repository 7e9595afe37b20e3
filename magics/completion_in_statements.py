"""What fits at the cursor inside a statement, told by what stands before it. Knows the language's words, nothing of IPython."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from jupyter_stream.session.session import Session

Word = tuple[str, str]
"""What is inserted, and its kind as front ends show it."""

_WORD: Final = re.compile(r"[\w$]*$")
_WITH: Final = re.compile(r"\bWITH\s*\([^)]*$", re.IGNORECASE)
_VALUE: Final = re.compile(r"(\w+)\s*=\s*'([^']*)$")
_QUOTED: Final = re.compile(r"'([^']+)'")
_SCHEME: Final = re.compile(r"(?:SOURCE|FROM|JOIN)\s+'(\w*)$", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"(?:SOURCE|FROM|JOIN)\s+'(\w+)://([^']*)$", re.IGNORECASE)
_PATH: Final = re.compile(r"(?:FROM|JOIN)\s+'([^':]*)$", re.IGNORECASE)
_WINDOW: Final = re.compile(r"\[([^\[\]]*)$")
_COLUMNS: Final = re.compile(
    r"\bCREATE\s+(?:RETROACTIVE\s+)?(?:STREAM|TABLE)\s+\S+\s*\((.*)$", re.IGNORECASE | re.DOTALL
)
"""What is written of the columns of a declaration, up to the cursor."""
_TYPES: Final = (
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10,2)", "STRING", "BINARY", "DATE",
    "TIMESTAMP", "INTERVAL", "ARRAY<INT>", "STRUCT<a: INT>",
)  # fmt: skip
_EMIT: Final = re.compile(r"\bEMIT\s+(\w*)$", re.IGNORECASE)
_DOT: Final = re.compile(r"(\w+)\.(\w*)$")
_NAMED: Final = re.compile(
    r"(?:\b(?:FROM|JOIN|UNION|ALL)|,)\s*(?:'([^']+)'|([\w-]+))\s*(?:\[[^\]]*\])?\s*(?:AS\s+)?(\w+)?", re.IGNORECASE
)
"""A stream in FROM, and what it is called there."""
_SOURCE: Final = re.compile(r"\bSOURCE\s+'(\w+)://", re.IGNORECASE)

_WINDOWS: Final = (
    "RANGE 10 MINUTES SLIDE 1 MINUTE", "RANGE 1 MINUTE TUMBLING", "RANGE 5 MINUTES", "RANGE UNBOUNDED",
    "RANGE ALL SLIDE 1 MINUTE", "ROWS 100", "ROWS 100 SLIDE 10", "SESSION 30 MINUTES", "NOW", "PARTITION BY",
)  # fmt: skip
_UNITS: Final = ("SECONDS", "MINUTES", "HOURS", "DAYS", "MILLISECONDS")
_BEHIND_UNIT: Final = ("SLIDE", "TUMBLING", "ON", "ORIGIN")
_TOLERANCE: Final = re.compile(r"\bWITH\s+TOLERANCE\s*\([^)]*?(\w*)$", re.IGNORECASE)
_TOLERATED: Final = ("WINDOW AT LEAST 10 MINUTES", "SAMPLE AT LEAST 20", "ERROR AT MOST 5")
_EMITS: Final = ("FINAL", "CHANGES", "EVERY 10 SECONDS")
_MOST_FILES: Final = 200


def in_statement(before: str, so_far: str, body: str, session: Session | None) -> tuple[list[Word], str]:
    """Words that fit, and the fragment they replace.

    Args:
        before: the line up to the cursor.
        so_far: the cell up to the cursor, without its first line.
        body: the whole cell, without its first line.
        session: what is declared; None while there is none.
    """
    found = _in_quotes(so_far, session)
    if found is not None:
        return found
    match = _WORD.search(before)
    fragment = match[0] if match else ""
    statement = so_far.rpartition(";")[2]
    window = _WINDOW.search(statement)
    if window:
        return _in_window(window[1], body, session)
    emit = _EMIT.search(statement)
    if emit:
        return starting(emit[1], _cased(_EMITS, emit[1])), emit[1]
    tolerance = _TOLERANCE.search(statement)
    if tolerance:
        return starting(tolerance[1], _cased(_TOLERATED, tolerance[1])), tolerance[1]
    if _WITH.search(statement):
        return starting(fragment, ((name, "option") for name in _with_options(statement))), fragment
    declared = _in_columns(statement, fragment)
    if declared is not None:
        return declared, fragment
    dot = _DOT.search(before)
    if dot:
        return starting(dot[2], _of_qualifier(dot[1], body, session)), dot[2]
    if not fragment:
        return [], fragment
    streams = [(name, "stream") for name in session.catalog.names] if session is not None else []
    frames = [(name, "frame") for name in session.catalog.frames] if session is not None else []
    words = [*columns(body, session), *streams, *frames, *_functions(session), *_keywords(fragment)]
    return starting(fragment, words), fragment


def _in_quotes(so_far: str, session: Session | None) -> tuple[list[Word], str] | None:
    """What fits into a text in quotes; None where the cursor stands in none."""
    scheme = _SCHEME.search(so_far)
    if scheme:
        from jupyter_stream.sources import SOURCES

        found = starting(scheme[1], ((f"{s.scheme}://", "source") for s in SOURCES))
        path = _PATH.search(so_far)
        return (found + _files(path[1])[0] if path else found), scheme[1]
    address = _ADDRESS.search(so_far)
    if address:
        return _addresses(address[1].lower(), address[2], session)
    path = _PATH.search(so_far)
    if path:
        return _files(path[1])
    value = _VALUE.search(so_far)
    if value and _WITH.search(so_far[: value.start(1)]):
        return starting(value[2], ((v, "value") for v in _with_values(value[1]))), value[2]
    line = so_far.rpartition("\n")[2]
    return ([], "") if line.count("'") % 2 else None


def _addresses(scheme: str, rest: str, session: Session | None) -> tuple[list[Word], str]:
    """What stands behind `scheme://`."""
    if scheme == "file":
        return _files(rest)
    if scheme == "frame":
        return starting(rest, ((n, "frame") for n in (session.catalog.frames if session is not None else ()))), rest
    if scheme == "python":
        names = session.catalog.iterables if session is not None else ()
        return starting(rest, ((n, "iterable") for n in names)), rest
    from jupyter_stream.sources.generate import GENERATORS
    from jupyter_stream.sources.system import GAUGES

    known = {"generate": tuple(GENERATORS), "system": tuple(GAUGES)}.get(scheme, ())
    return starting(rest, ((n, "source") for n in known)), rest


def _files(path: str) -> tuple[list[Word], str]:
    """Files and folders that go on from here; the fragment is the last part of the path."""
    folder, slash, fragment = path.rpartition("/")
    try:
        at = Path(folder + slash).expanduser() if slash else Path()
        entries = sorted(at.iterdir(), key=lambda p: p.name)
    except (OSError, RuntimeError, ValueError):  # RuntimeError: nobody is called so
        return [], fragment
    shown = [p for p in entries if not p.name.startswith(".") or fragment.startswith(".")][:_MOST_FILES]
    return [(p.name + ("/" if p.is_dir() else ""), "path") for p in shown if p.name.startswith(fragment)], fragment


def _in_window(inside: str, body: str, session: Session | None) -> tuple[list[Word], str]:
    """What goes on in `[`: a whole window at its beginning, then a unit, then what may stand behind a length."""
    match = _WORD.search(inside)
    fragment = match[0] if match else ""
    said = inside[: len(inside) - len(fragment)].upper().split()
    if not said:
        return starting(fragment, _cased(_WINDOWS, fragment)), fragment
    if said[-1] == "ON" or said[-2:] == ["PARTITION", "BY"]:
        return starting(fragment, columns(body, session)), fragment
    if said[-1].isdigit() and "ROWS" not in said[-3:]:
        return starting(fragment, _cased(_UNITS, fragment)), fragment
    if fragment or said[-1].endswith(_UNITS) or said[-1] + "S" in _UNITS:
        left = [w for w in _BEHIND_UNIT if w not in said]
        behind = starting(fragment, _cased(left, fragment))
        return (behind or starting(fragment, [*columns(body, session), *_keywords(fragment)])), fragment
    return [], fragment


def _in_columns(statement: str, fragment: str) -> list[Word] | None:
    """What goes on where columns are declared: a type or AS behind a name; None elsewhere, as in an expression."""
    match = _COLUMNS.search(statement)
    if match is None or _is_closed(match[1]):
        return None
    *before, item = re.split(r",(?![^(<]*[)>])", match[1])
    words = item[: len(item) - len(fragment)].split()
    names = [(each.split()[0], "column") for each in before if each.strip() and "FOR" not in each.upper().split()]
    upper = [word.upper() for word in words]
    if not words:
        return starting(fragment, _cased(("WATERMARK FOR",), fragment))
    if upper == ["WATERMARK", "FOR"]:
        return starting(fragment, names)
    if upper[:2] == ["WATERMARK", "FOR"]:
        return starting(fragment, _cased(("AS",), fragment) if len(words) == 3 else names)
    return starting(fragment, _cased((*_TYPES, "AS"), fragment)) if len(words) == 1 else None


def _is_closed(inside: str) -> bool:
    """Whether the parenthesis ends in what stands behind it."""
    depth = 0
    for sign in inside:
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            return True
    return False


def _of_qualifier(qualifier: str, body: str, session: Session | None) -> list[Word]:
    """The columns of what is called so in FROM; all, where that isn't a stream."""
    low = qualifier.lower()
    for match in _NAMED.finditer(body):
        name, alias = match[1] or match[2], match[3]
        if low in (name.lower(), (alias or "").lower()):
            found = _columns_of(name, session)
            if found:
                return found
    return columns(body, session)


def _columns_of(name: str, session: Session | None) -> list[Word]:
    from jupyter_stream.core.schema import type_name

    schema = session.catalog.columns_of(name) if session is not None else None
    return [] if schema is None else [(f.name, f"column {type_name(f.dtype)}") for f in schema]


def columns(body: str, session: Session | None) -> list[Word]:
    """Columns, with their types, of the streams and frames the cell names; of all streams while it names none yet."""
    if session is None:
        return []
    said = {word.lower() for word in re.findall(r"\w+", body)}
    quoted = _QUOTED.findall(body)
    known = [*session.catalog.names, *session.catalog.frames]
    named = [n for n in known if n.lower() in said or n in quoted] or list(session.catalog.names)
    found = [word for name in named for word in _columns_of(name, session)]
    made = [("window_start", "column TIMESTAMP"), ("window_end", "column TIMESTAMP"), ("row_num", "column BIGINT")]
    return list(dict([*reversed(made), *reversed(found)]).items())[::-1]


def _with_options(statement: str) -> list[str]:
    """Options of WITH: every stream's, and those of the source that is written; of all sources where none is."""
    from jupyter_stream.binding import OPTIONS as STREAM_OPTIONS
    from jupyter_stream.sources import SOURCES
    from jupyter_stream.sources.options import GENERAL

    scheme = _SOURCE.search(statement)
    own = [s for s in SOURCES if scheme is None or s.scheme == scheme[1].lower()]
    return sorted({*STREAM_OPTIONS, *GENERAL, *(name for source in own for name in source.options)})


def _with_values(option: str) -> list[str]:
    """The values that an option's description shows, in quotes."""
    from jupyter_stream.sources import SOURCES
    from jupyter_stream.sources.options import GENERAL

    texts = [GENERAL.get(option.lower(), ""), *(s.options.get(option.lower(), "") for s in SOURCES)]
    return list(dict.fromkeys(value for text in texts for value in _QUOTED.findall(text)))


def _functions(session: Session | None) -> list[Word]:
    """Functions and aggregates with their signatures, those of the user's own too."""
    from jupyter_stream.aggregates import AGGREGATES
    from jupyter_stream.functions import describe

    known = [*((a.name, a.signature) for a in AGGREGATES), *((f.name, f.signature) for f in describe())]
    if session is not None:
        from jupyter_stream.session import own_functions, user_aggregates

        own = [*user_aggregates.rows(session.catalog), *own_functions.rows(session.catalog)]
        known += [(name, signature) for name, signature, _, _ in own]
    return [(name, f"function {signature}") for name, signature in known if name[:1].isalpha()]


def _keywords(fragment: str) -> list[Word]:
    from jupyter_stream.syntax import KEYWORDS

    return _cased(KEYWORDS, fragment)


def _cased(words: Iterable[str], fragment: str) -> list[Word]:
    """Keywords, in lower case where the user writes so."""
    return [(word.lower() if fragment.islower() else word, "keyword") for word in words]


def starting(fragment: str, words: Iterable[Word]) -> list[Word]:
    """Those that go on from the fragment, each once."""
    low = fragment.lower()
    seen: dict[str, str] = {}
    for text, kind in words:
        if text.lower().startswith(low):
            seen.setdefault(text, kind)
    return list(seen.items())
