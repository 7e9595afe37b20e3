"""What the cells that check an exercise say."""

from __future__ import annotations

from html import escape
from typing import Any

import pandas as pd
from IPython.core.getipython import get_ipython

EMPTY = "Write your answer in the cell above, run it, and run this cell again."


class Verdict(str):
    """A sentence, shown with a coloured mark and without quotes."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        colour, mark = ("#0b7a55", "\u2714") if self.startswith("Right") else ("#c8500a", "\u25b7")
        return (
            f"<div style='border-left:4px solid {colour};padding:4px 10px;font-size:14px'>{mark} {escape(self)}</div>"
        )


def check(answer: Any, right: Any, hint: str = "") -> Verdict:
    """Says whether a value is the one asked for; None is no answer yet."""
    if answer is None:
        return Verdict(EMPTY)
    return Verdict("Right." if answer == right else f"Not yet. {hint}".rstrip())


def compare(name: str, truth: pd.DataFrame) -> Verdict:
    """Says whether the notebook's query `name` has the rows of `truth`, in any order."""
    shell = get_ipython()
    query = None if shell is None else shell.user_ns.get(name)
    if query is None:
        return Verdict(f"There is no query {name} yet. {EMPTY}")
    query.wait()
    rows = query.to_pandas()
    lacking = [column for column in truth if column not in rows]
    if lacking:
        return Verdict(f"{name} has no column {lacking[0]}. It should have {', '.join(truth)}.")
    right = len(rows[list(truth)].merge(truth, how="inner"))
    if right == len(rows) == len(truth):
        return Verdict(f"Right: all {right:,} rows agree.")
    return Verdict(f"Not yet: {right:,} of your {len(rows):,} rows are right, and there should be {len(truth):,}.")
