"""Who waits for whom: the engine's thread never waits for a thread that waits for it."""

import pandas as pd
import pytest

from jupyter_stream import QueryError, Session


def test_late_rows_are_kept_while_a_statement_waits_for_the_engine():
    namespace = {"df": pd.DataFrame({"ts": pd.to_datetime(["2024-01-01 10:00"])})}
    session = Session(namespace=namespace)
    session.execute("CREATE STREAM s ORDER BY ts SOURCE 'frame://df'")
    try:
        with session._lock:  # as `run` holds it while it launches a query
            assert session.engine.submit(lambda: session.side_stream("late", "s")).result(timeout=200).count == 0
    finally:
        session.close()


def test_a_command_that_comes_while_the_session_closes_is_refused_and_waits_for_nobody(monkeypatch):
    session = Session()
    engine = session.engine
    engine.submit(lambda: None).result(timeout=200)

    def closed_meanwhile():
        session.close()
        engine._thread.join(200)

    monkeypatch.setattr(engine, "_start", closed_meanwhile)
    with pytest.raises(QueryError, match="the session is closed"):
        engine.submit(lambda: None).result(timeout=200)
