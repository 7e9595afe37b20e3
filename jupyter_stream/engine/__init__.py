"""The engine: the operator graph, the engine thread, progress, results."""
