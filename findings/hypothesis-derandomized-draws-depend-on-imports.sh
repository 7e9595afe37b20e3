#!/usr/bin/env bash
# A derandomized Hypothesis test draws other examples when another module of the project has been imported before it.
#
# Version: hypothesis 6.170.16. Tried with Python 3.11.
# `derandomize=True` is documented to run the same examples every time; one would guess: on every machine and in every order of tests.
# But strategies also draw from the constants found in the source of all local modules imported so far. Which modules
# those are depends on the tests that ran before in the same process: under pytest-xdist on the worker, under `pytest one_file.py` on
# what was named. A failure in a full run may so not come again when its test is run alone, and the other way round.
# Seen: the same test, the same seed; importing a module that holds one unusual number changes the examples.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check hypothesis==6.170.16
mkdir "$folder/project"
cd "$folder/project"
echo 'LIMITS = [918273645, 918273646, 918273647, 918273648, 918273649]' >constants_of_somebody_else.py
cat >examples.py <<'PYTHON'
import sys

from hypothesis import given, settings
from hypothesis import strategies as st

if "with" in sys.argv:
    import constants_of_somebody_else  # noqa: F401
seen = []


@settings(derandomize=True, database=None, max_examples=200)
@given(st.integers())
def test(n):
    seen.append(n)


test()
print(seen)
PYTHON
python=$folder/venv/bin/python
"$python" examples.py alone >alone
"$python" examples.py alone >again
"$python" examples.py with >with
cmp alone again && echo "alone, twice: the same examples"
if cmp -s alone with; then echo "it has changed: an import no longer changes the examples"; exit 1; fi
grep -q 9182736 with || { echo "it has changed: constants of the module aren't drawn"; exit 1; }
echo "with another module imported: other examples, among them $(grep -o '9182736[0-9]*' with | sort -u | head -1), a constant of that module"
