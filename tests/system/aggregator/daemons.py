"""Daemons and devices for the tests: real ones, in threads and processes, over a real broker.

As a program, `python -m tests.system.aggregator.daemons URL STORE TASK POINT` runs a daemon that
kills itself at the named point of its first batch.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any

import paho.mqtt.client as mqtt
import tomli_w
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from aggregator.core import Aggregator
from aggregator.daemon import Daemon
from aggregator.store.sqlite import SqliteStore
from fsir.contract import load_task
from fsir.net.broker import Broker
from fsir.task.task import Task
from fsir.wire import messages
from fsir.wire.decode import decode
from fsir.wire.messages import Receipt
from tests.needs import find, need
from tests.system.harness.ports import HeldPorts

PATIENCE_SECONDS = 60.0
ROOT = Path(__file__).resolve().parents[3]


def wait_for(condition: Callable[[], Any], what: str) -> None:
    """Until something has happened."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited {PATIENCE_SECONDS:.0f} s in vain for {what}"
        time.sleep(0.02)


class Serving:
    """A daemon in a thread, for the length of a `with` block."""

    def __init__(
        self, url: str, store: Path, task: Task, *, connect: bool = True, **options: Any
    ) -> None:
        broker = Broker.parse(url, ca=options.pop("ca", None))
        self._make = lambda: Daemon(
            Aggregator(SqliteStore(store), [task], debounce=0.1),
            broker,
            **options,
        )
        self._connect = connect
        self._made: Future[Daemon] = Future()
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        # SQLite's connections belong to the thread that made them.
        daemon = self._make()
        self._made.set_result(daemon)
        try:
            daemon.run()
        except BaseException as error:
            self.error = error
        finally:
            daemon.aggregator.store.close()

    @property
    def daemon(self) -> Daemon:
        return self._made.result(PATIENCE_SECONDS)

    def __enter__(self) -> Serving:
        self._thread.start()
        if self._connect:
            wait_for(lambda: self.healthy, "the connection")
        return self

    @property
    def healthy(self) -> bool:
        return bool(self.daemon.health()["ok"])

    @property
    def verdicts(self) -> dict[tuple[str, str], int]:
        return dict(self.daemon.aggregator.verdicts)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.daemon.stop()
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive(), "the daemon does not stop"


class Devices:
    """Publishes reports for many devices, and keeps what is said to them."""

    def __init__(self, url: str, task: Task, ca: str | None = None) -> None:
        self.task = task
        self.answers: dict[str, Receipt] = {}
        self.retained: dict[str, bytes] = {}
        self._client = mqtt.Client(
            CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv311
        )
        self._client.on_message = self._on_message
        self._client.on_connect = lambda client, *_: client.subscribe(
            [
                (messages.topic(task.name, kind), 1)
                for kind in ("receipt/+", "subspace", "active", "task")
            ]
        )
        self._client.reconnect_delay_set(0.1, 0.5)
        if ca is not None:
            self._client.tls_set(ca)
        self._client.connect("127.0.0.1", Broker.parse(url).port)
        self._client.loop_start()
        wait_for(self._client.is_connected, "the devices' connection")

    def _on_message(self, client: Any, userdata: Any, message: mqtt.MQTTMessage) -> None:
        if "/receipt/" in message.topic:
            receipt = decode(message.payload, Receipt)
            self.answers[receipt.device] = receipt
        else:
            self.retained[message.topic.rsplit("/", 1)[1]] = message.payload

    def send(self, reports: dict[str, bytes]) -> None:
        """Publish at QoS 1, and wait until the broker has it all."""
        sent = [
            self._client.publish(messages.topic(self.task.name, "report", d), raw, 1)
            for d, raw in reports.items()
        ]
        for info in sent:
            info.wait_for_publish(PATIENCE_SECONDS)

    def publish(self, about: str, payload: bytes) -> None:
        """Publish anything else at QoS 1."""
        self._client.publish(about, payload, 1).wait_for_publish(PATIENCE_SECONDS)

    def wait(self, reports: dict[str, bytes]) -> None:
        """Until every one of these reports has been answered."""
        wait_for(
            lambda: all(self.answered(device, raw) for device, raw in reports.items()),
            "all receipts",
        )

    def answered(self, device: str, raw: bytes) -> str:
        """`counted`, `duplicate`, `refused`, or nothing yet."""
        receipt = self.answers.get(device)
        if receipt is None:
            return ""
        mine = messages.report_id(raw)
        return next((v.status for v in receipt.verdicts.values() if v.report == mine), "")

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


@contextlib.contextmanager
def plain_mosquitto(config: str = "") -> Iterator[str]:
    """mosquitto as Debian starts it, with nothing but these lines changed."""
    need("mosquitto")
    held = HeldPorts(1)
    (port,) = held.numbers
    with contextlib.closing(held), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mosquitto.conf"
        path.write_text(f"listener {port} 127.0.0.1\n{config or 'allow_anonymous true'}\n")
        os.chmod(folder, 0o755)
        process = subprocess.Popen(
            [str(find("mosquitto")), "-c", str(path)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for(lambda: listens(port), "mosquitto")
            yield f"mqtt://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(10)


def listens(port: int) -> bool:
    """Whether somebody does there."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@contextlib.contextmanager
def start_doomed(
    url: str, store: Path, task: Task, point: str
) -> Iterator[subprocess.Popen[bytes]]:
    """A daemon process that dies by SIGKILL at the named point, or at the end of the block."""
    file = store.with_suffix(".toml")
    file.write_text(tomli_w.dumps(task.table()))
    program = [sys.executable, "-m", "tests.system.aggregator.daemons"]
    process = subprocess.Popen([*program, url, str(store), str(file), point], cwd=ROOT)
    try:
        yield process
    finally:
        process.kill()
        process.wait(10)


def main(url: str, store: str, task: str, point: str) -> None:
    def reached(here: str) -> None:
        if here == point:
            os.kill(os.getpid(), signal.SIGKILL)

    made = Aggregator(SqliteStore(store), [load_task(task)], debounce=0.1)
    Daemon(made, Broker.parse(url), client_id="test", reached=reached).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
