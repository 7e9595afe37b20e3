"""Schedulers: which input the engine serves next. A protocol and one policy per file."""
