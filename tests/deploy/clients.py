"""mosquitto's own clients, with one identity each, and who they are in these tests."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.deploy.tools import Authority, ShippedBroker, run

PATIENCE_SECONDS = 20.0
LEVEL = ("-V", "5", "-q", "1")  # of the protocol, and of the quality of service


class Client:
    """Connects to a port of this machine with the certificate of a bundle, or with none."""

    def __init__(self, port: int, ca: Path, certificate: Path | None = None) -> None:
        self._where = ["-h", "localhost", "-p", str(port), "--cafile", str(ca)]
        if certificate is not None:
            key = certificate.with_suffix(".key")
            self._where += ["--cert", str(certificate), "--key", str(key)]

    def publish(self, topic: str, text: str, *options: str) -> str:
        """Publish at QoS 1; what the client said about it: empty if all went well."""
        message = ("-t", topic, "-m", text, *options)
        ran = run(
            "mosquitto_pub", *self._where, *LEVEL, *message, status=None, timeout=PATIENCE_SECONDS
        )
        said = ran.stdout + ran.stderr
        return said if said or not ran.returncode else f"status {ran.returncode}"

    @contextmanager
    def listening(self, *topics: str, options: tuple[str, ...] = ()) -> Iterator[Listener]:
        """Subscribe for the length of the block."""
        wanted = [part for topic in topics for part in ("-t", topic)]
        words = ["-d", "-F", "GOT %t %p"]
        listener = Listener(["mosquitto_sub", *self._where, *LEVEL, *words, *wanted, *options])
        try:
            listener.wait_for("received SUBACK")
            yield listener
        finally:
            listener.close()


class Parties:
    """Both aggregators and two devices at one broker, and whoever else a test needs."""

    def __init__(self, authority: Authority, broker: ShippedBroker) -> None:
        self._authority = authority
        self._broker = broker
        self.ca = authority.pki / "ca.crt"
        self.aggregator = self.of(authority.aggregator() / "aggregator.crt")
        self.helper = self.of(authority.aggregator("helper") / "aggregator.crt")
        self.a = self.device("A")
        self.b = self.device("B")

    def of(self, certificate: Path | None) -> Client:
        """Whoever has this certificate, or none."""
        return Client(self._broker.port, self.ca, certificate)

    def device(self, name: str) -> Client:
        """A new device."""
        return self.of(self._authority.device(name) / "device.crt")


class Listener:
    """A running mosquitto_sub, and what it has said."""

    def __init__(self, command: list[str]) -> None:
        # Line by line, because a pipe would otherwise hold everything back until the end.
        self._process = subprocess.Popen(
            ["stdbuf", "-oL", *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._lines: list[str] = []
        self._changed = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._changed:
                self._lines.append(line.rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._lines.append("ENDED")
            self._changed.notify_all()

    def wait_for(self, part: str) -> None:
        """Until a line holds this."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        with self._changed:
            while not any(part in line for line in self._lines):
                assert "ENDED" not in self._lines, self._lines
                assert self._changed.wait(deadline - time.monotonic()), (
                    f"no {part!r} in {self._lines}"
                )

    def until(self, last: str) -> list[str]:
        """Wait for a message with this text; the `topic text` of all that came up to then."""
        self.wait_for(f" {last}")
        return [line.removeprefix("GOT ") for line in self._lines if line.startswith("GOT ")]

    def count(self, part: str) -> int:
        """How many lines hold this."""
        with self._changed:
            return sum(part in line for line in self._lines)

    def kill(self) -> None:
        """Gone without a good-bye."""
        self._process.kill()
        self._process.wait(PATIENCE_SECONDS)

    def close(self) -> None:
        self.kill()  # a polite end may wait for an answer from a broker that is gone
        if self._process.stdout is not None and not self._process.stdout.closed:
            with self._changed:
                self._changed.wait_for(lambda: "ENDED" in self._lines, PATIENCE_SECONDS)
            self._process.stdout.close()
