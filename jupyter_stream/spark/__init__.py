"""The same logical plan on PySpark Structured Streaming."""
