"""Sinks: where results go besides the handle."""
