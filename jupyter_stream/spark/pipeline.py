"""A project of Spark's declarative pipelines, from queries all of whose parts are Spark's own. Not for running it.

A query becomes a streaming table, or a flow into a sink of files. Its translation is the one of `to_spark()`, written down.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import Final

from jupyter_stream.errors import QueryError
from jupyter_stream.plan.logical import BoundQuery, walk
from jupyter_stream.secrets import hidden
from jupyter_stream.spark import preflight
from jupyter_stream.spark.frame import frame_of, refuse, refuse_ours
from jupyter_stream.spark.own_functions import own_calls
from jupyter_stream.spark.rows import RUNS
from jupyter_stream.spark.written import WrittenSpark

SPECIFICATION: Final = "spark-pipeline.yml"
DEFINITIONS: Final = "transformations/queries.py"
_FORMATS: Final = {"parquet": "parquet", "json": "json", "csv": "csv"}
_READ: Final = frozenset({"format", "mode"})
"""Options of a sink that a pipeline has as well."""
_SETTINGS: Final = {"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "true"}
"""Without them expressions would mean something else."""


@dataclass(frozen=True, slots=True)
class PipelineFlow:
    """A query of a pipeline.

    Attributes:
        name: what its table is called, or, of one into a sink, its sink.
        query: what it computes, in the columns that its answers are to have.
        uri: where they go; None for a table of the pipeline's own.
        mode: how they are written there.
        options: those of the sink, names in lower case.
    """

    name: str
    query: BoundQuery
    uri: str | None = None
    mode: str = "append"
    options: Mapping[str, str] | None = None


def reasons(flow: PipelineFlow) -> list[str]:
    """What of a query isn't Spark's own, a line for each; none where it can be in a pipeline."""
    verdicts = preflight.on_spark(flow.query)
    found = [
        f"{v.what}: {v.support.kind}. {v.support.how}"
        for v in verdicts
        if v.support.whole or v.support.kind not in RUNS
    ]
    if not found:
        try:
            refuse_ours(flow.query)
            refuse(flow.query)
        except QueryError as error:
            found = [str(error)]
    return list(dict.fromkeys([*found, *_of_functions(flow), *_of_sink(flow)]))


def _of_functions(flow: PipelineFlow) -> Iterator[str]:
    for call in own_calls(e for plan in walk(flow.query.plan) for e in plan.expressions):
        yield f"function {call.function}: Python of your own, which a pipeline doesn't have. CREATE FUNCTION in SQL works there."


def _of_sink(flow: PipelineFlow) -> Iterator[str]:
    if flow.uri is None:
        return
    options = flow.options or {}
    if not flow.uri.startswith("file://"):
        yield (
            f"sink {flow.uri.partition('://')[0]}://: a pipeline writes its own tables, and files. "
            "Leave INSERT INTO out: the answers are then a table of the pipeline's."
        )
    elif flow.mode != "append":
        yield f"sink {flow.uri}: a pipeline adds to files, and mode = '{flow.mode}' does not."
    for name in sorted(options.keys() - _READ):
        yield f"sink {flow.uri}: a pipeline has nothing for the option {name}. Leave it out."


def files_of(name: str, folder: Path, flows: Sequence[PipelineFlow], source: str) -> dict[str, str]:
    """The project's files, by their paths in its folder.

    Args:
        name: what it is called.
        folder: where it will be.
        flows: queries for which there are no `reasons`.
        source: what they were made from, for people.
    """
    return {
        SPECIFICATION: _specification(name, folder),
        DEFINITIONS: _definitions(flows, source),
    }


def _specification(name: str, folder: Path) -> str:
    settings = "".join(f"  {key}: {json.dumps(value)}\n" for key, value in _SETTINGS.items())
    storage = (folder.absolute() / "storage").as_uri()
    return (
        f"name: {json.dumps(name)}\nstorage: {json.dumps(storage)}\n"
        f"libraries:\n  - glob:\n      include: {DEFINITIONS}\nconfiguration:\n{settings}"
    )


def _definitions(flows: Sequence[PipelineFlow], source: str) -> str:
    code = "\n\n".join(_defined(number, flow) for number, flow in enumerate(flows, 1))
    return (
        f'"""Made by `jupyter-stream pack --pipeline` from {source}. Run in this project\'s folder: spark-pipelines run"""\n\n'
        "from pyspark import pipelines as dp\nfrom pyspark.sql import DataFrame, SparkSession\n"
        f"from pyspark.sql.functions import expr\n\nspark = SparkSession.active()\n\n\n{code}"
    )


def _defined(number: int, flow: PipelineFlow) -> str:
    body = frame_of(flow.query, WrittenSpark()).result()
    text = hidden(" ".join(flow.query.text.split()))
    if flow.uri is None:
        head = f"@dp.table(name={flow.name!r}, comment={text!r})\n"
    else:
        given = flow.options or {}
        options = {"path": str(Path(flow.uri.removeprefix("file://").partition("?")[0]).expanduser().absolute())}
        kind = _FORMATS[given.get("format", "parquet").strip().lower()]
        if kind == "csv":
            options["header"] = "true"
        head = (
            f"dp.create_sink(name={flow.name!r}, format={kind!r}, options={options!r})\n\n\n"
            f"@dp.append_flow(target={flow.name!r}, name={f'into_{flow.name}'!r})\n"
        )
    return head + f"def query{number}() -> DataFrame:\n    # {text}\n" + indent("\n".join(body), "    ") + "\n"


def named(flows: Iterable[PipelineFlow]) -> str | None:
    """The name that two of them have, which a pipeline can't have twice; None where there is none."""
    seen: set[str] = set()
    for flow in flows:
        if flow.name.lower() in seen:
            return flow.name
        seen.add(flow.name.lower())
    return None


__all__ = ["DEFINITIONS", "SPECIFICATION", "PipelineFlow", "files_of", "named", "reasons"]
