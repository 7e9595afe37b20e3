#!/usr/bin/env bash
# A file of a Delta table whose arrays are all there is read as NULL in every row, since its writer counted missing items.
#
# Versions: deltalake 1.6.0 and 1.6.1 (Python) write it so, 1.6.2 doesn't; pyarrow 26.0.1. Tried with Python 3.11.
# A commit notes statistics of each file. For a column of arrays these two releases note as `nullCount` how many leaves of the
# Parquet column have no value: missing items and empty arrays, not missing arrays. Where that is as many as the file has rows, the
# reader (`to_pyarrow_table`) takes the column for NULL and doesn't look into the file, which holds the right values. The first
# commit of a table is right, since it notes the number under the leaf's own name: so a short trial shows nothing.
# Seen: two rows [None, 5] and [None, 6] appended to a table: 1.6.1 notes {"many": 2} and reads None, None; the file has both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/arrays.py" <<'PYTHON'
import json
import sys
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

at = Path(sys.argv[1])


def rows(*arrays):
    return pa.table({"many": pa.array(arrays, pa.list_(pa.int64()))})


write_deltalake(at, rows([9]))
write_deltalake(at, rows([None, 5], [None, 6]), mode="append")
noted = [json.loads(line) for line in (at / "_delta_log/00000000000000000001.json").read_text().splitlines()]
(counts,) = [json.loads(entry["add"]["stats"])["nullCount"] for entry in noted if "add" in entry]
read = DeltaTable(at).to_pyarrow_table().column("many").to_pylist()
print(counts.get("many"), sum(array is None for array in read))
PYTHON
tried() {  # VERSION: what it notes, and how many of the three arrays are read as NULL
  python3 -m venv "$folder/$1"
  "$folder/$1/bin/pip" install -q --disable-pip-version-check "deltalake==$1" pyarrow==26.0.1
  "$folder/$1/bin/python" "$folder/arrays.py" "$folder/table-$1"
}
old=$(tried 1.6.1)
new=$(tried 1.6.2)
echo "deltalake 1.6.1 notes and loses: $old; 1.6.2: $new"
[ "$old" = "2 2" ] && [ "$new" = "None 0" ] || { echo "it has changed"; exit 1; }
