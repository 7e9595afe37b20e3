"""The language: text to statements to a bound logical plan. sqlglot parses; the window clause and the papers' spellings are ours."""
