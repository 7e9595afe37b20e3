"""/queries: run statements, list, look at one, drop it."""

from __future__ import annotations

import json
from typing import Any

from tornado.web import HTTPError

from jupyter_stream.core.far import as_json
from jupyter_stream.core.schema import type_name
from jupyter_stream.core.snapshot import Snapshot
from jupyter_stream.core.time import MAX_TIME, MIN_TIME, show
from jupyter_stream.serving.handler import Guarded

_WORDS = {"text": str, "name": str, "parameters": dict, "paused": bool, "keep": int, "engine": str}
"""What may be said with a text, and its type."""


class QueriesHandler(Guarded):
    """All queries."""

    def get(self) -> None:
        """Each with its state and counters."""
        self.give({"queries": [summary(q.snapshot(0)) for q in list(self.session.queries.values())]})

    async def post(self) -> None:
        """Run statements: `{"text": "SELECT ...", "name": "busy"}`. What stands before a mistake is run."""
        said = self.body()
        for word, value in said.items():
            if word not in _WORDS:
                raise HTTPError(400, f"there is no {word[:100]!r}; a text can have {', '.join(_WORDS)}")
            if not isinstance(value, _WORDS[word]) or (isinstance(value, bool) and _WORDS[word] is int):
                raise HTTPError(400, f"{word} is to be a {_WORDS[word].__name__}")
        text = said.pop("text", None)
        if not text:
            raise HTTPError(400, 'the text is missing: send {"text": "SELECT ..."}')
        results = await self.apart(lambda: self.session.run(text, **said))
        self.give({"results": [_result(r) for r in results]}, 201)


class QueryHandler(Guarded):
    """One query."""

    def get(self, name: str) -> None:
        """Its state, counters and text, and its columns."""
        query = self.query_named(name)
        shown = query.snapshot(0)
        columns = {n: type_name(t) for n, t in query.changes().clear().schema.items()}
        self.give({**summary(shown), "text": shown.text, "columns": columns})

    async def delete(self, name: str) -> None:
        """Stop and forget it."""
        query = self.query_named(name)
        message = await self.apart(lambda: self.session.drop(query.name))
        self.give({"message": message.text})


def summary(shown: Snapshot) -> dict[str, Any]:
    """A query in a few figures."""
    return {
        "name": shown.name, "state": shown.state, "rows_in": shown.rows_in, "rows_out": shown.rows_out,
        "late": shown.late, "bad": shown.bad, "state_bytes": shown.state_bytes, "relation": shown.relation,
        "watermark": show(shown.low_watermark) if MIN_TIME < shown.low_watermark < MAX_TIME else None,
        "error": shown.error, "hint": shown.hint,
    }  # fmt: skip


def _result(result: Any) -> dict[str, Any]:
    """What a statement gave: a query, rows, or a sentence."""
    if hasattr(result, "snapshot"):
        return {"query": summary(result.snapshot(0))}
    if hasattr(result, "frame"):
        return {"title": result.title, "rows": [json.loads(line) for line in as_json(result.frame)]}
    return {"message": str(result.text)}
