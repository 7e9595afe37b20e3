"""What to write for words that don't belong into a window: those of other systems, and pieces of other clauses."""

from __future__ import annotations

from jupyter_stream.syntax.diagnose import did_you_mean

_PART_WORDS = (
    "RANGE", "ROWS", "SLIDE", "TUMBLING", "NOW", "UNBOUNDED", "SESSION", "PARTITION BY", "ON", "ORIGIN", "WHERE", "BY RANK",
    "PRECEDING", "WA", "WATTR", "RATTR", "SATTR", "PA",
)  # fmt: skip
EXAMPLE = "Write [RANGE 10 MINUTES SLIDE 1 MINUTE], [RANGE 5 MINUTES TUMBLING] or [ROWS 100 SLIDE 10]."
OVER_EXAMPLE = "Write OVER (PARTITION BY k ROWS 10 PRECEDING) or OVER (RANGE 10 MINUTES PRECEDING)."
_SLIDES = "Write SLIDE: [RANGE 10 MINUTES SLIDE 1 MINUTE]."
_LASTS = "Write RANGE for a length of time, [RANGE 10 MINUTES], or ROWS for a number of rows, [ROWS 100]."
_LANDMARK = "Write [RANGE ALL SLIDE 1 MINUTE]: all rows so far, every minute."
_CLOSE = "Close the window with ] before it."
_MEANT = {
    **dict.fromkeys(("EVERY", "STEP", "HOP", "HOPPING", "ADVANCE", "SLIDING", "PERIOD"), _SLIDES),
    **dict.fromkeys(("SIZE", "LAST", "LENGTH", "DURATION", "WITHIN"), _LASTS),
    **dict.fromkeys(("FROM", "SELECT", "AS", "HAVING", "JOIN"), _CLOSE),
    **dict.fromkeys(
        "+-*/%|",
        "Write columns and single numbers only here, and compute the value before, in a subquery or in the notebook.",
    ),
    ")": "Close the window with ].",
    "TUMBLE": "Did you mean TUMBLING? Write [RANGE 5 MINUTES TUMBLING].",
    "LANDMARK": _LANDMARK,
    "ALL": _LANDMARK,
    "GAP": "Write [SESSION 30 MINUTES].",
    "GROUP": "In a window of rows write PARTITION BY: [PARTITION BY k ROWS 100]. GROUP BY comes after FROM and WHERE.",
    "FOLLOWING": "Write PRECEDING, or leave it out: a window looks back, and later rows are not known yet.",
    "DESC": "Remove DESC: rows are in the order of their times, the earliest first.",
}


def instead_of(word: str, over: bool) -> str:
    """What to write instead of a word that isn't expected.

    Args:
        word: as it was written.
        over: whether it stands behind OVER, in parentheses.
    """
    example = OVER_EXAMPLE if over else EXAMPLE
    return _MEANT.get(word.upper()) or did_you_mean(word, _PART_WORDS) or example


__all__ = ["EXAMPLE", "OVER_EXAMPLE", "instead_of"]
