"""The same logical plan on PySpark Structured Streaming.

`preflight` says what can run, by the table in `support`. A query that runs is a `run.SparkRun`: rows come from the engine's
feeds, are judged (`judge`), go to Spark as files (`spool`), through the DataFrame that `translate` makes, and come back as
answers (`finish`).
"""
