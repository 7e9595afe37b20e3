"""Values of key columns to dense numbers and back: what is kept by group or found by key stands on this."""
