#!/usr/bin/env bash
# DuckDB: connect() fails with "Unique file handle conflict" while another thread closes its connection to the same file.
#
# Version: duckdb 2.0.0 (Python). Tried with Python 3.11.
# One would guess that two threads that open the same file in the same way, use it and close it never meet: while both have it open
# they share one database instance, and DuckDB documents connections of several threads to one file. But an instance is taken out of
# the cache of instances before its file is given back, and who connects in between makes a second instance for a file that the
# first still holds. The error is a ResourceInUseException, not the ConnectionException that says that the file is open in another
# way, so code that waits for the latter ends. One more connection that stays open avoids it.
# Seen: two threads that each open, read and close 2,000 times: some tens of the 4,000 connects fail; none with a third connection.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check duckdb==2.0.0
"$folder/venv/bin/python" - "$folder/a.duckdb" <<'PYTHON'
import sys
import threading
from collections import Counter

import duckdb

path = sys.argv[1]
with duckdb.connect(path) as first:
    first.execute("CREATE TABLE t AS SELECT 1 AS i")


def opened_and_closed(times):
    told = Counter()

    def work():
        for _ in range(times):
            try:
                with duckdb.connect(path) as one:
                    one.execute("SELECT * FROM t").fetchall()
            except duckdb.Error as error:
                told[type(error).__name__, "Unique file handle conflict" in str(error)] += 1

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return dict(told)


alone = {}
for _ in range(10):
    alone = opened_and_closed(2_000)
    print("two threads that open and close:", alone)
    if alone:
        break
with duckdb.connect(path):
    beside = opened_and_closed(2_000)
print("beside a connection that stays open:", beside)
assert set(alone) == {("ResourceInUseException", True)}, "it has changed"
assert beside == {}, "it has changed"
PYTHON
