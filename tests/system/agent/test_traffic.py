"""Everything that a device puts on the wire, captured byte by byte between it and the broker."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from fsir.task.task import Task
from fsir.wire.messages import topic
from tests.edge_agent.aggregators import TinyAggregator
from tests.edge_agent.processes import DEVICE, command, willing
from tests.edge_agent.world import data
from tests.fsir.tasks import screened, task
from tests.system.agent.tap import CONNECT, DISCONNECT, PINGREQ, PUBACK, PUBLISH, SUBSCRIBE, Tap

pytestmark = pytest.mark.broker
NUMBER = re.compile(rb"instance\xc4\x10.{16}", re.DOTALL)  # 16 bytes in msgpack


def write_csv(path: Path, of: Task, n: int, seed: int) -> Path:
    X, y = data(of, n, seed)
    lines = [",".join([*of.features.names, "y"])]
    lines += [",".join([*map(repr, row), label]) for row, label in zip(X.tolist(), y, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


def sent_by(url: str, of: Task, folder: Path, n: int, seed: int) -> tuple[Tap, int]:
    folder.mkdir()
    source = write_csv(folder / "data.csv", of, n, seed)
    with Tap(url) as tap:
        arguments = command(tap.url, f"csv:{source}", folder, *willing(folder))
        done = subprocess.run(arguments, capture_output=True, timeout=60)
    return tap, done.returncode


def said(tap: Tap) -> list[tuple[int, bytes]]:
    """What a device says by itself, the random number of its ask left out."""
    packets = [(kind, body) for kind, body in tap.packets() if kind != PUBACK]
    return [(kind, re.sub(NUMBER, b"instance", body)) for kind, body in packets]


@pytest.mark.parametrize("version", [1, 2])
def test_before_the_report_not_a_byte_depends_on_the_data(mosquitto_url, tmp_path, version):
    of = task(version=version)
    with TinyAggregator(mosquitto_url, of) as server:
        one, first_code = sent_by(mosquitto_url, of, tmp_path / "1", 99, seed=1)
        server.publish(topic(of.name, "receipt", DEVICE), b"", retain=True)  # of another directory
        two, second_code = sent_by(mosquitto_url, of, tmp_path / "2", 99, seed=2)
    # The source ended before there were enough records.
    assert [first_code, second_code] == [3, 3]
    assert said(one) == said(two)
    ask = [PUBLISH] if version == 2 else []
    assert [kind for kind, _ in said(one)] == [CONNECT, SUBSCRIBE, *ask, DISCONNECT]
    if version == 1:
        assert one.sent == two.sent


@pytest.mark.parametrize("rule", [None, "same"])
def test_nothing_but_an_ask_and_reports_is_ever_published(mosquitto_url, tmp_path, rule):
    of = task() if rule is None else screened(records=rule)
    with TinyAggregator(mosquitto_url, of, active=() if rule is None else ("x1", "x4")):
        tap, code = sent_by(mosquitto_url, of, tmp_path / "run", 150, 1)
    assert code == 0
    packets = tap.packets()
    expected = {CONNECT, PUBLISH, PUBACK, SUBSCRIBE, PINGREQ, DISCONNECT}
    assert {kind for kind, _ in packets} <= expected
    topics = [
        body[2 : 2 + int.from_bytes(body[:2], "big")].decode()
        for kind, body in packets
        if kind == PUBLISH
    ]
    assert topics[0] == f"fsir/1/test/ask/{DEVICE}"
    assert set(topics[1:]) == {f"fsir/1/test/report/{DEVICE}"}
    values = {repr(float(value)).encode() for value in np.ravel(data(of, 150, 1)[0])}
    assert not any(value in tap.sent for value in values if len(value) > 8)
