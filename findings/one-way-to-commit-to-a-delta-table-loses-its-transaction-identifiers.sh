#!/usr/bin/env bash
# Of deltalake's two ways to commit, one keeps a transaction identifier and the other dropped it without a word until 1.6.
#
# Version: deltalake 1.0.0 to 1.5.1 (Python) drop it, 1.6.0 keeps it. Tried with Python 3.11.
# A writer that may be killed between its commit and its own note gives each commit an application's name and number
# (`CommitProperties(app_transactions=[Transaction(...)])`): after a restart `transaction_version(name)` says what is there already. One
# would guess that commit properties mean the same wherever they are taken. `write_deltalake` writes the action `txn`;
# `DeltaTable.create_write_transaction`, by which files that others wrote are added (from Spark's executors, say), took
# the same properties, wrote their custom metadata, and no `txn`. A second try after a kill then adds all rows again.
# Seen: 1.5.1: custom metadata 'noted', transaction_version None; 1.6.0: 'noted' and 7. By write_deltalake 7 in both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/commit.py" <<'PYTHON'
import json
import sys
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.transaction import AddAction

at, expected = Path(sys.argv[1]), sys.argv[2] == "kept"


def said(writer):
    return CommitProperties(app_transactions=[Transaction(writer, 7)], custom_metadata={"note": "noted"})


write_deltalake(at, pa.table({"a": [1]}), commit_properties=said("by rows"))
file = at / "added.parquet"
pq.write_table(pa.table({"a": [2]}), file)
table = DeltaTable(at)
added = AddAction(file.name, file.stat().st_size, {}, 0, True, json.dumps({"numRecords": 1}))
table.create_write_transaction([added], "append", table.schema(), commit_properties=said("by files"))
table = DeltaTable(at)
found = {writer: table.transaction_version(writer) for writer in ("by rows", "by files")}
print(f"deltalake {deltalake.__version__}: {found}, metadata of the last commit: {table.history(1)[0].get('note')}")
assert table.to_pyarrow_table().num_rows == 2 and table.history(1)[0].get("note") == "noted", "it has changed"
assert found == {"by rows": 7, "by files": 7 if expected else None}, "it has changed"
PYTHON
tried() {  # VERSION FATE
  python3 -m venv "$folder/venv-$1"
  "$folder/venv-$1/bin/pip" install -q --disable-pip-version-check "deltalake==$1" pyarrow==26.0.1
  "$folder/venv-$1/bin/python" "$folder/commit.py" "$folder/table-$1" "$2"
}
tried 1.5.1 lost
tried 1.6.0 kept
