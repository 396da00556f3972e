"""`fsir-agent run` as a service: it reports, serves, leaves cleanly, and survives what happens."""

from __future__ import annotations

import contextlib
import json
import resource
import signal
import socket
import subprocess
import sys
import time

import pytest

from edge_agent.state.state import State
from fsir.wire.decode import decode
from fsir.wire.messages import Presence
from tests.edge_agent.aggregators import TinyAggregator
from tests.edge_agent.processes import DEVICE, command, end, ledger, wait_for_line, write_jsonl
from tests.fsir.tasks import screened, task

pytestmark = pytest.mark.broker


@pytest.mark.parametrize("screening", [None, "same", "fresh"])
def test_it_reports_once_and_then_serves(mosquitto_url, tmp_path, screening):
    of = task() if screening is None else screened(records=screening)
    active = () if screening is None else ("x1", "x4")
    source = write_jsonl(tmp_path / "data.jsonl", of, 230)
    with TinyAggregator(mosquitto_url, of, active=active) as server:
        done = subprocess.run(
            command(mosquitto_url, f"jsonl:{source}", tmp_path),
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        stages = {"final"} if screening is None else {"screening", "final"}
        counts = {stage: len(payloads) for stage, payloads in server.reports(DEVICE).items()}
        assert counts == dict.fromkeys(stages, 1)
        # Nothing but asks and reports, and served records on standard output only.
        ours = [
            about for about, _ in server.seen if about.endswith(DEVICE) and "/receipt/" not in about
        ]
        assert set(ours) == {f"fsir/1/test/{kind}/{DEVICE}" for kind in ("ask", "report")}
    served = [json.loads(line)["record"] for line in done.stdout.splitlines()]
    assert served == list(range(100 if screening != "fresh" else 200, 230))
    assert {row.verdict for row in ledger(tmp_path)} == {"counted"}


def test_sigterm_saves_and_leaves(mosquitto_url, tmp_path):
    of = task(report={"records": 5000})
    source = write_jsonl(tmp_path / "data.jsonl", of, 300)
    with TinyAggregator(mosquitto_url, of) as server:
        arguments = command(mosquitto_url, f"jsonl:{source}", tmp_path, "--follow")
        arguments += ["--save-every", "1000"]
        process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
        try:
            wait_for_line(process, "first record learned")
            time.sleep(0.5)
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
        finally:
            end(process)
        assert not server.reports(DEVICE)
    with contextlib.closing(State(tmp_path / "state", None, read_only=True)) as state:
        assert state.progress("test").position.ordinal == 299


def test_offline_it_learns_and_reports_when_the_broker_is_back(mosquitto, tmp_path):
    of = task(report={"records": 200})
    source = write_jsonl(tmp_path / "data.jsonl", of, 300)
    with mosquitto as broker:
        url = broker.url
        with TinyAggregator(url, of):
            slow = command(url, f"jsonl:{source}", tmp_path, "--time-column", "t", "--speed", "50")
            first = subprocess.Popen(slow, stderr=subprocess.PIPE, text=True)
            try:
                wait_for_line(first, "first record learned")
            finally:
                end(first)
        broker.kill()
        second = subprocess.Popen(
            command(url, f"jsonl:{source}", tmp_path), stderr=subprocess.PIPE, text=True
        )
        try:
            wait_for_line(second, "final report made")  # without a broker
            broker.restart()
            with TinyAggregator(url, of) as server:
                server.wait(lambda: bool(server.counted), 90)
                assert len(server.reports(DEVICE)["final"]) == 1
        finally:
            end(second)


def test_a_broker_that_forgets_what_it_acknowledged_gets_it_again(mosquitto, tmp_path):
    """mosquitto acknowledges, is killed before it saves, and the aggregator was away.

    The agent repeats the bytes.
    """
    of = task()
    source = write_jsonl(tmp_path / "data.jsonl", of, 150)
    with mosquitto as broker:
        url = broker.url
        with TinyAggregator(url, of, silent=True) as deaf:
            process = subprocess.Popen(
                command(url, f"jsonl:{source}", tmp_path),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            try:
                deaf.wait(lambda: bool(deaf.reports(DEVICE)))
                before = deaf.reports(DEVICE)
                broker.kill()
                broker.restart()
                with TinyAggregator(url, of) as server:
                    server.wait(lambda: bool(server.counted), 90)
                    assert server.reports(DEVICE) == before
            finally:
                end(process)


def test_several_tasks_share_one_source_and_one_ledger(mosquitto_url, tmp_path):
    one = task(privacy={"epsilon": 0.9})
    two = task(name="two", privacy={"epsilon": 0.9}, report={"records": 60})
    source = write_jsonl(tmp_path / "data.jsonl", one, 150)
    with TinyAggregator(mosquitto_url, one), TinyAggregator(mosquitto_url, two):
        arguments = command(mosquitto_url, f"jsonl:{source}", tmp_path, "--once", "--task", "two")
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert sorted((row.task, row.first, row.last) for row in ledger(tmp_path)) == [
        ("test", 0, 99),
        ("two", 0, 59),
    ]


def presences(server: TinyAggregator) -> list[bool]:
    return [
        decode(raw, Presence).online for about, raw in list(server.seen) if "/presence/" in about
    ]


def test_presence_only_if_the_owner_turned_it_on(mosquitto_url, tmp_path):
    of = task(report={"presence": True})
    source = write_jsonl(tmp_path / "data.jsonl", of, 150)
    (tmp_path / "policy.toml").write_text("presence = true\n")
    with TinyAggregator(mosquitto_url, of) as server:
        for more in ((), ("--policy", str(tmp_path / "policy.toml"))):
            arguments = command(
                mosquitto_url, f"jsonl:{source}", tmp_path / f"with{len(more)}", "--once", *more
            )
            (tmp_path / f"with{len(more)}").mkdir()
            arguments[arguments.index("--device") + 1] = f"dev-{len(more)}"
            assert subprocess.run(arguments, capture_output=True, timeout=60).returncode == 0
            if more:
                server.wait(lambda: presences(server) == [True, False])
            else:
                assert presences(server) == []


def test_a_full_disk_is_said_and_survived(mosquitto_url, tmp_path):
    of = task(300)
    unlimited = resource.RLIM_INFINITY
    source = write_jsonl(tmp_path / "data.jsonl", of, 110)
    with TinyAggregator(mosquitto_url, of) as server:
        process = subprocess.Popen(
            command(mosquitto_url, f"jsonl:{source}", tmp_path),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (65_000, unlimited)),
        )
        try:
            seen = wait_for_line(process, "does not leave this device")
            assert "report made" not in seen
            assert not server.reports(DEVICE)
            assert not ledger(tmp_path)
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (unlimited, unlimited))
            server.wait(lambda: bool(server.counted), 60)
            assert len(server.reports(DEVICE)["final"]) == 1
        finally:
            end(process)


def test_served_records_go_to_a_local_socket(mosquitto_url, tmp_path):
    of = task()
    source = write_jsonl(tmp_path / "data.jsonl", of, 150)
    with TinyAggregator(mosquitto_url, of) as server:
        server.silent = True
        more = ("--output", f"unix:{tmp_path / 'served'}")
        arguments = command(mosquitto_url, f"jsonl:{source}", tmp_path, *more)
        process = subprocess.Popen(arguments, stderr=subprocess.DEVNULL)
        try:
            server.wait(lambda: bool(server.reports(DEVICE)))
            with socket.socket(socket.AF_UNIX) as listener:
                listener.connect(str(tmp_path / "served"))
                server.emit()
                line = listener.makefile().readline()
            assert json.loads(line)["record"] == 100
        finally:
            end(process)


def test_a_plain_run_loads_nothing_of_page_or_home(mosquitto_url, tmp_path):
    """To its very end: nothing that is imported late, either."""
    of = task()
    source = write_jsonl(tmp_path / "data.jsonl", of, 150)
    with TinyAggregator(mosquitto_url, of):
        arguments = command(mosquitto_url, f"jsonl:{source}", tmp_path)
        arguments[1:1] = ["-X", "importtime"]
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "edge_agent.output.local" in loaded
    mine = ("edge_agent.output.home", "edge_agent.page", "edge_agent.account", "http.server")
    assert not [name for name in loaded if name.startswith(mine)]


def test_the_device_imports_nothing_heavy():
    code = """
import sys
import edge_agent.cli, edge_agent.commands.run
from edge_agent.sources import csv_file as csv, jsonl, mqtt_topic as mqtt, paced as replay
heavy = {"scipy", "pandas", "river", "sklearn", "matplotlib", "aggregator", "sim_devices"} & {
    name.split(".")[0] for name in sys.modules}
sys.exit(f"imported: {heavy}" if heavy else 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
