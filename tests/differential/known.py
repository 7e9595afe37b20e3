"""Differences that are known: of calls, meant to be, with the reason; of queries, being mended, to be emptied when they are."""

from __future__ import annotations

import re

from tests.differential.calls import Drawn

MEANT: tuple[tuple[str, str, str], ...] = (
    ("element_at|\\[\\]", r"CAST\(NULL AS (TINYINT|SMALLINT|INT|BIGINT)\)", "Spark 4 has 0 for the item of no number"),
    ("from_unixtime", r"\d{19}", "Spark's seconds wrap around; here they are too many to show"),
    (
        "ceil|ceiling|floor",
        r"Infinity|e18|e19|e38|e300",
        "the least and greatest BIGINT here, as before Spark 4.3, which fails",
    ),
    ("jaro_winkler_similarity", "", "less than 0.7 gets no more for a beginning here and in DuckDB, as Winkler has it"),
    ("substr|substring", "-2147483648", "two arguments: to the end here, 2147483647 characters in Spark"),
)
"""Of calls: patterns of the function's name and of its query, and why it may differ."""


def known(name: str, drawn: Drawn, here: object, there: object) -> str:
    """Why a call may differ, empty if it may not."""
    text = " ".join((drawn.text, *drawn.columns))
    return next((why for who, what, why in MEANT if re.fullmatch(who, name) and re.search(what, text)), "")


QUERIES: tuple[tuple[str, str], ...] = ()
"""Of queries: a pattern of the text and a pattern of what is said of the difference."""


def known_query(text: str, found: str) -> bool:
    """Whether a query may differ so."""
    return any(re.search(pattern, text) and re.search(said, found) for pattern, said in QUERIES)
