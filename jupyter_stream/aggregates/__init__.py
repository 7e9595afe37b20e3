"""Aggregates: one family per file, each update, merge, subtract, finish over arrays."""
