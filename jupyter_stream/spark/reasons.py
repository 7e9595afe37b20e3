"""What is wrong, in one line, of what Spark, its Python processes and the bridge between them say in two hundred."""

from __future__ import annotations

import re
from typing import Final

_WRAPPERS: Final = ("STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR")
"""What Spark says around an error."""

_ENDS: Final = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)+([A-Za-z_].*)")
"""The line behind a trace of Python's: what was raised, whatever it is called."""


def reason_of(error: BaseException) -> str:
    """What is wrong, of an exception of PySpark's, whose message may only say that another was thrown."""
    return reason(f"{error}\n{getattr(error, '_stackTrace', None) or ''}") or type(error).__name__


def reason(text: str) -> str:
    """What is wrong, from one of Spark's messages: its own words without the query's numbers and the trace."""
    named = re.finditer(r"\[([A-Z][A-Z0-9_.]+)\] ", text)
    cause = next((text[m.start() :].split("\n")[0] for m in named if m[1] not in _WRAPPERS), text)
    raised = re.findall(
        r"^([A-Za-z_][\w.]*(?:Error|Exception)\b.*)$", text.partition("Traceback (most recent")[2], re.MULTILINE
    )
    raised = raised or _ENDS.findall(text)
    if raised and "Traceback" in cause:  # of Python's own traces the last line says it
        cause = raised[-1] if len(raised) == 1 else next((r for r in raised if "Py4J" not in r), raised[0])
    lost = re.search(r"most recent failure: Lost task [^:\n]*: (?:[\w.$]+: )?(.+)", text)
    if cause is text and lost and not raised:  # a task ended without a word of Python's or Spark's own
        cause = lost[1]
    cause = re.split(r"\s*(?:SQLSTATE|== SQL|\n\s*at |JVM stacktrace)", cause, maxsplit=1)[0]
    cause = re.sub(r'(If necessary|You may) set "[^"]+" to "[^"]+" to bypass this error\.', "", cause)
    return " ".join(cause.split())[:500]
