#!/usr/bin/env bash
# SparkSession.interruptTag stops nothing if the operation was begun by another thread; on Spark Connect it does.
#
# Version: pyspark 4.3.0, a session in the same process ("classic"). Tried with Python 3.11 and Java 17.
# `addTag` marks the operations of the calling thread, and `interruptTag` is described as interrupting all operations of the session
# that carry the tag. Whoever waits for a long job in one thread and stops it from another (a notebook's stop button) would guess
# that this is what the pair is for. In a classic session the tag given to the job is made of the session, the thread and the name,
# and `interruptTag` looks the name up among the tags of the thread that calls it: it finds none, gives an empty list, raises nothing,
# and the job goes on. `SparkContext.addJobTag` with `cancelJobsWithTag`, or job groups, stop it.
# Seen: interruptTag from another thread: [] and the job still runs after 5 seconds; cancelJobsWithTag: it ends.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pyspark==4.3.0 numpy pandas pyarrow
cd "$folder"
timeout 300 "$folder/venv/bin/python" - <<'PYTHON'
import threading
import time

from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
context = spark.sparkContext
context.setLogLevel("OFF")


def running():
    return bool(context.statusTracker().getActiveJobsIds())


def wait(condition, seconds):
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.1)
    return condition()


def begin(tag):
    ended = threading.Event()

    def run():
        tag()
        try:
            spark.range(10**12).selectExpr("max(hash(id))").collect()
        except Exception:
            pass
        ended.set()

    threading.Thread(target=run, daemon=True).start()
    assert wait(running, 60)
    return ended


ended = begin(lambda: (spark.addTag("mine"), context.addJobTag("same-job")))
found = spark.interruptTag("mine")
stopped = wait(ended.is_set, 5)
print(f"interruptTag from another thread gives {found}; the job has ended after 5 seconds: {stopped}")
context.cancelJobsWithTag("same-job")
cancelled = wait(ended.is_set, 60)
print(f"cancelJobsWithTag: the job has ended: {cancelled}")
assert (list(found), stopped, cancelled) == ([], False, True), "it has changed"
PYTHON
