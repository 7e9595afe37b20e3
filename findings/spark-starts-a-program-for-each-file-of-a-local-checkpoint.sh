#!/usr/bin/env bash
# Spark's streaming starts programs (readlink, chmod) for every file of a checkpoint on a local disk: 160 for three small files.
#
# Versions: pyspark 4.3.0 with the Hadoop client 3.5.0 that it brings; Java 17; Linux. Tried with Python 3.11.
# Without Hadoop's native library, which PySpark's package doesn't bring, links and permissions are looked at and set by programs. The
# manager of checkpoint files that Spark chooses for a local folder (by FileContext) asks about links around each rename,
# so that a note of a few bytes costs several processes; each is forked by a Java of some gigabytes. Micro-batches of a few rows then take
# longer for this than for their rows, which looks like Spark's own latency. The other manager, by FileSystem, starts no readlink;
# but it looks whether a name is taken and renames then, in two steps, so that of two queries with one checkpoint both may write: for
# checkpoints that nobody shares it makes no difference.
# Seen: three files, one per micro-batch, counted by key: 120 readlink and 40 chmod by default, 0 and 40 with the other manager.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin"
for program in readlink chmod; do
  printf '#!/bin/sh\necho %s >>"%s/started"\nexec %s "$@"\n' "$program" "$folder" "$(command -v "$program")" >"$folder/bin/$program"
  chmod +x "$folder/bin/$program"
done
cat >"$folder/count.py" <<'PYTHON'
import sys
from pathlib import Path

from pyspark.sql import SparkSession

folder, manager = Path(sys.argv[1]), sys.argv[2]
rows, noted = folder / "rows", folder / "started"
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "1")
if manager != "default":
    builder = builder.config("spark.sql.streaming.checkpointFileManagerClass", manager)
spark = builder.getOrCreate()
if not rows.exists():
    for _ in range(3):
        spark.range(9).coalesce(1).write.mode("append").json(str(rows))
noted.write_text("")
counted = spark.readStream.schema("id BIGINT").option("maxFilesPerTrigger", "1").json(str(rows)).groupBy("id").count()
query = (
    counted.writeStream.outputMode("complete").format("memory").queryName("counted").trigger(availableNow=True)
    .option("checkpointLocation", str(folder / manager.rpartition(".")[2])).start()
)
query.awaitTermination()
assert len(query.recentProgress) >= 3 and spark.table("counted").first()["count"] == 3
print(noted.read_text().split().count("readlink"), noted.read_text().split().count("chmod"))
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pyspark==4.3.0
counted() {
  PATH="$folder/bin:$PATH" PYSPARK_PYTHON="$folder/venv/bin/python" "$folder/venv/bin/python" "$folder/count.py" "$folder" "$1" 2>/dev/null | tail -n 1
}
by_context=$(counted default)
by_system=$(counted org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager)
echo "readlink and chmod started: by default $by_context; by the manager over FileSystem $by_system"
[ "${by_context% *}" -gt 50 ] && [ "${by_system% *}" -eq 0 ] || { echo "it has changed"; exit 1; }
