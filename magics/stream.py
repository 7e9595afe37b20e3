"""`%%stream` and `%stream`: parse the line, call the session, show what it gives."""

from __future__ import annotations

import builtins
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from IPython.core.magic import Magics, cell_magic, line_magic, magics_class, no_var_expand

from jupyter_stream.errors import QueryError, StreamError
from jupyter_stream.magics import commands, dashboards, defaults, options, output, results

if TYPE_CHECKING:
    from jupyter_stream.session.session import Session

FIRST_LINE = 2
"""The `%%stream` line is line 1, as the notebook counts."""


@magics_class
class StreamMagics(Magics, defaults.Defaults):  # type: ignore[misc] # IPython publishes no types
    """The two magics of a notebook, and its session."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self._session: Session | None = None
        try:
            configured = dict(
                self.config.get("StreamMagics", {})
            )  # what the user's profile says goes before the project's
            defaults.apply(self, {n: v for n, v in defaults.read(Path.cwd()).items() if n not in configured})
        except QueryError as error:
            output.say(str(error))  # a mistake in that file must not keep the magics away

    @property
    def session(self) -> Session:
        """The notebook's session, made when it is first needed: the engine takes longer to import than `%load_ext` should."""
        if self._session is None:
            from jupyter_stream.session.session import Session

            self._session = Session(self.shell.user_ns)
            self._session.guard = self._guard
        return self._session

    @property
    def session_if_any(self) -> Session | None:
        """The same, None while none was needed."""
        return self._session

    @no_var_expand  # type: ignore[untyped-decorator] # IPython publishes no types
    @cell_magic  # type: ignore[untyped-decorator]  # IPython's decorators have no types
    def stream(self, line: str, cell: str) -> None:
        """Run the statements in this cell. A SELECT starts a query, shows it live, and binds its name to a handle.

            %%stream
            CREATE STREAM trades WATERMARK FOR ts AS ts - INTERVAL 10 SECONDS SOURCE 'frame://trades_df'

            %%stream hot --chart line --by symbol
            SELECT symbol, avg(price) AS price FROM trades [RANGE 1 MINUTE SLIDE 5 SECONDS] GROUP BY symbol

            %%stream errors --chart table
            SELECT * FROM 'logs/*.jsonl' WHERE level = 'ERROR'

        `%%stream --help` lists the options, `%stream help` what else there is.
        """
        try:
            said = self.said(line)
            if said.help:
                output.say(options.usage())
            else:
                self._run(said, cell)
        except StreamError as error:
            raise output.plain(error) from None

    @no_var_expand  # type: ignore[untyped-decorator] # IPython publishes no types
    @cell_magic  # type: ignore[untyped-decorator]  # IPython's decorators have no types
    def dashboard(self, line: str, cell: str) -> None:
        """Show several queries side by side: a query on each line, by its name, with options as after `%%stream`."""
        try:
            dashboards.show(self.session, line, cell)
        except StreamError as error:
            raise output.plain(error) from None

    @no_var_expand  # type: ignore[untyped-decorator] # IPython publishes no types
    @line_magic("stream")  # type: ignore[untyped-decorator]  # IPython's decorators have no types
    def stream_line(self, line: str) -> None:
        """See and steer what runs.

            %stream list            all queries, with their states
            %stream status hot      counters and times of one
            %stream stop all        end all that run

            %%stream hot            as the first line of a cell: starts a query, here one called hot; %%stream? says how

        `%stream help` lists the subcommands.
        """
        try:
            commands.run(self.session, options.split(line))
        except StreamError as error:
            raise output.plain(error) from None

    def close(self) -> None:
        """Stop all queries and threads."""
        session, self._session = self._session, None
        if session is not None:
            from jupyter_stream import views

            try:
                session.close()
            finally:  # whatever state the session is in, the next one begins afresh
                views.close()

    def _run(self, said: options.CellLine, cell: str) -> None:
        from jupyter_stream.session.query import Query

        for result in self._results(said, cell):
            if isinstance(result, Query):
                if not said.quiet:
                    from jupyter_stream import views

                    views.display(result, said.view)
            elif not said.quiet:
                results.tell(result)

    def results_of(self, line: str, cell: str, **more: object) -> list[Any]:
        """What the statements of a cell give, without showing it; `more` are options of `Session.run` that the line doesn't say.

        Raises:
            QueryError: a mistake in the line or the cell.
        """
        return self._results(self.said(line), cell, **more)

    def said(self, line: str) -> options.CellLine:
        """What stands behind `%%stream`, with the defaults of `%config`. Raises `QueryError` for what can't be an option."""
        return options.parse(line, {name: getattr(self, name) for name in defaults.NAMES})

    def _results(self, said: options.CellLine, cell: str, **more: object) -> list[Any]:
        from jupyter_stream.session.query import Query

        if not cell.strip():
            raise QueryError(
                "this cell has no statement", hint="Write one below the %%stream line, such as SHOW STREAMS."
            )
        self._keep_sources(said.name)
        chosen: dict[str, Any] = {**more, **said.session}
        results = self.session.run(cell, name=said.name, first_line=FIRST_LINE, **chosen)
        self.shell.user_ns.update({r.name: r for r in results if isinstance(r, Query)})
        return list(results)

    def _guard(self, name: str) -> None:
        """Raise where a handle of that name would take the place of something that is no query's."""
        from jupyter_stream.session.query import Query

        names = self.shell.user_ns
        if name in names:
            value = names[name]
            if isinstance(value, Query):
                return
            what = "a module" if isinstance(value, ModuleType) else f"a variable, of type {type(value).__name__}"
        elif hasattr(builtins, name):
            what = "Python's own"
        else:
            return
        free = next(n for n in (f"{name}_{i}" for i in count(1)) if n not in names)
        raise QueryError(
            f"{name} is {what}, and the query's handle would replace it",
            hint=f"Give the query another name, such as {free}.",
        )

    def _keep_sources(self, name: str | None) -> None:
        """Raise where a handle of that name would take the place of what a stream reads."""
        from jupyter_stream.plan.catalog import StreamDef

        for entry in self.session.catalog:
            scheme, _, read = entry.uri.partition("://") if isinstance(entry, StreamDef) else ("", "", "")
            if name is not None and scheme in ("frame", "python") and read.partition("?")[0] == name:
                raise QueryError(
                    f"{entry.name} reads the variable {name}, and the query's handle would replace it",
                    hint=f"Give the query another name: %%stream {name}_1.",
                )
