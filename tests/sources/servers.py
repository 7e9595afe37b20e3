"""Reads of live sources in a thread, and servers that are killed and started again."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from jupyter_stream.core.schema import Schema
from jupyter_stream.sources import Chunk, Request, Source, open_source
from tests.faults.threads import begun
from tests.waiting import PATIENCE, until


class Live:
    """A read of a live source, in a thread. What a failed test leaves running is ended by `end_all`."""

    running: ClassVar[list[Live]] = []

    def __init__(self, source: Source, *columns: str) -> None:
        self.request = Request(columns or None)
        self.rows: list[tuple[object, ...]] = []
        self.rejected: list[tuple[str, str]] = []
        self.error: Exception | None = None
        self.thread = threading.Thread(target=self._run, args=(source.read(self.request),), daemon=True)
        self.thread.start()
        self.running.append(self)

    def _run(self, chunks: Iterator[Chunk]) -> None:
        try:
            for chunk in chunks:
                self.rejected += chunk.rejected.rows() if chunk.rejected is not None else []
                self.rows += chunk.frame.rows()
        except Exception as error:
            self.error = error

    @property
    def trouble(self) -> str | None:
        return self.request.trouble.text

    def until(self, rows: int) -> list[tuple[object, ...]]:
        until(lambda: len(self.rows) >= rows or self.error is not None, lambda: (self.rows, self.trouble))
        assert self.error is None, self.error
        return self.rows

    def stop(self) -> None:
        self.request.stop.set()
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()

    @classmethod
    def end_all(cls) -> None:
        while cls.running:
            cls.running.pop().stop()


def opened(uri: str, schema: Schema | None = None, names: Mapping[str, object] | None = None, **options: str) -> Source:
    return open_source(uri, schema, options, names or {})


def _kept() -> socket.socket:
    kept = socket.socket()
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    kept.bind(("127.0.0.1", 0))
    return kept


_PORTS = deque(_kept() for _ in range(64))
"""Bound as long as this process lives, so that the kernel gives their ports to nobody else, whether a server listens or not."""


def free_port() -> int:
    """A port of ours where nothing listens: a server that says `SO_REUSEADDR`, as all do, can listen there, go and come back."""
    for _ in range(len(_PORTS)):
        port = int(_PORTS[0].getsockname()[1])
        _PORTS.rotate(-1)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise OSError("a server listens at every port")


def receivers() -> list[str]:
    """Threads of this test that receive messages."""
    return [t.name for t in begun() if "receives" in t.name]


class Program:
    """A server that is a program of Debian's. Without it a test is left out, but not on the project's CI.

    Args:
        package: what to install.
        command: the program and its arguments.
        port: where it listens.
    """

    def __init__(self, package: str, command: list[str], port: int, folder: Path) -> None:
        found = shutil.which(command[0], path=os.environ.get("PATH", "") + ":/usr/sbin")
        if found is None and os.environ.get("CI") != "true":
            pytest.skip(f"{command[0]} is not on the PATH (Debian: apt-get install {package})")
        assert found is not None, f"{command[0]} is missing"
        self._command, self._folder, self.port = [found, *command[1:]], folder, port
        self.start()

    def start(self) -> None:
        with (self._folder / "log").open("a") as log:
            self._process = subprocess.Popen(self._command, cwd=self._folder, stdout=log, stderr=log)
        said = (self._folder / "log").read_text
        until(lambda: self._listens() or self._process.poll() is not None, said)
        assert self._process.poll() is None, said()

    def kill(self) -> None:
        """As a machine that fails: nothing is said, nothing is put in order."""
        self._end()

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


class Proxy:
    """Passes connections on to a server that stays, and can be cut."""

    def __init__(self, port: int) -> None:
        self._to, self.port = port, free_port()
        self._open: list[socket.socket] = []
        self.mend()

    def mend(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def cut(self) -> None:
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._open.clear()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection(("127.0.0.1", self._to))
                self._open += [client, server]
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=self._pump, args=ends, daemon=True).start()

    @staticmethod
    def _pump(from_: socket.socket, to: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := from_.recv(65_536):
                to.sendall(data)
            to.shutdown(socket.SHUT_RDWR)


class Postgres:
    """A PostgreSQL of its own in a folder: killed with all its processes, and started again.

    Attributes:
        address: with user and database, without a table.
    """

    def __init__(self, folder: Path) -> None:
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(p.parent.name))
        if not found and os.environ.get("CI") != "true":
            pytest.skip("postgres is not there (Debian: apt-get install postgresql)")
        assert found, "postgres is missing"
        self._as = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []  # it refuses to run as root
        self._folder = Path(tempfile.mkdtemp(prefix="postgres-", dir="/tmp"))  # the user postgres can't enter tmp_path
        if self._as:
            shutil.chown(self._folder, "postgres")
        self._bin, self._data, self.port = found[-1], self._folder / "data", free_port()
        made = [str(self._bin / "initdb"), "-D", str(self._data), "-U", "me", "-A", "trust", "--no-sync", "-E", "UTF8"]
        subprocess.run([*self._as, *made, "--locale=C"], check=True, capture_output=True, cwd=self._folder)
        self.address = f"postgresql://me@127.0.0.1:{self.port}/postgres"
        self.start()

    def start(self) -> None:
        options = f"-p {self.port} -k {self._folder} -c listen_addresses=127.0.0.1 -c shared_buffers=16MB"
        self._control("start", "-w", "-t", "200", "-l", str(self._folder / "log"), "-o", options)

    def kill(self) -> None:
        """As a machine that fails: no transaction is ended, no client is told. What was committed is on the disk."""
        self._control("stop", "-m", "immediate", "-t", "200")

    def close(self) -> None:
        with contextlib.suppress(subprocess.CalledProcessError):
            self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _control(self, *words: str) -> None:
        command = [*self._as, str(self._bin / "pg_ctl"), "-D", str(self._data), *words]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self._folder)
