"""A small query without an engine: rows advance in a thread or by hand. What the views' tests show."""

import math
import threading
import time

import polars as pl

from jupyter_stream.core.snapshot import Snapshot
from jupyter_stream.core.time import MIN_TIME

SECOND = 1_000_000
START = 1_700_000_000 * SECOND


class Demo:
    """Windows of 5 s over a few keys; `advance` closes the next one. `shape` says which columns there are."""

    def __init__(self, name="demo", keys=("north", "south", "east"), shape="window", units=None):
        self.name, self.keys, self.shape = name, tuple(keys), shape
        self.units = {"speed": "km/h"} if units is None else units
        self.state = "waiting"
        self.step = 0
        self.late = self.bad = 0
        self.error = self.hint = self.ended = None
        self.provisional = True
        self.watermark = MIN_TIME
        self.relation = shape in ("keys", "number")
        self.presses = []
        self._version = 0
        self._lock = threading.Lock()
        self._records = []
        self._thread = None
        self._until = threading.Event()

    # -- what a view sees

    @property
    def version(self):
        return self._version

    def snapshot(self, last=500):
        with self._lock:
            rows, final = self._rows()
            rows, final = rows.tail(last), final.tail(last)
            time_column = {"window": "window_end", "total": "window_end", "events": "at"}.get(self.shape)
            return Snapshot(
                name=self.name, text="SELECT ...", state=self.state, version=self._version, rows=rows, final=final,
                relation=self.relation, time_column=time_column,
                key_columns=() if self.shape in ("number", "events", "total") else ("place",),
                value_columns=tuple(c for c, t in rows.schema.items() if t.is_numeric()), units=self.units,
                rows_in=self.step * 12_345, rows_out=rows.height, late=self.late, bad=self.bad,
                state_bytes=48_000 + self.step * 10,
                low_watermark=self.watermark, max_event_time=self.watermark + 4 * SECOND if self.step else MIN_TIME,
                next_final=START + (self.step + 1) * 5 * SECOND if self.shape == "window" else None,
                hint=self.hint, error=self.error, started=time.time(), ended=self.ended,
            )  # fmt: skip

    def stop(self):
        self.presses.append("stop")
        self._set("stopped")

    def pause(self):
        self.presses.append("pause")
        self._set("paused")

    def resume(self):
        self.presses.append("resume")
        self._set("running")

    # -- driving it

    def advance(self, steps=1):
        with self._lock:
            for _ in range(steps):
                self.step += 1
                self._records.append(self.step)
            self.watermark = START + self.step * 5 * SECOND + 2 * SECOND
            if self.state == "waiting":
                self.state = "running"
            self._version += 1
        return self

    def run(self, every=0.25):
        """Advance in a thread until stopped."""

        def go():
            while not self._until.wait(every):
                if self.state in ("waiting", "running"):
                    self.advance()

        self._thread = threading.Thread(target=go, daemon=True)
        self._thread.start()
        return self

    def end(self):
        """Advance no more."""
        self._until.set()
        if self._thread is not None:
            self._thread.join()

    def touch(self):
        self._version += 1

    def fail(self, error):
        self.error = error
        self._set("failed")

    def finish(self):
        self._set("finished")

    def _set(self, state):
        with self._lock:
            self.state = state
            self._version += 1
            if state in ("stopped", "finished", "failed"):
                self.ended = time.time()
                self._until.set()

    def _rows(self):
        if self.shape == "keys":
            rows = pl.DataFrame(
                {"place": list(self.keys), "n": [self.step * (i + 2) for i in range(len(self.keys))]},
                schema={"place": pl.String, "n": pl.Int64},
            )
            return (rows if self.step else rows.clear()), pl.Series(
                [True] * (rows.height if self.step else 0), dtype=pl.Boolean
            )
        if self.shape == "number":
            rows = pl.DataFrame({"total": [self.step * 1234.5], "n": [self.step]} if self.step else {"total": [], "n": []},
                                schema={"total": pl.Float64, "n": pl.Int64})  # fmt: skip
            return rows, pl.Series([True] * rows.height, dtype=pl.Boolean)
        if self.shape == "total":
            rows, final = self._windows(("all",))
            return rows.select("window_end", "speed", "n"), final
        if self.shape == "events":
            at = [START + s * SECOND for s in self._records]
            rows = pl.DataFrame({"at": at, "what": [f"event {s}" for s in self._records]},
                                schema={"at": pl.Int64, "what": pl.String})  # fmt: skip
            return rows.with_columns(pl.col("at").cast(pl.Datetime("us"))), pl.Series(
                [True] * rows.height, dtype=pl.Boolean
            )
        return self._windows(self.keys)

    def _windows(self, keys):
        ends, places, speeds, counts, final = [], [], [], [], []
        for s in self._records:
            light = self.provisional and s > self.step - 2 and self.state in ("waiting", "running", "paused")
            for i, key in enumerate(keys):
                ends.append(START + s * 5 * SECOND)
                places.append(key)
                speeds.append(40 + 12 * i + 10 * math.sin(s / 6 + i) + 3 * math.sin(s * 1.7 + 2 * i))
                counts.append(100 + (s * 7 + i * 13) % 40)
                final.append(not light)
        rows = pl.DataFrame(
            {
                "window_start": [e - 5 * SECOND for e in ends],
                "window_end": ends,
                "place": places,
                "speed": speeds,
                "n": counts,
            },
            schema={
                "window_start": pl.Int64,
                "window_end": pl.Int64,
                "place": pl.String,
                "speed": pl.Float64,
                "n": pl.Int64,
            },
        )
        moments = pl.col("window_start", "window_end").cast(pl.Datetime("us"))
        return rows.with_columns(moments), pl.Series(final, dtype=pl.Boolean)
