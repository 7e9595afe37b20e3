"""`%%stream` and `%stream`: parse the line, call the session, show what it gives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.magic import Magics, cell_magic, line_magic, magics_class, no_var_expand

from jupyter_stream.errors import QueryError, StreamError
from jupyter_stream.magics import commands, dashboards, defaults, options, output, results

if TYPE_CHECKING:
    from jupyter_stream.session import Session

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
            from jupyter_stream.session import Session

            self._session = Session(self.shell.user_ns)
        return self._session

    @property
    def session_if_any(self) -> Session | None:
        """The same, None while none was needed."""
        return self._session

    @no_var_expand  # type: ignore[untyped-decorator] # IPython publishes no types
    @cell_magic  # type: ignore[untyped-decorator]
    def stream(self, line: str, cell: str) -> None:
        """Run the statements in this cell; `%%stream --help` lists the options."""
        try:
            said = options.parse(line, {name: getattr(self, name) for name in defaults.NAMES})
            if said.help:
                output.say(options.usage())
            else:
                self._run(said, cell)
        except StreamError as error:
            raise output.plain(error) from None

    @no_var_expand  # type: ignore[untyped-decorator] # IPython publishes no types
    @cell_magic  # type: ignore[untyped-decorator]
    def dashboard(self, line: str, cell: str) -> None:
        """Show several queries side by side; in the cell a query per line: its name and how it is shown, as after `%%stream`."""
        try:
            dashboards.show(self.session, line, cell)
        except StreamError as error:
            raise output.plain(error) from None

    @no_var_expand  # type: ignore[untyped-decorator] # IPython publishes no types
    @line_magic("stream")  # type: ignore[untyped-decorator]
    def stream_line(self, line: str) -> None:
        """See and steer what runs; `%stream help` lists the subcommands."""
        try:
            commands.run(self.session, options.split(line))
        except StreamError as error:
            raise output.plain(error) from None

    def close(self) -> None:
        """Stop all queries and threads."""
        session, self._session = self._session, None
        if session is not None:
            session.close()
            from jupyter_stream import views

            views.close()

    def _run(self, said: options.CellLine, cell: str) -> None:
        from jupyter_stream.query import Query

        if not cell.strip():
            raise QueryError(
                "this cell has no statement", hint="Write one below the %%stream line, such as SHOW STREAMS."
            )
        self._keep_sources(said.name)
        for result in self.session.run(cell, name=said.name, first_line=FIRST_LINE, **said.session):
            if isinstance(result, Query):
                self.shell.user_ns[result.name] = result
                if not said.quiet:
                    from jupyter_stream import views

                    views.display(result, said.view)
            elif not said.quiet:
                results.tell(result)

    def _keep_sources(self, name: str | None) -> None:
        """Raise where a handle of that name would take the place of what a stream reads."""
        from jupyter_stream.plan.catalog import StreamDef

        for entry in self.session.catalog:
            scheme, _, read = entry.uri.partition("://") if isinstance(entry, StreamDef) else ("", "", "")
            if name is not None and scheme in ("frame", "python") and read.partition("?")[0] == name:
                raise QueryError(
                    f"{entry.name} reads the variable {name}, and the query's handle would take its place",
                    hint=f"Give the query another name: %%stream {name}_1.",
                )
