"""What Spark says on the console: all of it but lines that tell nobody anything."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jupyter_stream.spark.console import pass_on

WORD = b"WARNING: Using incubator modules: jdk.incubator.vector\n"
QUERY = """
import polars as pl
from jupyter_stream import Session
from jupyter_stream.views import strip
with Session(namespace={"df": pl.DataFrame({"n": [1, 2, 3]})}) as session:
    session.run("CREATE STREAM s SOURCE 'frame://df'")
    query = session.run("SELECT n FROM s WHERE n > 1", engine="spark")[-1]
    while not query.wait(0.02):
        print(strip.nothing_yet(query.snapshot()))
    assert query.to_polars()["n"].to_list() == [2, 3]
    import ipaddress, psutil, pyspark
    java = [p for p in psutil.Process().children(recursive=True) if "java" in p.name()]
    listening = [c.laddr.ip for p in java for c in p.net_connections("inet") if c.status == psutil.CONN_LISTEN]
    addresses = [ipaddress.ip_address(ip) for ip in listening]
    assert addresses and all((getattr(a, "ipv4_mapped", None) or a).is_loopback for a in addresses), listening
    assert pyspark.SparkContext._active_spark_context.getConf().get("spark.authenticate") == "true"
    pyspark.SparkContext._active_spark_context._jvm.System.err.print("said")
"""


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


def test_a_query_says_nothing_on_the_console_names_its_phases_and_listens_to_this_machine_alone(tmp_path: Path) -> None:
    noted = {**os.environ, "JUPYTER_DATA_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", QUERY], env=noted, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    phases = list(dict.fromkeys(line.partition(":")[0] for line in done.stdout.splitlines()))
    assert phases[:3] == ["starting Java", "planning", "first micro-batch, 3 rows read"]
    assert done.stderr in ("said", "")  # the end may come before what was said last
