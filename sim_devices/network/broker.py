"""A broker for the length of a `with` block:
mosquitto where there is one, else the embedded one, or somebody's URL.

    with LocalBroker() as broker:
        url = broker.start("auto")      # mqtt://127.0.0.1:40123

The child process listens on the loopback interface only, lets everyone in, and is gone after the
block. A federation of real devices needs accounts, access lists and TLS: see deploy/.
"""

from __future__ import annotations

import contextlib
import resource
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType

from sim_devices.network.kinds import BrokerError, available, checked, command_of
from sim_devices.network.probe import free_port, in_service, is_taken

START_SECONDS = 30.0
STOP_SECONDS = 10.0
# Between two attempts to reach it: mosquitto is there in a few milliseconds.
SHORTEST_SECONDS = 0.002
LONGEST_SECONDS = 0.05


class LocalBroker:
    """One broker: `start`, and for fault tests `kill` and `restart` (same port;
    mosquitto also the same memory)."""

    def __init__(self) -> None:
        self.kind = ""
        self.url = ""
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._directory: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> LocalBroker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """Process id of the child, None while none runs."""
        return None if self._process is None else self._process.pid

    def start(self, kind: str = "auto", port: int | None = None) -> str:
        """Start a broker and return its URL.

        `kind`: embedded, mosquitto, auto, or the URL of one that runs already. Without a `port` it
        gets one that is free.
        """
        if self.kind:
            raise BrokerError(
                f"this Broker is already in use ({self.kind} at {self.url}): make another one"
            )
        if "://" in kind:
            self.url = checked(kind)
            self.kind = "url"
            return self.url
        self.kind = available(kind)
        self._directory = tempfile.TemporaryDirectory(prefix="fsir-broker-")
        directory = Path(self._directory.name)
        if port is None:
            self._launch_on_some_port(directory)
        else:
            self._launch_on(port, directory)
        self.url = f"mqtt://127.0.0.1:{self._port}"
        return self.url

    def _launch_on_some_port(self, directory: Path) -> None:
        for attempt in (1, 2, 3):
            # Someone else may take the port between our look and the broker's bind: then take
            # another.
            self._port = free_port()
            try:
                self._launch(directory)
                return
            except BrokerError:
                if attempt == 3:
                    self.close()
                    raise

    def _launch_on(self, port: int, directory: Path) -> None:
        if is_taken(port):
            self.close()
            raise BrokerError(f"port {port} is in use: choose another one")
        self._port = port
        try:
            self._launch(directory)
        except BrokerError:
            self.close()
            raise

    def kill(self) -> None:
        """End the child at once, as a power cut would:
        mosquitto keeps what it last saved, the embedded one nothing."""
        self._end(signal.SIGKILL)

    def restart(self) -> str:
        """Start the child again on the same port, after `kill` or,
        if it still runs, after a clean stop."""
        if self._directory is None:
            raise BrokerError(
                "only a broker that was started here can be restarted: "
                "call start('mosquitto') first"
            )
        self._end(signal.SIGTERM)
        self._launch(Path(self._directory.name))
        return self.url

    def close(self) -> None:
        """Stop the child and forget its files. Does nothing to a broker that was given by URL."""
        self._end(signal.SIGTERM)
        if self._directory is not None:
            self._directory.cleanup()
            self._directory = None
        self.kind = ""
        self.url = ""

    def log(self, lines: int = 20) -> str:
        """The last lines that the child wrote: warnings and errors only."""
        if self._directory is None:
            return ""
        path = Path(self._directory.name) / "broker.log"
        with contextlib.suppress(FileNotFoundError):
            text = path.read_text(encoding="utf-8", errors="replace")
            return "\n".join(text.splitlines()[-lines:])
        return ""

    def _command(self, directory: Path) -> list[str]:
        """What to start; one with other settings says it in another way."""
        return command_of(self.kind, self._port, directory)

    def _launch(self, directory: Path) -> None:
        command = self._command(directory)
        with (directory / "broker.log").open("ab") as log:
            # Its own session: Ctrl-C reaches us first, and the broker stays until the devices have
            # said good-bye.
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
            )
        self._process = process
        if hasattr(resource, "prlimit"):
            # One descriptor per client: the usual soft limit of 1024 would stop at about a thousand
            # devices.
            hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (hard, hard))
        self._await_service(process)

    def _await_service(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_SECONDS
        pause = SHORTEST_SECONDS
        while not in_service(self._port):
            status = process.poll()
            if status is None and time.monotonic() < deadline:
                time.sleep(pause)
                pause = min(2.0 * pause, LONGEST_SECONDS)
                continue
            self._end(signal.SIGKILL)
            what = f"ended with status {status}"
            if status is None:
                what = f"did not answer within {START_SECONDS:.0f} s"
            raise BrokerError(
                f"the {self.kind} broker {what} on port {self._port}. Its last words:\n{self.log()}"
            )

    def _end(self, how: signal.Signals) -> None:
        process = self._process
        self._process = None
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(how)
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if process.stdin is not None:
            process.stdin.close()
