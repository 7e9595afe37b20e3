"""Who waits for whom: the engine's thread never waits for a thread that waits for it."""

import pandas as pd

from jupyter_stream import Session


def test_late_rows_are_kept_while_a_statement_waits_for_the_engine():
    namespace = {"df": pd.DataFrame({"ts": pd.to_datetime(["2024-01-01 10:00"])})}
    session = Session(namespace=namespace)
    session.execute("CREATE STREAM s ORDER BY ts SOURCE 'frame://df'")
    try:
        with session._lock:  # as `run` holds it while it launches a query
            assert session.engine.submit(lambda: session.side("late", "s")).result(timeout=10).count == 0
    finally:
        session.close()
