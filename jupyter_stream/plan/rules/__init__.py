"""Rewrites of bound plans, one per file; `plan.optimize` applies them. Each gives the same answers at every instant."""
