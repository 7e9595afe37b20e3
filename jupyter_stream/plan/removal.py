"""How a row that is taken back is found among those alive: the choice for edges whose rows end unforeseen (§5.3.2 of the paper).

- by its values: a hash of all columns is kept beside that of the key. Every row that enters is put into it.
- among the rows of its key: nothing more is kept, and these are looked through for every row that leaves. Better where few leave
  before their time, or where few rows have one key.

By the cost model, with the rates measured where the streams have run before; the negative-tuple strategy always hashes (§2.3.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

from jupyter_stream.functions.expression import Column, Expr
from jupyter_stream.plan.cost import EdgeEstimate, different, estimate
from jupyter_stream.plan.logical import Bags, RelationJoin, TableRelation
from jupyter_stream.plan.patterns import Edge, labelled
from jupyter_stream.plan.rates import Rates
from jupyter_stream.plan.upkeep import Maintenance


def by_values(plan: RelationJoin | Bags, maintenance: Maintenance, rates: Rates) -> tuple[bool, ...]:
    """For each input of which rows are kept by key, whether they are found by all their values as well."""
    edge = labelled(plan)
    keys: list[Sequence[Expr]]
    if isinstance(plan, RelationJoin):
        keys = [[pair[side] for pair in plan.keys] for side in (0, 1)]
    else:  # of right rows there are counts only
        types = {f.name: f.dtype for f in plan.parts[0].schema}
        keys = [[Column(left, types[left]) for left, _ in plan.on]]
    each = zip(edge.inputs, estimate(edge, rates).inputs, keys, strict=False)
    return tuple(_pays(below, of, by, maintenance, rates) for below, of, by in each)


def _pays(edge: Edge, of: EdgeEstimate, keys: Sequence[Expr], maintenance: Maintenance, rates: Rates) -> bool:
    named = {key.name for key in keys if isinstance(key, Column)}
    if set(edge.plan.schema.names) <= named:
        return False  # the key is all there is
    if maintenance.upkeep == "nt":
        return True
    leaving = 0.0 if edge.pattern == "MON" or isinstance(edge.plan, TableRelation) else of.rate
    hashed = (of.rate + leaving) * log2(2 + of.size)
    looked_through = leaving * of.size / (different(of, list(keys), rates) if keys else 1.0)
    return hashed < looked_through


__all__ = ["by_values"]
