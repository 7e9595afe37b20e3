"""Findings for people: a script that shows the difference again."""

from __future__ import annotations

import re

from tests.differential.cases import Outcome
from tests.differential.engines import declarations
from tests.differential.functions import Judged
from tests.differential.rows import NAMES, TYPES
from tests.differential.spark_values import SETTINGS


def script(outcome: Outcome, tables: bool) -> str:
    """A case of rows and a query, to be pasted into Python."""
    used = [n for n in NAMES if re.search(rf"\b{n}\b", outcome.text)]
    lines = ["import polars as pl", "from jupyter_stream import Session", "", f"columns = {list(TYPES)}"]
    for name in used:
        rows = outcome.rows.tables[name]
        lines.append(f"{name} = pl.DataFrame({rows}, columns, orient='row')" if rows else f"{name} = ...  # no rows")
    lines += ["", "session = Session(globals())"]
    declared = [d for d in declarations(outcome.rows, tables) if re.search(r"(?:TABLE|STREAM) (\w+)", d)[1] in used]  # type: ignore[index]
    if not tables:
        lines.append(f"# {outcome.rows.batch} rows at a time: that may matter")
    lines += [f'session.execute("{d.replace("python://", "frame://")}")' for d in declared]
    lines += [f'(query,) = session.execute("""{outcome.text}""")', "query.wait(60); print(query.to_polars())"]
    if outcome.text.startswith("CREATE VIEW"):
        lines.append("print(query.changes())")
    lines += [f"# DuckDB is asked: {outcome.theirs}", f"# {outcome.found}"]
    return "\n".join(lines)


def call_script(judged: Judged) -> str:
    """A call, to be pasted into Python."""
    settings = "; ".join(f"{k}={SETTINGS[k]}" for k in ("spark.sql.ansi.enabled", "spark.sql.session.timeZone"))
    return "\n".join(
        (
            "import polars as pl",
            "from jupyter_stream import Session",
            "",
            "session = Session({'one': pl.DataFrame({'i': [1]})})",
            "session.execute(\"CREATE TABLE one (i BIGINT) SOURCE 'frame://one'\")",
            f'(query,) = session.execute("""{judged.text}""")',
            "query.wait(60); print(query.to_polars(), query.errors)",
            f"# {judged.found}; Spark with {settings} is asked the same of VALUES",
        )
    )


def shape(text: str) -> str:
    """What findings of one cause have in common, roughly: the text without numbers and names."""
    return re.sub(r"'[^']*'|\b[tc]?\d+(\.\d+)?(e\d+)?\b", "?", text)
