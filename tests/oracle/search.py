"""How long Hypothesis looks for a counterexample: briefly in the gate, longer in `--all`, at length with ORACLE_EXAMPLES=2000.

ORACLE_SHRINK=0 gives the first counterexample as it was found, at once.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

from tests.tiers import ALL

searching = settings(
    max_examples=int(os.environ.get("ORACLE_EXAMPLES", "12" if ALL else "3")),
    phases=[p for p in Phase if p != Phase.shrink or os.environ.get("ORACLE_SHRINK") != "0"],
    deadline=None,  # a busy machine is no failure
    derandomize="ORACLE_EXAMPLES" not in os.environ,  # the same examples everywhere, unless hunting
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
"""The settings of a property that drives the engine."""
