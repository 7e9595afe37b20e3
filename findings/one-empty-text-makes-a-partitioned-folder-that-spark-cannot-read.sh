#!/usr/bin/env bash
# An empty text in a column that names folders: Polars, DuckDB, Arrow and deltalake write `k=`, and Spark then reads none of it.
#
# Versions: polars 2.1.0, duckdb 2.0.0, pyarrow 26.0.1, deltalake 1.6.6, pyspark 4.3.0. Tried with Python 3.11 and Java 17.
# One would guess that Hive's layout, which four libraries write and read back from each other as it was, is read by Spark, where it
# comes from. Spark never writes such a folder (an empty text goes to __HIVE_DEFAULT_PARTITION__ with the NULLs, and comes back as
# NULL), and one folder `k=` among thousands makes it refuse the whole data set: EMPTY_PARTITION_COLUMN_VALUE. deltalake writes the
# same folder and, as Delta's protocol has it, reads its rows as NULL: of two rows with '' and NULL one can't tell which was which.
# Seen: Polars, DuckDB and Arrow read '' in what each of them wrote; Delta reads NULL; Spark raises for all three.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check polars==2.1.0 duckdb==2.0.0 pyarrow==26.0.1 deltalake==1.6.6 pyspark==4.3.0
"$folder/venv/bin/python" - "$folder" 2>"$folder/log" <<'PYTHON' || { cat "$folder/log" >&2; exit 1; }
import sys
from pathlib import Path

import deltalake
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds

out = Path(sys.argv[1]) / "out"
out.mkdir()
rows = pl.DataFrame({"k": ["a", "", None], "n": [1, 2, 3]})
table = rows.to_arrow().cast(pa.schema([("k", pa.string()), ("n", pa.int64())]))
by_k = ds.partitioning(pa.schema([("k", pa.string())]), flavor="hive")

rows.write_parquet(out / "polars", partition_by="k")
duckdb.sql(f"COPY (SELECT * FROM rows) TO '{out}/duckdb' (FORMAT parquet, PARTITION_BY (k))")
ds.write_dataset(table, out / "arrow", format="parquet", partitioning=by_k)
deltalake.write_deltalake(out / "delta", table, partition_by=["k"])

expected = sorted([("a", 1), ("", 2), (None, 3)], key=str)
for writer in ("polars", "duckdb", "arrow"):
    files = f"{out}/{writer}/**/*.parquet"
    assert (out / writer / "k=").is_dir(), "it has changed"
    by_polars = pl.read_parquet(files, hive_partitioning=True).select("k", "n").rows()
    by_duckdb = duckdb.sql(f"SELECT k, n FROM read_parquet('{files}', hive_partitioning = true)").fetchall()
    print(writer, "wrote k=; Polars reads", by_polars, "DuckDB", by_duckdb)
    assert sorted(by_polars, key=str) == sorted(by_duckdb, key=str) == expected, "it has changed"

assert (out / "delta" / "k=").is_dir(), "it has changed"
in_delta = deltalake.DeltaTable(str(out / "delta")).to_pyarrow_table().select(["k", "n"]).to_pylist()
print("deltalake wrote k= and reads", in_delta)
assert sorted((r["k"], r["n"]) for r in in_delta if r["k"]) == [("a", 1)], "it has changed"
assert [r["n"] for r in in_delta if r["k"] is None] in ([2, 3], [3, 2]), "it has changed"

from pyspark.sql import SparkSession  # noqa: E402

spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.host", "localhost")
    .getOrCreate()
)
for writer in ("polars", "duckdb", "arrow"):
    try:
        found = spark.read.parquet(f"{out}/{writer}").collect()
    except Exception as error:
        told = str(error).split("]")[0].lstrip("[")
    else:
        told = str(found)
    print("Spark reads what", writer, "wrote:", told)
    assert told == "EMPTY_PARTITION_COLUMN_VALUE", "it has changed"
spark.createDataFrame([("a", 1), ("", 2), (None, 3)], "k string, n int").write.partitionBy("k").parquet(f"{out}/spark")
written = sorted(p.name for p in (out / "spark").glob("k=*"))
read = sorted(((r["k"], r["n"]) for r in spark.read.parquet(f"{out}/spark").collect()), key=str)
print("Spark writes", written, "and reads", read)
assert written == ["k=__HIVE_DEFAULT_PARTITION__", "k=a"], "it has changed"
assert read == sorted([("a", 1), (None, 2), (None, 3)], key=str), "it has changed"
PYTHON
echo "seen"
