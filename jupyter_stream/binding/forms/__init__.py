"""Forms of SQL that are written with other forms: one rule a file. Places stay those of what was typed."""
