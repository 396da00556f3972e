"""Everything that a device puts on the wire, captured byte by byte between it and the broker."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from fsir.task.task import Task
from tests.edge_agent.aggregators import TinyAggregator
from tests.edge_agent.processes import DEVICE, command
from tests.edge_agent.world import data
from tests.fsir.tasks import screened, task
from tests.system.agent.tap import CONNECT, DISCONNECT, PINGREQ, PUBACK, PUBLISH, SUBSCRIBE, Tap

pytestmark = pytest.mark.broker


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
        arguments = command(tap.url, f"csv:{source}", folder)
        done = subprocess.run(arguments, capture_output=True, timeout=60)
    return tap, done.returncode


def test_before_the_report_not_a_byte_depends_on_the_data(mosquitto_url, tmp_path):
    of = task()
    with TinyAggregator(mosquitto_url, of):
        one, first_code = sent_by(mosquitto_url, of, tmp_path / "1", 99, seed=1)
        two, second_code = sent_by(mosquitto_url, of, tmp_path / "2", 99, seed=2)
    # The source ended before there were enough records.
    assert [first_code, second_code] == [3, 3]
    assert one.sent == two.sent
    assert {kind for kind, _ in one.packets()} == {CONNECT, SUBSCRIBE, PUBACK, DISCONNECT}


@pytest.mark.parametrize("rule", [None, "same"])
def test_nothing_but_reports_is_ever_published(mosquitto_url, tmp_path, rule):
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
    assert set(topics) == {f"fsir/1/test/report/{DEVICE}"}
    values = {repr(float(value)).encode() for value in np.ravel(data(of, 150, 1)[0])}
    assert not any(value in tap.sent for value in values if len(value) > 8)
