"""How fast the aggregator takes reports,
against a bare paho subscriber that only counts the same messages.

mosquitto holds a full queue for each of them (QoS 1, persistent sessions); each in turn drains it
in a process of its own. The aggregator's figure includes everything: decoding, the range checks,
exact merging, a durable transaction (synchronous=FULL) before every acknowledgement, and a receipt
for every report. A third, the durable one, inserts what it gets before it acknowledges, and does no
more: the floor of whoever must lose nothing. All rates are measured in the same minute on the same
machine, so their ratios travel better than any of them. Memory is the aggregator's largest resident
set.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import paho.mqtt.client as mqtt
import tomli_w
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from benchmarks._subscribers import connect
from fsir.contract import task_from_table
from fsir.privacy.plan import first_stage
from fsir.task.task import Task
from fsir.wire import messages
from sim_devices.network.broker import LocalBroker

REPORTS = 10_000
ROUNDS = 3
WHO = ("bare", "durable", "full")
FEW_DEVICES = 1_000
MANY_DEVICES = 50_000
BARS = {
    "intake / bare subscriber, p = 10 final, MQTT 5": ">= 0.5",
    "intake / bare subscriber, p = 10 final, MQTT 3.1.1": ">= 0.5",
    "intake / bare subscriber, p = 561 screening, MQTT 5": ">= 0.5",
    "intake / bare subscriber, p = 561 screening, MQTT 3.1.1": ">= 0.5",
    "peak memory, 50,000 devices / 1,000 devices": "<= 1.25",
}


def low_dimensional(rounds: int = 1) -> Task:
    """p = 10, eight slices, one final report or several rounds of it."""
    task = _task("ten", 10, {"cuts": [-1.2, -0.7, -0.3, 0.0, 0.3, 0.7, 1.2]}, 1000)
    return task if rounds == 1 else replace(task, report=task.report._replace(rounds=rounds))


def screening_sums() -> Task:
    """p = 561, three classes, noisy sums of all features."""
    rule = {"quorum": 10**6, "final_norm_factor": 0.55, "records": "fresh"}
    return _task("har", 561, {"classes": ["active", "sedentary", "lying"]}, 300, screening=rule)


def _task(name: str, p: int, response: dict[str, Any], records: int, **more: Any) -> Task:
    table = {
        "name": name,
        "features": {"names": [f"x{j}" for j in range(p)]},
        "response": response,
        "clip": {"truncate": 3.0, "norm": 1.14 * p**0.5},
        "privacy": {"epsilon": 1.0},
        "report": {"records": records},
    }
    return task_from_table(table | more)


def reports(
    task: Task, count: int, seed: int, round: int = 1, first: int = 0
) -> list[tuple[str, bytes]]:
    """Topic and bytes of as many different reports; sums of 0 with honest noise, drawn fast."""
    stage = first_stage(task)
    rng = np.random.default_rng(seed)
    n = task.report.records or 0
    mean = {"sums": 0.0, "counts": n / task.slicing.count, "diagonal": n / 2, "off_diagonal": 0.0}
    sent = []
    for i in range(first, first + count):
        drawn = (rng.normal(mean[block.name], block.sd, block.size) for block in stage.blocks)
        blocks = tuple(
            np.rint(values / block.worth).astype(np.int64)
            for values, block in zip(drawn, stage.blocks, strict=True)
        )
        device = f"device-{i:06d}"
        report = messages.Report(
            task=task.digest, device=device, stage=stage.name, n=n, blocks=blocks, round=round
        )
        raw = messages.encode(report)
        sent.append((messages.topic(task.name, "report", device), raw))
    return sent


# --- the measurement ------------------------------------------------------------------------------


def measure(
    task: Task, count: int, who: tuple[str, ...], version: str = "5"
) -> dict[str, dict[str, float]]:
    """Fill the queues of these subscribers and let each, in this order, drain its own."""
    with LocalBroker() as broker, tempfile.TemporaryDirectory() as folder:
        url = broker.start("mosquitto")
        task_file = Path(folder) / "task.toml"
        task_file.write_text(tomli_w.dumps(task.table()))
        for name in who:
            client = connect(url, name, version)
            client.loop_start()
            client.subscribe(messages.topic(task.name, "report", "+"), 1)
            time.sleep(0.5)
            client.disconnect()
            client.loop_stop()
        _fill(url, reports(task, count, seed=1))
        figures = {}
        for name in who:
            store = str(Path(folder) / f"{name}.db")
            more = {"full": [str(task_file), store], "durable": [store]}.get(name, [])
            program = [sys.executable, "-m", "benchmarks._subscribers"]
            command = [*program, name, url, str(count), version, *more]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(f"{name} failed:\n{done.stderr}")
            figures[name] = json.loads(done.stdout.splitlines()[-1])
        return figures


def _fill(url: str, all_reports: list[tuple[str, bytes]]) -> None:
    client = mqtt.Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv311)
    client.max_inflight_messages_set(1000)
    client.connect("127.0.0.1", int(url.rsplit(":", 1)[1]))
    client.loop_start()
    for topic, raw in all_reports:
        info = client.publish(topic, raw, 1)
    info.wait_for_publish(120)
    client.disconnect()
    client.loop_stop()


def run(count: int = REPORTS, rounds: int = ROUNDS) -> dict[str, float]:
    """Ratios and rates for both kinds of report and both versions of MQTT,
    and what many devices do to the memory."""
    figures: dict[str, float] = {}
    kinds: dict[str, Callable[[], Task]] = {
        "p = 10 final": low_dimensional,
        "p = 561 screening": screening_sums,
    }
    for kind, make in kinds.items():
        for version in ("5", "3.1.1"):
            what = f"{kind}, MQTT {version}"
            # Who comes first changes: what the machine does besides falls on both.
            orders = [WHO if i % 2 else WHO[::-1] for i in range(rounds)]
            measured = [measure(make(), count, order, version) for order in orders]
            full = [one["full"] for one in measured]
            for name in WHO[:2]:
                ratios = [one["full"]["rate"] / one[name]["rate"] for one in measured]
                figures[f"intake / {name} subscriber, {what}"] = statistics.median(ratios)
            figures[f"reports per second, {what}"] = statistics.median(one["rate"] for one in full)
            figures[f"processor time per report (us), {what}"] = min(one["cpu_us"] for one in full)
    few, many = (
        measure(low_dimensional(), devices, ("full",))["full"]["peak_mb"]
        for devices in (FEW_DEVICES, MANY_DEVICES)
    )
    figures["peak memory, 50,000 devices / 1,000 devices"] = many / few
    figures["peak memory, 50,000 devices (MB)"] = many
    return figures


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
