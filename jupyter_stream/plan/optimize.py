"""From what a query means to the plan that is run: the rewrites, in order, each as often as it finds something."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from jupyter_stream.plan.logical import Plan
from jupyter_stream.plan.rates import Rates
from jupyter_stream.plan.rules.distinct_below_join import distinct_below_join
from jupyter_stream.plan.rules.join_directly import join_directly
from jupyter_stream.plan.rules.negative_tuples import negative_tuples
from jupyter_stream.plan.rules.order_joins import order_joins
from jupyter_stream.plan.rules.pull_difference import pull_difference
from jupyter_stream.plan.rules.push_selections import push_selections
from jupyter_stream.plan.upkeep import Maintenance, Upkeep

Rule = Callable[[Plan], Plan | None]
"""A node to what goes in its place, None to leave it."""


def optimized(plan: Plan, maintenance: Maintenance, rates: Rates | None = None, reorder: bool = True) -> Plan:
    """The plan to run; its answers are the same at every instant.

    Args:
        plan: as bound.
        maintenance: how the state of relations is kept.
        rates: what is known of the streams.
        reorder: whether joins may be done in another order than they are written in.
    """
    known = rates or Rates()
    rules: tuple[Rule, ...] = (push_selections, partial(pull_difference, rates=known))
    order: tuple[Rule, ...] = (partial(order_joins, rates=known),) if reorder else ()
    passes: dict[Upkeep, tuple[tuple[Rule, ...], ...]] = {
        "upa": (rules, (partial(distinct_below_join, rates=known),), (partial(join_directly, rates=known),), order),
        "direct": (rules, order),
        "nt": (rules, order, (negative_tuples,)),
    }
    for some in passes[maintenance.upkeep]:
        plan = rewritten(plan, some)
    return plan


def rewritten(plan: Plan, rules: tuple[Rule, ...]) -> Plan:
    """The plan after all that the rules find, from the streams upwards."""
    plan = plan.with_inputs([rewritten(part, rules) for part in plan.inputs])
    for rule in rules:
        found = rule(plan)
        if found is not None:
            return rewritten(found, rules)
    return plan


__all__ = ["Rule", "optimized", "rewritten"]
