#!/usr/bin/env bash
# `pytest -n 2 --dist loadgroup` no longer keeps a group's tests in one worker, and says nothing, where pytest is 9.2.
#
# Versions: pytest-xdist 3.8.0 (the newest when this was written) with pytest 9.2.0; with pytest 8.4.2 it works. Python 3.11.
# xdist tells its scheduler of groups through the names of tests: its workers append "@group" by writing to `item._nodeid`. In pytest
# 9.2 `Item.nodeid` is made of another attribute, so the suffix goes nowhere: every test is a group of its own, spread over all workers.
# What a group was to share (a database, a JVM, a browser) is started in each worker, and tests of it run beside each other.
# Seen: eight tests of one group run in one worker with pytest 8.4.2, in two with 9.2.0; exit code 0, no warning.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/project"
cat >"$folder/project/test_group.py" <<'PYTHON'
import pytest


@pytest.mark.xdist_group("shared")
@pytest.mark.parametrize("n", range(8))
def test_which_worker(n, worker_id, tmp_path_factory):
    (tmp_path_factory.getbasetemp().parent / f"ran-in-{worker_id}").touch()
PYTHON
workers() {  # PYTEST: in how many workers the group's tests run
  local home=$folder/$1
  python3 -m venv "$home"
  "$home/bin/pip" install -q --disable-pip-version-check "pytest==$1" pytest-xdist==3.8.0
  (cd "$folder/project" && "$home/bin/python" -m pytest -q -n 2 --dist loadgroup --basetemp "$home/temp" -p no:cacheprovider >"$home/log")
  find "$home/temp" -name 'ran-in-*' | wc -l
}
before=$(workers 8.4.2)
now=$(workers 9.2.0)
echo "tests of one group ran in $before worker with pytest 8.4.2, in $now workers with pytest 9.2.0"
[ "$before" = 1 ] && [ "$now" = 2 ] || { echo "it has changed"; exit 1; }
