"""/control: control tables, read and written. What `%stream set`, `q.set`, `q.pause` and their like do, for other programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tornado.web import HTTPError

from jupyter_stream.serving.handler import Guarded

if TYPE_CHECKING:
    from jupyter_stream.session.query import Query
    from jupyter_stream.session.session import Session

_STATES = {"paused": "pause", "running": "resume", "inactive": "deactivate", "stopped": "stop"}
"""What a query's state may be set to, and what does it."""


class SessionControl(Guarded):
    """What goes for all queries: `memory`, `scheduler`, `progress`."""

    def get(self) -> None:
        """As it is now."""
        self.give(_settings(self.session))

    async def patch(self) -> None:
        """Change some: `{"memory": "2 GB"}`."""
        said = self.body()
        does = {"memory": self.session.limit, "scheduler": self.session.schedule, "progress": self.session.progress}
        _refuse_unknown(said, does)
        for name, value in said.items():
            await self.apart(lambda does=does[name], value=value: does(str(value)))  # type: ignore[misc]  # bound now
        self.give(_settings(self.session))


class QueryControl(Guarded):
    """A query's plan with the control table of each node."""

    async def get(self, name: str) -> None:
        """The nodes, by their ids."""
        query = self.query_named(name)
        self.give(await self.apart(lambda: _tables(query)))

    async def patch(self, name: str) -> None:
        """Pause, resume, deactivate or stop it, or set its policy: `{"state": "paused", "scheduler": "chain"}`."""
        query, said = self.query_named(name), self.body()
        _refuse_unknown(said, ("state", "scheduler"))
        if "state" in said:
            verb = _STATES.get(str(said["state"]))
            if verb is None:
                raise HTTPError(400, f"a state can be set to {', '.join(_STATES)}")
            if verb == "resume" and query.status == "inactive":
                verb = "activate"
            await self.apart(getattr(query, verb))
        if "scheduler" in said:
            policy = None if said["scheduler"] in (None, "session") else str(said["scheduler"])
            await self.apart(lambda: query.schedule(policy))
        self.give(await self.apart(lambda: _tables(query)))


class NodeControl(Guarded):
    """One node of a query's plan."""

    async def get(self, name: str, node: str) -> None:
        """Its control table."""
        query = self.query_named(name)
        tables = await self.apart(lambda: _tables(query))
        if node not in tables["nodes"]:
            raise HTTPError(404, f"{query.name} has no node {node[:100]}")
        self.give(tables["nodes"][node])

    async def patch(self, name: str, node: str) -> None:
        """Change its settings: `{"most_rows": 100000}`."""
        query, said = self.query_named(name), self.body()
        for setting, value in said.items():
            await self.apart(lambda setting=setting, value=value: query.set(node, setting, value))  # type: ignore[misc]  # bound now
        await self.get(name, node)


def _settings(session: Session) -> dict[str, Any]:
    engine = session.engine
    return {"memory": engine.memory, "scheduler": engine.scheduler, "progress": str(engine.enabling)}


def _tables(query: Query) -> dict[str, Any]:
    drawn = query.diagram()
    nodes = {} if drawn is None else {n.id: asdict(n) for n in drawn.nodes}
    for node in nodes.values():
        node["settings"] = {name: {"now": now, "help": what} for name, (now, what) in node["settings"].items()}
    flows = [] if drawn is None else [asdict(flow) for flow in drawn.flows]
    return {"name": query.name, "state": query.status, "nodes": nodes, "flows": flows}


def _refuse_unknown(said: dict[str, Any], known: Any) -> None:
    for name in said:
        if name not in known:
            raise HTTPError(400, f"there is no setting {name[:100]!r} here; there are {', '.join(known)}")
