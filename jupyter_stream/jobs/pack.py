"""`jupyter-stream pack`: what a cluster needs to run jobs, or a project of Spark's declarative pipelines. It runs nothing."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_stream.errors import QueryError, StreamError
from jupyter_stream.jobs.cells import cells_of

if TYPE_CHECKING:
    from jupyter_stream.session.session import Session
    from jupyter_stream.spark.pipeline import PipelineFlow

_SCRIPT: Final = """\"\"\"The command `jupyter-stream` for spark-submit, which takes a script.\"\"\"

import sys

from jupyter_stream.jobs.command import main

sys.exit(main())
"""


def pack(output: Path | None) -> int:
    """Write the archive, and beside it the script that `spark-submit` runs; returns the exit code.

    Args:
        output: the archive's name; None for the usual one.
    """
    from jupyter_stream.spark import archive

    to = Path(archive.NAME) if output is None else output
    script = to.with_suffix(".py")
    try:
        modules = archive.write(to)
        script.write_text(_SCRIPT)
    except OSError as error:
        print(f"{to} can't be written: {error.strerror or error}", file=sys.stderr)
        return 2
    print(f"{to}: {modules} modules. {script}: what spark-submit runs:")
    print(
        f"  spark-submit --master spark://HOST:7077 --py-files {to} {script} run FILE --engine spark --checkpoint DIR"
    )
    print("The cluster's Python needs polars, numpy, pyarrow, pandas and protobuf.")
    return 0


def pack_pipeline(folder: Path, file: Path, values: Mapping[str, object]) -> int:
    """Write a project for `spark-pipelines run`; returns the exit code, 2 where a query can't be in one.

    Args:
        folder: where; it must not be there, or be empty, or be such a project, which is written anew.
        file: SQL text, or a notebook.
        values: what `:name` stands for.
    """
    from jupyter_stream.spark import pipeline

    try:
        flows = _flows(file, values)
        _refuse(file, flows)
        if folder.is_dir() and any(folder.iterdir()) and not (folder / pipeline.SPECIFICATION).exists():
            raise QueryError(f"{folder} holds other files", hint="Name a new folder.")
        for name, text in pipeline.files_of(file.stem, folder, flows, file.name).items():
            to = folder / name
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_text(text, encoding="utf-8")
    except StreamError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{folder} can't be written: {error.strerror or error}", file=sys.stderr)
        return 2
    for flow in flows:
        print(f"{flow.name}: {'a streaming table' if flow.uri is None else f'into {flow.uri}'}")
    for sentence in dict.fromkeys(sentence for flow in flows for sentence in _open(flow)):
        print(sentence)
    print(f"Run it: cd {folder} && spark-pipelines run")
    return 0


def _flows(file: Path, values: Mapping[str, object]) -> list[PipelineFlow]:
    """The queries of a file, with their names and sinks. Raises `QueryError` for a mistake in it."""
    from jupyter_stream.jobs.run import Job, placed, runner_of
    from jupyter_stream.session.dry_run import queries_in
    from jupyter_stream.spark.pipeline import PipelineFlow

    cells = cells_of(file)
    runner = runner_of(cells, Job(file, {"engine": "spark"}, values))
    session: Session = runner.session
    flows: list[PipelineFlow] = []
    try:
        for cell in cells:
            with placed(cell):
                name = runner.name(cell)
                for asked in queries_in(session, cell.text, values):
                    own, name = asked.name or name or f"q{len(flows) + 1}", None
                    into = asked.into
                    if into is None:
                        flows.append(PipelineFlow(own, asked.answers))
                    else:
                        options = {key.lower(): value for key, value in into.target.options.items()}
                        flows.append(PipelineFlow(own, asked.answers, into.target.uri, into.order.mode, options))
    finally:
        session.close()
    return flows


def _refuse(file: Path, flows: list[PipelineFlow]) -> None:
    """Raise `QueryError` where there is nothing to pack, or something that can't be, with all of it."""
    from jupyter_stream.spark.pipeline import named, reasons

    if not flows:
        raise QueryError(f"{file} starts no query")
    twice = named(flows)
    if twice is not None:
        raise QueryError(f"{twice} is written to by two queries", hint="A pipeline has a sink or table for each query.")
    lines = []
    for flow in flows:
        found = reasons(flow)
        if found:
            lines += [f"{flow.name}:", *(f"  {line}" for line in found)]
    if lines:
        text = "\n".join(lines)
        raise QueryError(
            f"not all of {file.name} is Spark's own, and a pipeline has nothing else:\n{text}",
            hint="Such queries run with jupyter-stream run --engine spark.",
        )


def _open(flow: PipelineFlow) -> list[str]:
    """What a pipeline's answers are without, for people."""
    from jupyter_stream.spark.frame import open_answers

    return open_answers(flow.query)
