"""Sources: one connector per file. They know `core` only; `open_source` picks one by the scheme of its URI."""
