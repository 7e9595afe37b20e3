"""A trickle of 1,000 rows/s: from handing over the row that closes a window to the callback with that window's answer.

Two ways. *Without a notebook*: a Session in this process, no view. *In a kernel*: a real ipykernel, cells run through
jupyter_client, a line chart displayed under the cell; there is no browser, so the chart's messages are made and sent by the
kernel but nobody draws them, and the view's front end never asks for anything. Also from there: the time from running
the cell to the first chart message with data. `python latency.py [seconds]`.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

WINDOW_MS = 100
SOURCE = f"""
import time
handed, came = {{}}, {{}}
def trickle():
    start = time.perf_counter()
    for i in range(ROWS):
        wait = start + i / 1000 - time.perf_counter()
        if wait > 0:
            time.sleep(wait)
        row = dict(ts=1_735_689_600_000_000 + i * 1000, key=i % 10, value=float(i % 97))
        if i and i % {WINDOW_MS} == 0:
            handed[row["ts"]] = time.perf_counter()
        yield row
def note(frame):
    now = time.perf_counter()
    for end in frame["window_end"].to_physical().unique().to_list():
        came.setdefault(end, now)
"""
STREAM = """CREATE STREAM ticks (ts TIMESTAMP, key BIGINT, value DOUBLE, WATERMARK FOR ts AS ts)
SOURCE 'python://trickle' WITH (timestamp_unit = 'us')"""
QUERY = (
    f"SELECT key, count(*) AS n, avg(value) AS level FROM ticks [RANGE {WINDOW_MS} MILLISECONDS TUMBLING] GROUP BY key"
)
RESULT = "[came[end] - at for end, at in sorted(handed.items()) if end in came]"


def show(title: str, seconds: list[float]) -> None:
    """One line: windows seen, median, 99th percentile, worst."""
    if not seconds:
        print(f"  {title}: no window was answered")
        return
    warm = 3000 // WINDOW_MS
    for what, some in ((title, seconds), ("  without the first 3 s, while modules load", seconds[warm:])):
        middle, high, worst = np.quantile(np.array(some) * 1e3, [0.5, 0.99, 1.0])
        print(
            f"  {what}: {len(some)} windows, median {middle:.2f} ms (target 10), "
            f"99 % {high:.2f} ms (target 50), worst {worst:.1f} ms"
        )


def alone(seconds: int) -> list[float]:
    """In this process, without a view."""
    import jupyter_stream

    names: dict[str, Any] = {"ROWS": seconds * 1000}
    exec(SOURCE, names)
    session = jupyter_stream.Session(namespace=names)
    session.execute(STREAM)
    query = session.execute(QUERY)[-1]
    query.on_result(names["note"])
    query.wait()
    time.sleep(0.2)
    return list(eval(RESULT, names))


def in_kernel(seconds: int, chart: str) -> tuple[list[float], float | None, int, int]:
    """In an ipykernel: latencies, seconds until the first chart with data, messages and bytes the chart sent."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3")
    try:

        def run(code: str, wait: float = 60.0) -> str:
            reply = client.execute_interactive(code, timeout=wait, output_hook=heard, store_history=True)
            if reply["content"]["status"] != "ok":
                raise RuntimeError("\n".join(reply["content"].get("traceback", [])))
            return ""

        printed: list[str] = []
        charts: list[float] = []
        sent = [0]

        def heard(message: dict[str, Any]) -> None:
            kind = message["header"]["msg_type"]
            if kind == "stream":
                printed.append(message["content"]["text"])
            elif kind in ("comm_open", "comm_msg", "display_data", "update_display_data"):
                charts.append(time.perf_counter())
                sent[0] += len(json.dumps(message["content"], default=str)) + sum(
                    len(b) for b in message.get("buffers", [])
                )

        run("%load_ext jupyter_stream")
        run(f"ROWS = {seconds * 1000}\n{SOURCE}")
        run(f"%%stream --quiet\n{STREAM}")
        charts.clear()
        started = time.perf_counter()
        run(f"%%stream hot --chart {chart}{' --by key' if chart == 'line' else ''}\n{QUERY}")
        shown = charts[0] - started if charts else None
        run("hot.on_result(note)")
        end = time.perf_counter() + seconds + 1
        while time.perf_counter() < end:  # the chart's messages, as a front end would take them
            try:
                heard(client.get_iopub_msg(timeout=0.2))
            except Exception:  # queue.Empty: nothing was said
                continue
        printed.clear()
        run(f"import json; print(json.dumps({RESULT}))")
        return json.loads("".join(printed)), shown, len(charts), sent[0]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def main(seconds: int) -> None:
    """Print the lines."""
    show("Session, no view", alone(seconds))
    for chart in ("none", "line"):
        taken, shown, messages, size = in_kernel(seconds, chart)
        show(f"in a kernel, chart {chart}", taken)
        if chart == "line":
            first = "never" if shown is None else f"{shown:.2f} s after running the cell (target 3)"
            print(f"  the chart was displayed {first}; {messages} messages, {size / 1e6:.2f} MB in {seconds} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
