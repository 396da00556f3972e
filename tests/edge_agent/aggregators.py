"""A tiny aggregator for the tests of the agent.

It lets every device go on that asks, counts each report once, answers, and remembers all traffic.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from urllib.parse import urlsplit

import numpy as np
import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

from fsir.task.task import Task
from fsir.wire.decode import decode
from fsir.wire.messages import (
    Active,
    Ask,
    Receipt,
    Report,
    Subspace,
    Verdict,
    encode,
    report_id,
    topic,
)


class TinyAggregator:
    """Answers asks and reports of one task; `silent` ones see reports and say nothing."""

    def __init__(
        self, url: str, task: Task, *, active: tuple[str, ...] = (), silent: bool = False
    ) -> None:
        self.task = task
        self.active = active
        self.silent = silent
        # Everything that anybody publishes below the task, in order.
        self.seen: list[tuple[str, bytes]] = []
        self.counted: dict[tuple[str, str], bytes] = {}  # (device, stage) -> bytes
        self._verdicts: dict[str, dict[str, Verdict]] = {}
        self._numbers: dict[str, bytes] = {}
        self._lock = threading.Lock()
        parts = urlsplit(url)
        self._client = mqtt.Client(CallbackAPIVersion.VERSION2)
        self._client.on_message = self._take
        self._client.on_connect = lambda client, *_: client.subscribe("#", 1)
        self._client.connect(parts.hostname or "", parts.port or 1883)
        self._client.loop_start()
        self._client.publish(
            topic(task.name, "task"), task.encode(), 1, retain=True
        ).wait_for_publish(10)

    def __enter__(self) -> TinyAggregator:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def publish(self, about: str, payload: bytes, retain: bool = False) -> None:
        self._client.publish(about, payload, 1, retain=retain).wait_for_publish(10)

    def _take(self, _client, _data, message: mqtt.MQTTMessage) -> None:
        with self._lock:
            self.seen.append((message.topic, bytes(message.payload)))
            if f"/{self.task.name}/ask/" in message.topic:
                ask = decode(bytes(message.payload), Ask)
                self._numbers[ask.device] = ask.instance
                self._tell(ask.device)
            if f"/{self.task.name}/report/" in message.topic and not self.silent:
                self._answer(bytes(message.payload))

    def _answer(self, payload: bytes) -> None:
        report = decode(payload, Report)
        known = self.counted.setdefault((report.device, report.stage), payload)
        status = "counted" if known is payload else "duplicate" if known == payload else "refused"
        mine = self._verdicts.setdefault(report.device, {})
        mine[report.stage] = Verdict(report_id(payload), status)
        self._tell(report.device)
        if report.stage == "screening" and self.active:
            active = encode(Active(self.task.digest, self.active, 1))
            self._client.publish(topic(self.task.name, "active"), active, 1, retain=True)
        if report.stage == "final":
            self.emit()

    def _tell(self, device: str) -> None:
        mine = self._verdicts.get(device, {})
        answer = encode(Receipt(self.task.digest, device, mine, self._numbers.get(device, b"")))
        self._client.publish(topic(self.task.name, "receipt", device), answer, 1, retain=True)

    def emit(self) -> None:
        """Publish a subspace: the first feature."""
        features = self.active or self.task.features.names
        subspace = Subspace(
            task=self.task.digest,
            version=1,
            features=features,
            basis=np.eye(len(features))[:, :1],
            singular_values=np.ones(1),
            noise_level=0.1,
            expected_error=0.1,
            devices=len(self.counted),
            records=100,
        )
        self._client.publish(topic(self.task.name, "subspace"), encode(subspace), 1, retain=True)

    def reports(self, device: str) -> dict[str, set[bytes]]:
        """Every different report of a device that was ever seen, by stage."""
        with self._lock:
            reports: dict[str, set[bytes]] = {}
            for about, payload in self.seen:
                if about.endswith(f"/report/{device}"):
                    reports.setdefault(decode(payload, Report).stage, set()).add(payload)
            return reports

    def wait(self, condition: Callable[[], bool], seconds: float = 60.0) -> None:
        """Until something has happened."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "nothing happened in time"
            time.sleep(0.02)
