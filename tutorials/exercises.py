"""What the cells that check an exercise say."""

from __future__ import annotations

import pandas as pd
from IPython.core.getipython import get_ipython


def compare(name: str, truth: pd.DataFrame) -> str:
    """Says whether the notebook's query `name` has the rows of `truth`, in any order."""
    shell = get_ipython()
    query = None if shell is None else shell.user_ns.get(name)
    if query is None:
        return f"There is no query {name} yet. Write it in the cell above, run it, and run this cell again."
    query.wait()
    rows = query.to_pandas()
    lacking = [column for column in truth if column not in rows]
    if lacking:
        return f"{name} has no column {lacking[0]}. It should have {', '.join(truth)}."
    right = len(rows[list(truth)].merge(truth, how="inner"))
    if right == len(rows) == len(truth):
        return f"Right: all {right:,} rows agree."
    return f"Not yet: {right:,} of your {len(rows):,} rows are right, and there should be {len(truth):,}."
