"""Aggregates over extents: of time, of rows, of sessions, for each row. What they keep is in `partials`."""
