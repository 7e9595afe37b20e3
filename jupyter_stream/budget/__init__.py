"""Queries with a budget: the most promising rows first, and what may be spent on them."""
