#!/usr/bin/env bash
# A CPC sketch takes one pair of distinct values in about 12,000 for one value, also when it holds nothing else.
#
# Version: datasketches 5.2.0 (Python). Tried with Python 3.11.
# One would guess that a sketch of two values says 2: the HLL sketch of the same library keeps 26 bits of each hash while it is
# small, and is wrong for one pair in millions. A CPC sketch keeps of each value a row (lg_k bits) and a column (leading zeros), also
# while it is small. Two values collide with probability (1/k) * sum(4^-i) = 1 / (3 * 2^lg_k), so 1 in 12,288 for lg_k = 12.
# Whoever tests "exact while there are few" with drawn values sees a failure now and then; with 3.375 and 3.75 always.
# Seen: CPC 1, HLL 2; of 100,000 drawn pairs 3 are taken for one by CPC (8 expected), none by HLL.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check datasketches==5.2.0 'numpy<3'
"$folder/venv/bin/python" - <<'PYTHON'
import random

from datasketches import cpc_sketch, hll_sketch


def told(sketch, values):
    for value in values:
        sketch.update(value)
    return round(sketch.get_estimate())


pair = (3.375, 3.75)
cpc, hll = told(cpc_sketch(12), pair), told(hll_sketch(12), pair)
print(f"two distinct values, {pair[0]} and {pair[1]}: CPC says {cpc}, HLL says {hll}")
draw = random.Random(7)
pairs = [(draw.random(), draw.random()) for _ in range(100_000)]
wrong = [sum(told(make(12), p) == 1 for p in pairs) for make in (cpc_sketch, hll_sketch)]
print(f"of {len(pairs)} drawn pairs CPC takes {wrong[0]} for one value, HLL {wrong[1]}")
assert (cpc, hll) == (1, 2), "it has changed"
assert 1 <= wrong[0] <= 30 and wrong[1] == 0, "it has changed"
PYTHON
