"""Summaries of streams: sketches with their error bounds, promising regions."""
