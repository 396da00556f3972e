"""A real PostgreSQL in a temporary folder, reached by a socket there: no port, no network."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.needs import not_tested

SAFE = "-c fsync=off -c full_page_writes=off"  # unless the machine itself fails
FAST = f"{SAFE} -c synchronous_commit=off"
_SECONDS = 60.0  # to start
_numbers = itertools.count()


def found(program: str) -> str:
    """Debian keeps the server's programs beside its library."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    path = os.pathsep.join([*map(str, places), os.environ.get("PATH", "")])
    place = shutil.which(program, path=path)
    return place or not_tested(f"{program} of PostgreSQL is not on this machine")


def _as_nobody() -> list[str]:
    """The server refuses to run as root."""
    return ["runuser", "-u", "nobody", "--"] if os.geteuid() == 0 else []


class Cluster:
    """One server; `kill` and `start` as often as you like."""

    def __init__(self, options: str = FAST, port: int = 0) -> None:
        self._port = port  # beside the socket, on loopback; 0: none
        self.folder = Path(tempfile.mkdtemp(prefix="fsir-pg-", dir="/tmp"))
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        if os.geteuid() == 0:
            shutil.chown(self.folder, "nobody")

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def create(self) -> Cluster:
        """A new server, whose owner is called `fsir`."""
        self._run(
            "initdb", "-D", str(self.data), "-A", "trust", "-U", "fsir", "--no-sync", "-E", "UTF8"
        )
        return self

    def follow(self, primary: Cluster) -> Cluster:
        """A standby of another server."""
        options = f"-D {self.data} -R -X stream -c fast --no-sync"
        self._run("pg_basebackup", *options.split(), "-d", primary.address("postgres"))
        return self

    def start(self) -> Cluster:
        """Also after a `kill`, whose children may need a moment to leave."""
        deadline = time.monotonic() + _SECONDS
        self._launch()
        while not self._answers():
            assert time.monotonic() < deadline, (self.folder / "log").read_text()[-3000:]
            if self._process is not None and self._process.poll() is not None:
                self._launch()
            time.sleep(0.1)
        return self

    def _launch(self) -> None:
        listen = f"127.0.0.1 -c port={self._port}" if self._port else ""
        command = [found("postgres"), "-D", str(self.data), "-k", str(self.folder)]
        command += f"-c max_connections=60 {self._options} -c listen_addresses={listen}".split()
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen([*_as_nobody(), *command], stdout=log, stderr=log)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.address("postgres")).close()
        except psycopg.OperationalError:
            return False
        return True

    def promote(self) -> None:
        with psycopg.connect(self.address("postgres"), autocommit=True) as link:
            link.execute("SELECT pg_promote()")

    def kill(self) -> None:
        """At once and without a word, with all its children."""
        self._signal(signal.SIGQUIT)  # the postmaster ends all backends without any checkpoint

    def kill_postmaster(self) -> None:
        """With -9: it can tell nobody, and its children notice by themselves."""
        self._signal(signal.SIGKILL)

    def stop(self) -> None:
        self._signal(signal.SIGINT)

    def _signal(self, number: int) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        os.kill(int((self.data / "postmaster.pid").read_text().split()[0]), number)
        self._process.wait(_SECONDS)

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def address(self, name: str = "postgres", schema: str = "", more: str = "") -> str:
        """Of a database, and in it of one schema."""
        path = f"&options=-csearch_path%3D{schema}" if schema else ""
        port = f"&port={self._port}" if self._port else ""
        return f"postgresql:///{name}?host={self.folder}{port}&user=fsir{path}{more}"

    def fresh(self) -> str:
        """The address of a new and empty place for a store."""
        schema = f"s{next(_numbers)}"
        self.run(f"CREATE SCHEMA {schema}")
        return self.address(schema=schema)

    def run(self, statement: str, address: str = "") -> list[tuple[object, ...]]:
        with psycopg.connect(address or self.address(), autocommit=True) as link:
            answer = link.execute(statement)
            return answer.fetchall() if answer.description else []

    def _run(self, program: str, *arguments: str) -> None:
        command = [*_as_nobody(), found(program), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """One server for all tests of a process; each takes a schema of its own."""
    cluster = Cluster()
    try:
        yield cluster.create().start()
    finally:
        cluster.remove()
