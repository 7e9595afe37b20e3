"""Plans: frozen logical and physical nodes, rewrites, EXPLAIN."""
