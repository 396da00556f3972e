"""The three subscribers of the benchmark `intake`, each in a process of its own:

python -m benchmarks._subscribers bare URL COUNT VERSION
python -m benchmarks._subscribers durable URL COUNT VERSION STORE
python -m benchmarks._subscribers full URL COUNT VERSION TASK STORE
"""

from __future__ import annotations

import json
import select
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from aggregator.core import Aggregator
from aggregator.daemon import Daemon
from aggregator.mqtt.connector import RECEIVE_MAXIMUM
from aggregator.store.opening import open_store
from fsir.contract import load_task
from fsir.net.broker import Broker


def connect(url: str, client_id: str, version: str) -> mqtt.Client:
    """A client with a session that the broker keeps while it is away."""
    port = int(url.rsplit(":", 1)[1])
    api = CallbackAPIVersion.VERSION2
    if version == "3.1.1":
        older = MQTTProtocolVersion.MQTTv311
        client = mqtt.Client(api, client_id, clean_session=False, protocol=older)
        client.connect("127.0.0.1", port)
        return client
    client = mqtt.Client(api, client_id, protocol=MQTTProtocolVersion.MQTTv5)
    properties = Properties(PacketTypes.CONNECT)
    properties.SessionExpiryInterval = 3600
    properties.ReceiveMaximum = RECEIVE_MAXIMUM
    client.connect("127.0.0.1", port, clean_start=False, properties=properties)
    return client


def bare(url: str, count: int, version: str) -> dict[str, float]:
    """A paho subscriber that counts messages and does nothing else."""
    times: list[float] = []
    busy = time.process_time()
    client = connect(url, "bare", version)

    def on_message(client: mqtt.Client, userdata: Any, message: mqtt.MQTTMessage) -> None:
        times.append(time.perf_counter())
        if len(times) == count:
            client.disconnect()

    client.on_message = on_message
    client.loop_forever()
    return {
        "rate": (count - 1) / (times[-1] - times[0]),
        "cpu_us": (time.process_time() - busy) / count * 1e6,
    }


def durable(url: str, count: int, version: str, store: str) -> dict[str, float]:
    """The same with what nobody who must lose nothing can leave out: messages that are there are
    inserted together, the disk has them, and only then they are acknowledged."""
    database = sqlite3.connect(store, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("CREATE TABLE reports (topic TEXT, raw BLOB)")
    waiting: list[mqtt.MQTTMessage] = []
    busy = time.process_time()
    client = connect(url, "durable", version)
    client.manual_ack_set(True)
    client.on_message = lambda client, userdata, message: waiting.append(message)
    started = 0.0
    taken = 0
    while taken < count:
        client.loop(1.0)
        if not waiting:
            continue
        started = started or time.perf_counter()
        if len(waiting) < RECEIVE_MAXIMUM and select.select([client.socket()], [], [], 0)[0]:
            continue
        database.execute("BEGIN IMMEDIATE")
        rows = [(message.topic, message.payload) for message in waiting]
        database.executemany("INSERT INTO reports VALUES (?, ?)", rows)
        database.execute("COMMIT")
        for message in waiting:
            client.ack(message.mid, message.qos)
        taken += len(waiting)
        waiting.clear()
    return {
        "rate": (count - 1) / (time.perf_counter() - started),
        "cpu_us": (time.process_time() - busy) / count * 1e6,
    }


def full(url: str, count: int, version: str, task_file: str, store: str) -> dict[str, float]:
    """The aggregator's daemon, from the first report that it takes
    until the last one is counted and answered."""
    task = load_task(task_file)
    aggregator = TimedAggregator(open_store(f"sqlite:{store}"), [task], debounce=3600.0)
    ended: list[float] = []

    def reached(point: str) -> None:
        if point == "answered" and aggregator.verdicts[task.name, "counted"] >= count:
            ended.append(time.perf_counter())
            daemon.stop()

    busy = time.process_time()
    daemon = Daemon(
        aggregator, Broker.parse(url), client_id="full", version=version, reached=reached
    )
    daemon.run()
    return {
        "rate": count / (ended[0] - aggregator.started),
        "cpu_us": (time.process_time() - busy) / count * 1e6,
        "peak_mb": peak_mb(),
    }


class TimedAggregator(Aggregator):
    """Notes when the first report comes."""

    started = 0.0

    def take(self, topic: str, payload: bytes) -> None:
        self.started = self.started or time.perf_counter()
        super().take(topic, payload)


def peak_mb() -> float:
    """Of this program: what getrusage says would include the
    memory of the process that started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


if __name__ == "__main__":
    measured = {"bare": bare, "durable": durable, "full": full}[sys.argv[1]]
    print(json.dumps(measured(sys.argv[2], int(sys.argv[3]), *sys.argv[4:])))
