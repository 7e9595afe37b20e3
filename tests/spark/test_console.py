"""What Spark says on the console: all of it but lines that tell nobody anything."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jupyter_stream.spark.console import pass_on
from tests.tiers import slow

WORD = b"WARNING: Using incubator modules: jdk.incubator.vector\n"
QUERY = """
import threading
import time
import polars as pl
from jupyter_stream import Session
from jupyter_stream.spark.phases import Phases
from jupyter_stream.views import strip
enter, leave, made, looking = Phases.enter, Phases.leave, threading.Event(), threading.RLock()
def entered(phases, name):  # however short a phase is, it doesn't end before it was looked at
    with looking:
        enter(phases, name)
        made.wait()
        while query.snapshot().rows_in < 3:
            time.sleep(0.01)
        print(strip.nothing_yet(query.snapshot()), flush=True)
def left(phases, **how):
    with looking:
        leave(phases, **how)
Phases.enter, Phases.leave = entered, left
with Session(namespace={"df": pl.DataFrame({"n": [1, 2, 3]})}) as session:
    session.run("CREATE STREAM s SOURCE 'frame://df'")
    query = session.run("SELECT n FROM s WHERE n > 1", engine="spark")[-1]
    made.set()
    query.wait()
    assert query.to_polars()["n"].to_list() == [2, 3]
    import ipaddress, psutil, pyspark
    java = [p for p in psutil.Process().children(recursive=True) if "java" in p.name()]
    listening = [c.laddr.ip for p in java for c in p.net_connections("inet") if c.status == psutil.CONN_LISTEN]
    addresses = [ipaddress.ip_address(ip) for ip in listening]
    assert addresses and all((getattr(a, "ipv4_mapped", None) or a).is_loopback for a in addresses), listening
    assert pyspark.SparkContext._active_spark_context.getConf().get("spark.authenticate") == "true"
    pyspark.SparkContext._active_spark_context._jvm.System.err.print("said")
"""
OF_THE_MACHINE = (
    "OpenJDK 64-Bit Server VM warning:",
    "Java HotSpot(TM) 64-Bit Server VM warning:",
    "Picked up JAVA_TOOL_OPTIONS:",
)
"""How lines begin in which Java speaks of where it runs: memory it was short of, options it found there."""


@pytest.mark.parametrize(
    ("pieces", "left"),
    [
        ([WORD], b""),
        ([WORD[:-1], b"\n"], b""),
        ([b"a\n" + WORD[:20], WORD[20:] + b"b\n"], b"a\nb\n"),
        ([WORD[:20], b"other\n"], WORD[:20] + b"other\n"),
        ([b"\r[Stage 1]", b"\r[Stage 2]"], b"\r[Stage 1]\r[Stage 2]"),
        ([WORD, b"a", b"b\n" + WORD + b"c"], b"ab\nc"),
        ([b"Streaming TransformWithStateInPandas Python worker rec", b"eived UDF\nFailed\n"], b"Failed\n"),
        ([b"W"], b"W"),
        ([bytes([b]) for b in b"x\n" + WORD + b"y"], b"x\ny"),
    ],
)
def test_only_such_lines_are_left_out(pieces: list[bytes], left: bytes) -> None:
    heard, said = os.pipe()
    found: list[bytes] = []
    thread = threading.Thread(target=pass_on, args=(heard, found.append))
    thread.start()
    for piece in pieces:
        os.write(said, piece)
    os.close(said)
    thread.join(200)
    assert not thread.is_alive() and b"".join(found) == left


@slow
@pytest.mark.timeout(900)  # a net for what never ends: nothing below goes by the clock
def test_a_query_says_nothing_on_the_console_names_its_phases_and_listens_to_this_machine_alone(tmp_path: Path) -> None:
    noted = {**os.environ, "JUPYTER_DATA_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", QUERY], env=noted, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    phases = [line.partition(":")[0] for line in done.stdout.splitlines()]
    assert phases == ["starting Java", "planning", "first micro-batch, 3 rows read"]
    told = "".join(line for line in done.stderr.splitlines(keepends=True) if not line.startswith(OF_THE_MACHINE))
    assert told in ("said", "")  # the end may come before what was said last
