"""Joins of streams: what meets when it comes, and the rows kept for it."""
