"""What a page is told of a query: a head in words, and the columns of its picture. Only what changed since the last time."""

from __future__ import annotations

import dataclasses
from typing import Any

from jupyter_stream.core.snapshot import Snapshot
from jupyter_stream.views import strip, wire
from jupyter_stream.views.figure import document, structure
from jupyter_stream.views.number import change
from jupyter_stream.views.picture import Axis, Picture


class PageState:
    """What the page knows."""

    def __init__(self) -> None:
        self._seq = 0
        self._structure: tuple[object, ...] | None = None
        self._columns: wire.Columns = {}
        self._head: dict[str, Any] = {}

    def forget(self) -> None:
        """The page knows nothing: the next message has everything."""
        self._structure, self._columns, self._head = None, {}, {}

    def news(
        self, head: dict[str, Any], drawn: Picture | None, *, fresh: bool = False, anyway: bool = False
    ) -> tuple[dict[str, Any], wire.Buffers] | None:
        """The next message; None where there is nothing to say.

        Args:
            head: of `head`.
            drawn: the chart, None where there is none.
            fresh: whether to say everything.
            anyway: whether to send a message even if nothing changed.
        """
        message: dict[str, Any] = {"do": "state"}
        columns = wire.columns_of(drawn) if drawn is not None else {}
        if drawn is not None and drawn.kind == "plot":
            shape = structure(drawn)
            if shape != self._structure:
                self._structure, fresh = shape, True
                message["doc"] = document(drawn)
        fresh = fresh or self._seq == 0
        changes, buffers = wire.encode(columns, {} if fresh else self._columns)
        known = {} if fresh else self._head
        news = {name: value for name, value in head.items() if name not in known or known[name] != value}
        gone = [] if fresh else [name for name in self._columns if name not in columns]
        if not (fresh or news or changes or gone or anyway):
            return None
        message |= {"seq": self._seq, "fresh": fresh, "head": news, "columns": changes, "gone": gone}
        self._seq += 1
        self._columns, self._head = columns, head
        return message, buffers


def weight(message: dict[str, Any], buffers: wire.Buffers) -> int:
    """About how many bytes a message is."""
    return 2000 + sum(map(len, buffers)) + sum(len("".join(c.get("text", ()))) for c in message["columns"].values())


def head(
    snapshot: Snapshot, drawn: Picture | None, wrong: str | None, rates: tuple[float, float], picked: int = 0
) -> dict[str, Any]:
    """Everything but the columns.

    Args:
        snapshot: the query.
        drawn: its chart.
        wrong: why there is none, if something is wrong.
        rates: rows in and out per second.
        picked: how many rows are selected.
    """
    error = "\n".join(part for part in (snapshot.error, wrong) if part) or None
    told: dict[str, Any] = {
        "name": snapshot.name, "state": snapshot.state, "hint": snapshot.hint, "error": error,
        "empty": strip.nothing_yet(snapshot), "rowCount": snapshot.rows.height, "picked": picked,
        "readings": [
            {"label": r.label, "value": r.value, "title": r.title, "alarm": r.alarm, "now": r.now}
            for r in strip.readings(snapshot, rates)
        ],
        "kind": drawn.kind if drawn else None, "legend": [list(entry) for entry in drawn.legend] if drawn else [],
        "note": drawn.note if drawn else None,
        "signs": [list(sign) for sign in drawn.signs] if drawn else [],
    }  # fmt: skip
    if drawn is not None:
        rows = drawn.rows
        told |= {
            "names": list(rows.names),
            "numeric": list(rows.numeric),
            "keys": list(drawn.keys),
            "steady": list(drawn.steady),
        }
        if drawn.kind == "plot":
            told |= {
                "x": _axis(drawn.x), "y": _axis(drawn.y), "watermark": drawn.watermark,
                "scale": dataclasses.asdict(drawn.scale) if drawn.scale else None,
                "titles": [title for title, _ in drawn.panels] or None,
                "lateNames": list(drawn.late.names) if drawn.late and drawn.late.height else None,
            }  # fmt: skip
        else:
            told["light"] = list(rows.light) if any(rows.light) else []
            told["shades"] = list(drawn.shades)
            told["changes"] = [change(past) for past in drawn.past]
    return told


def _axis(axis: Axis | None) -> dict[str, Any]:
    assert axis is not None
    return {"kind": axis.kind, "low": axis.low, "high": axis.high, "factors": list(axis.factors)}
