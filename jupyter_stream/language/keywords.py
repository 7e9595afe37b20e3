"""Words of the language, for completion and highlighting. Not for parsing, which has its own lists by place."""

from __future__ import annotations

KEYWORDS: tuple[str, ...] = (
    "SELECT", "DISTINCT", "FROM", "WHERE", "GROUP BY", "HAVING", "AS", "UNION", "UNION ALL", "AND", "OR", "NOT", "IN",
    "BETWEEN", "LIKE", "ILIKE", "RLIKE", "IS NULL", "IS NOT NULL", "CASE", "WHEN", "THEN", "ELSE", "END", "CAST", "TRY_CAST",
    "EXTRACT", "INTERVAL", "TRUE", "FALSE", "NULL", "FILTER", "OVER", "WITH",
    "RANGE", "ROWS", "SLIDE", "TUMBLING", "ALL", "UNBOUNDED", "NOW", "SESSION", "PARTITION BY", "PRECEDING", "ON", "ORIGIN",
    "BY RANK", "ACTIVE EXPIRATION", "TUMBLE", "HOP", "SAMPLE",
    "CREATE SUMMARY", "DROP SUMMARY", "SHOW SUMMARIES", "WITH GRANULARITY", "COLLAPSE", "WITH PREFERENCE", "DESC", "ASC",
    "WEIGHTED", "FADE FACTOR", "WINDOW", "EMIT FINAL", "EMIT CHANGES", "EMIT EVERY",
    "CREATE STREAM", "ORDER BY", "WATERMARK FOR", "SOURCE", "DROP STREAM", "SHOW STREAMS", "SHOW QUERIES", "SHOW SOURCES",
    "SHOW FUNCTIONS", "DESCRIBE", "DESCRIBE FUNCTIONS", "EXPLAIN", "ON SPARK",
    "MICROSECONDS", "MILLISECONDS", "SECONDS", "MINUTES", "HOURS", "DAYS", "WEEKS",
)  # fmt: skip
"""Completion's words, in upper case."""
