"""Row patterns: rows that follow one another, found as they come."""
