"""Progress of jobs, as a person reads it at a terminal."""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from jupyter_stream import Query, Session
from jupyter_stream.jobs.bars import SpeedGauge, bar, lasting
from jupyter_stream.sources import open_source
from jupyter_stream.sources.protocol import Request
from tests.tiers import slow
from tests.waiting import PATIENCE


def test_a_bar_has_one_width_and_fills_by_eighths() -> None:
    assert bar(0, "utf-8") == "░" * 20 and bar(1, "utf-8") == "█" * 20
    assert bar(0.5 + 1 / 160, "utf-8") == "█" * 10 + "▏" + "░" * 9
    assert bar(0.5, "latin-1") == "#" * 10 + "." * 10 == bar(0.5, None)
    assert {len(bar(i / 333, "utf-8")) for i in range(334)} == {20}


def test_rows_a_second_and_the_time_left_are_of_what_was_seen() -> None:
    clock = iter([0.0, 1.0, 3.0, 4.0])
    gauge = SpeedGauge(lambda: next(clock))
    assert str(gauge.pace(0, 0.0)) == ""
    assert str(gauge.pace(500, 0.05)) == "500 rows/s"  # too soon for a guess
    assert str(gauge.pace(3_000, 0.3)) == "1,000 rows/s, 7 s left"
    assert str(gauge.pace(4_000, None)) == "1,000 rows/s"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (59, "59 s"), (60, "1 min"), (200, "3 min 20 s"), (3_600, "1 h"), (7_500, "2 h 5 min")],
)
def test_lengths_of_time_have_two_units_at_most(seconds: float, words: str) -> None:
    assert lasting(seconds) == words


def _shares(uri: str, **names: object) -> list[float | None]:
    """How far a source says to be, with each chunk."""
    source, request = open_source(uri, None, {}, names), Request()
    return [request.share.value for _ in source.read(request)]


@slow
def test_files_frames_and_generators_know_how_far_they_are(tmp_path: Path) -> None:
    rows = pl.DataFrame({"ts": range(600_000), "v": range(600_000)})
    text = rows.write_csv()
    (tmp_path / "a.csv").write_text(text)
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(text.encode()))
    rows.write_parquet(tmp_path / "c.parquet", row_group_size=50_000)
    for uri in (f"file://{tmp_path}/*", "frame://rows", "generate://packets?rows=200000"):
        shares = [share or 0.0 for share in _shares(uri, rows=rows)]
        assert shares[-1] == 1 and sum(0 < share < 1 for share in shares) >= 2, uri
        assert shares == sorted(shares), uri


def test_a_query_is_as_far_as_its_input_and_at_its_end_where_that_ends() -> None:
    def numbers() -> Iterator[dict[str, int]]:
        yield {"ts": 1, "v": 1}
        assert seen.wait(PATIENCE)
        yield {"ts": 2, "v": 2}

    seen = threading.Event()
    text = "CREATE STREAM s (ts BIGINT, v BIGINT) ORDER BY ts SOURCE 'python://numbers'; SELECT v FROM s"
    with Session({"numbers": numbers}) as session:
        (query,) = (q for q in session.execute(text) if isinstance(q, Query))
        assert query.share is None  # nobody knows how many there will be
        seen.set()
        query.wait(PATIENCE)
        assert query.share == 1


BY_LOOKS = """
import sys
from jupyter_stream.jobs.command import main
from jupyter_stream.jobs.report import Report
from jupyter_stream.sources.pacing import WallClock

looks, drawn, made = 0, Report.progress, Report.__init__

def progress(report, queries, gone=None):
    global looks
    known = all(query.share is not None for query in queries)
    drawn(report, queries, gone)
    looks += known

def often(report, *words):
    made(report, *words)
    report.every = 0.05

Report.progress, Report.__init__ = progress, often
WallClock.now = lambda clock: float(looks)
WallClock.wait = lambda clock, seconds, stop: stop.wait(0.01)
sys.exit(main(["run", "job.sql"]))
"""
"""Rows come by a clock that goes on by a second with every look at the bars."""


@slow
def test_at_a_terminal_bars_stand_in_their_places_and_end_as_lines(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("ts,v\n" + "".join(f"{i},{i}\n" for i in range(3_000)))
    stream = "CREATE STREAM s (ts BIGINT, v BIGINT) ORDER BY ts SOURCE 'file://rows.csv' WITH (rate = '1200/s');\n"
    (tmp_path / "job.sql").write_text(stream + "SELECT v FROM s WHERE v < 0; SELECT v FROM s WHERE v < 1")
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 72, 0, 0))
    command = [sys.executable, "-c", BY_LOOKS]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=theirs, env=environment)
    os.close(theirs)
    seen = b""
    try:
        with contextlib.suppress(OSError):  # the other end is closed
            while more := os.read(ours, 4096):
                seen += more
        assert process.wait(PATIENCE) == 0, seen
    finally:
        os.close(ours)
        process.kill()
        process.wait()
    text = seen.decode().replace("\r\n", "\n")
    frames = re.split(r"\r(?:\x1b\[\d+A)?\x1b\[J", text)
    drawn = [line for frame in frames for line in frame.splitlines() if line[0] in "█░▏▎▍▌▋▊▉"]
    assert len(drawn) >= 4 and all(re.match(r"[█░▏▎▍▌▋▊▉]{20} q[12]: \w+, \d+%, ", line) for line in drawn), text
    assert max(map(len, drawn)) <= 71
    assert frames[-1].splitlines()[-2:] == ["q1: finished, 3,000 rows in, 0 out", "q2: finished, 3,000 rows in, 1 out"]
