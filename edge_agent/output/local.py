"""Served records for other programs of this device: JSON lines on a Unix socket.

Nothing is encoded while nobody is connected, and a reader that is too slow or gone is let go.
"""

from __future__ import annotations

import errno
import grp
import json
import logging
import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

from edge_agent.errors import SourceError
from edge_agent.output.base import Output

log = logging.getLogger("fsir.output")
MOST_READERS = 64  # of one socket; descriptors are needed for other things, too
OWNER_ONLY = 0o600
LIVE = "live.sock"  # in the state directory, for the owner's page


class LocalSocket(Output):
    """JSON lines to every program that is connected to a Unix socket of this machine."""

    def __init__(self, path: str, mode: int = OWNER_ONLY, group: str | None = None) -> None:
        self._path = Path(path)
        self._readers: tuple[socket.socket, ...] = ()
        self._complained = False
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._bind()
        except OSError as error:
            self._listener.close()
            raise SourceError(
                f"output unix:{path}: {error.strerror or error}; give a path that is free and short"
            ) from None
        try:
            _open_to(self._path, mode, group)
        except SourceError:
            self.close()
            raise
        self._listener.listen(8)
        self._listener.setblocking(False)

    def _bind(self) -> None:
        if self._path.is_socket():
            if _is_served(self._path):
                raise OSError(errno.EADDRINUSE, "another program listens there")
            self._path.unlink()  # left behind by an agent that was killed
        before = os.umask(0o177)  # only the owner may listen in, until all is said
        try:
            self._listener.bind(str(self._path))
        finally:
            os.umask(before)

    def write(self, served: dict[str, Any]) -> None:
        """One line to everyone."""
        if not self._readers:
            return
        line = (json.dumps(served) + "\n").encode()
        for reader in self._readers:
            with suppress(OSError):
                if reader.send(line) == len(line):
                    continue
            self._let_go(reader)

    def _let_go(self, reader: socket.socket) -> None:
        reader.close()
        self._readers = tuple(one for one in self._readers if one is not reader)

    # --- for the loop -----------------------------------------------------------------------------

    def welcome(self) -> None:
        """See who has come and who has gone."""
        for reader in self._readers:
            with suppress(BlockingIOError):
                if not _says(reader):
                    self._let_go(reader)
        self._accept()

    def _accept(self) -> None:
        while len(self._readers) < MOST_READERS:
            try:
                reader, _ = self._listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                self._complain(error)
                return
            self._complained = False
            reader.setblocking(False)
            self._readers = (*self._readers, reader)

    def _complain(self, error: OSError) -> None:
        """Out of descriptors, say: those who read already must not suffer."""
        if not self._complained:
            log.error(
                "output unix:%s: nobody more can connect for now: %s", self._path, error.strerror
            )
        self._complained = True

    def readers(self) -> list[int]:
        """Whoever comes or goes; a listener that cannot accept would wake the loop for nothing."""
        full = self._complained or len(self._readers) >= MOST_READERS
        doors = self._readers if full else (self._listener, *self._readers)
        return [door.fileno() for door in doors]

    def close(self) -> None:
        """Close and remove the socket."""
        for door in (*self._readers, self._listener):
            door.close()
        self._path.unlink(missing_ok=True)


def _is_served(path: Path) -> bool:
    """Whether somebody listens at a socket: a full queue is an answer, too."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.setblocking(False)
        try:
            caller.connect(str(path))
        except BlockingIOError:
            return True
        except OSError:
            return False
    return True


def _says(reader: socket.socket) -> bool:
    """Whether a reader is still there; what it says is of no interest."""
    try:
        return bool(reader.recv(4096))
    except BlockingIOError:
        raise
    except OSError:
        return False


def _open_to(path: Path, mode: int, name: str | None) -> None:
    """Let others of this device in, as far as the owner says so."""
    try:
        group = -1 if name is None else grp.getgrnam(name).gr_gid
        # Where chown is forbidden, the service's own group will do.
        if group not in (-1, path.stat().st_gid):
            os.chown(path, -1, group)
        path.chmod(mode)
    except KeyError:
        raise SourceError(
            f"--output-group {name}: there is no such group on this device; see `getent group`"
        ) from None
    except OSError as error:
        raise SourceError(
            f"output unix:{path} for group {name}: {error.strerror}; the agent's user must be a "
            "member of that group, or the agent must run under it"
        ) from None


def open_live(directory: Path) -> list[Output]:
    """The socket for the owner's page; the agent runs without one where there can be none."""
    try:
        return [LocalSocket(str(directory / LIVE))]
    except SourceError as error:
        log.info("no live view on the owner's page: %s", error)
        return []
