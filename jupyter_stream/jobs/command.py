"""The command line: `jupyter-stream run FILE` and `jupyter-stream check FILE`, also as `python -m jupyter_stream`."""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jupyter_stream import __version__
from jupyter_stream.errors import QueryError
from jupyter_stream.syntax.durations import parse_duration

_EXAMPLES = """examples:
  jupyter-stream run pipeline.sql                          until its streams end, or Ctrl-C
  jupyter-stream run pipeline.sql --until-end              what is there now, such as every night from cron
  jupyter-stream run notebook.ipynb --for 1h --log json    its %%stream cells
  jupyter-stream run pipeline.sql --set carrier=UA         UA where the text says :carrier
  jupyter-stream run pipeline.sql --over 'file://2013/*.parquet'
  jupyter-stream check pipeline.sql --engine spark         what would run, and where
  jupyter-stream serve pipeline.sql --port 8765            its queries over HTTP, until Ctrl-C
  jupyter-stream pack -o packed.zip                        what spark-submit --py-files needs, and packed.py to submit
  jupyter-stream pack --pipeline project pipeline.sql      a project for spark-pipelines run, where all is Spark's own

exit codes: 0 ended, 1 a query failed, 2 a mistake in the text or the command, 130 stopped by SIGTERM or Ctrl-C.
Answers of queries that write nowhere go to stdout, a line of JSON for each row; all else goes to stderr."""


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code.

    Args:
        words: what stands behind `jupyter-stream`; None for the process's own.
    """
    said = _parser().parse_args(words)
    if said.command == "pack":
        from jupyter_stream.jobs.pack import pack

        if said.pipeline is None and said.file is None:
            return pack(None if said.output is None else Path(said.output))
        return _packed_pipeline(said)
    try:
        job = None if said.file is None else _job(said)
    except QueryError as error:
        print(error, file=sys.stderr)
        return 2
    from jupyter_stream.jobs.report import Report
    from jupyter_stream.jobs.run import check, run

    report = Report(said.log)
    if said.command == "serve":
        from jupyter_stream.jobs.serve import Reach, serve

        return serve(job, Reach(said.port, said.host, said.name, not said.no_token), report)
    assert job is not None
    return check(job, report) if said.command == "check" else run(job, report)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "jupyter-stream",
        description="Run continuous queries without a notebook.",
        epilog=_EXAMPLES.replace("%", "%%"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"jupyter-stream {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    kinds = (
        ("run", "run a file"),
        ("check", "say what a file would run, and run nothing"),
        ("serve", "serve queries, answers, figures and live pages over HTTP"),
    )
    for name, help in kinds:
        command = commands.add_parser(
            name, help=help, epilog=parser.epilog, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        few = "?" if name == "serve" else None
        what = "SQL text, or a notebook, whose %%%%stream cells are run"
        command.add_argument("file", metavar="FILE", nargs=few, help=what)
        command.add_argument("--engine", choices=("kernel", "spark"), help="where its queries run (kernel)")
        command.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="what :NAME stands for")
        command.add_argument("--log", choices=("text", "json"), default="text", help="how it tells of itself (text)")
        command.add_argument("--master", help="on Spark: where that runs, such as spark://host:7077")
        command.add_argument("--conf", action="append", metavar="KEY=VALUE", help="on Spark: a setting of Spark")
        command.add_argument(
            "--checkpoint", metavar="DIR", help="the folder its queries go on from when it is run again"
        )
        command.add_argument("--checkpoint-every", metavar="TIME", help="in the kernel: time between cuts (10s)")
        command.add_argument("--checkpoint-reset", action="store_true", help="in the kernel: begin anew")
        command.add_argument("--trigger", metavar="TIME", help="on Spark: the time between micro-batches")
        command.add_argument("--python", action="store_true", help="run a notebook's other code cells as well")
        if name == "serve":
            command.add_argument("--port", type=int, metavar="N", help="where (a free one from 8765 on)")
            command.add_argument("--host", default="127.0.0.1", help="the address it listens at (127.0.0.1)")
            command.add_argument("--name", action="append", default=[], help="a host name it may be called by as well")
            command.add_argument("--no-token", action="store_true", help="answer whoever reaches it")
            continue
        command.add_argument("--until-end", action="store_true", help="read what is there now, and end")
        command.add_argument("--for", dest="seconds", metavar="TIME", help="end after so long, such as 90s or 1h")
        command.add_argument("--over", metavar="URI", help="files to read instead of the streams' own sources")
    pack = commands.add_parser("pack", help="make the archive that Spark's executors elsewhere need")
    pack.add_argument("-o", dest="output", metavar="ZIP", help="the archive (jupyter_stream.zip)")
    pack.add_argument("--pipeline", metavar="DIR", help="a project of Spark's declarative pipelines, made of FILE")
    pack.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="what :NAME stands for in it")
    pack.add_argument(
        "file", nargs="?", metavar="FILE", help="SQL text, or a notebook, whose queries are all Spark's own"
    )
    return parser


def _packed_pipeline(said: argparse.Namespace) -> int:
    from jupyter_stream.jobs.pack import pack_pipeline

    try:
        if said.pipeline is None or said.file is None:
            raise QueryError("--pipeline takes a folder and a file", hint="Write pack --pipeline project pipeline.sql.")
        values = dict(_value(pair) for pair in said.set)
    except QueryError as error:
        print(error, file=sys.stderr)
        return 2
    return pack_pipeline(Path(said.pipeline), Path(said.file), values)


def _job(said: argparse.Namespace) -> Any:
    """The job that was asked for. Raises `QueryError` for what can't be."""
    from jupyter_stream.jobs.run import Job

    values = dict(_value(pair) for pair in said.set)
    options = {
        name: getattr(said, name)
        for name in ("engine", "master", "conf", "checkpoint", "checkpoint_every", "checkpoint_reset", "trigger")
        if getattr(said, name, None)
    }
    if said.command == "serve":
        return Job(Path(said.file), options, values, python=said.python)
    seconds = None if said.seconds is None else _seconds(said.seconds)
    return Job(Path(said.file), options, values, said.until_end, seconds, said.over, said.python)


def _value(pair: str) -> tuple[str, object]:
    name, mark, text = pair.partition("=")
    if not mark or not name.isidentifier():
        raise QueryError(f"--set takes NAME=VALUE, not {pair}", hint="Write --set carrier=UA --set least=10.")
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return name, text
    return name, value if isinstance(value, int | float | bool | str) else text


def _seconds(text: str) -> float:
    micros = parse_duration(text)
    if micros is None or micros <= 0:
        raise QueryError(f"--for takes a length of time, not {text}", hint="Write --for 90s or --for '1 hour'.")
    return micros / 1_000_000
