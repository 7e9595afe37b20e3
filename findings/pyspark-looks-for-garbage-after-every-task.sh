#!/usr/bin/env bash
# A Python worker of Spark's collects garbage, all generations, after every task: with a few libraries imported this costs more than the task.
#
# Versions: pyspark 4.3.0, pandas 3.1.1, pyarrow 26.0.1, polars 2.1.0; Java 17; Linux. Tried with Python 3.11.
# Workers are used again (spark.python.worker.reuse), so that imports are paid for once; but between two tasks the worker calls
# gc.collect(), which walks through every object that any imported module has made. A function that needs pandas, pyarrow and some
# library more waits 30 to 80 ms after each task, also where the task has one row; a micro-batch of a stream is little else than such tasks.
# No setting of Spark's turns it off. gc.freeze(), called once by the function in the worker after its imports, leaves what is loaded out.
# Seen: one full collection for each task; milliseconds of each: 30 to 80 before gc.freeze(), 0.1 after it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/tasks.py" <<'PYTHON'
import sys

from pyspark.sql import SparkSession

FREEZE = sys.argv[1] == "freeze"
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", "10").getOrCreate()


def noted(batches):
    """A row for each task: how many full collections its worker has seen, and their seconds."""
    import gc
    import time

    import pandas
    import pyarrow
    import polars

    if not hasattr(gc, "seen"):
        gc.seen, begun = [], [0.0]

        def called(phase, info):
            if info["generation"] == 2 and phase == "start":
                begun[0] = time.perf_counter()
            elif info["generation"] == 2:
                gc.seen.append(time.perf_counter() - begun[0])

        if FREEZE:
            gc.collect()
            gc.freeze()
        gc.callbacks.append(called)
    for batch in batches:
        yield pyarrow.RecordBatch.from_arrays([pyarrow.array([len(gc.seen)]), pyarrow.array([sum(gc.seen, 0.0)])], ["n", "s"])


rows = []
for _ in range(12):
    rows += spark.range(1).coalesce(1).mapInArrow(noted, "n LONG, s DOUBLE").collect()
(first, before), (last, after) = rows[1], rows[-1]
print(last - first, round(1000 * (after - before) / max(1, last - first), 1))
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pyspark==4.3.0 pandas==3.1.1 pyarrow==26.0.1 polars==2.1.0
noted() { PYSPARK_PYTHON="$folder/venv/bin/python" "$folder/venv/bin/python" "$folder/tasks.py" "$1" 2>/dev/null | tail -n 1; }
plain=$(noted plain)
frozen=$(noted freeze)
echo "full collections in 10 tasks, milliseconds of each: $plain; after gc.freeze() $frozen"
[ "${plain% *}" -ge 10 ] && python3 -c "import sys; sys.exit(not float(sys.argv[1]) > 4 * float(sys.argv[2]))" "${plain#* }" "${frozen#* }" ||
  { echo "it has changed"; exit 1; }
