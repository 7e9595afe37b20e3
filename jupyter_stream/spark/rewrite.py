"""The plan as Spark is to run it: the same meaning, with what would end a Spark query moved to where it can be caught."""

from __future__ import annotations

from jupyter_stream.plan.logical import Plan
from jupyter_stream.spark.nodes import SUPPORT


def normal(plan: Plan) -> Plan:
    """Conditions of inner joins that can fail on a row become filters of the joined rows."""
    change = SUPPORT[type(plan)].normal
    plan = plan.with_inputs([normal(part) for part in plan.inputs])
    return plan if change is None else change(plan)
