"""A broker to try things with."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from sim_devices.network.broker import LocalBroker
from sim_devices.network.kinds import BrokerError
from sim_devices.network.probe import free_port, in_service, is_taken


@pytest.mark.long
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_on_the_port_until_told_to_end(end):
    port = free_port()
    command = [sys.executable, "-m", "sim_devices", "broker", "--port", str(port)]
    command += ["--broker", "embedded"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        said = process.stdout.readline()
        assert said == f"embedded at mqtt://127.0.0.1:{port}; Ctrl-C ends it\n"
        assert in_service(port)
        process.send_signal(end)
        assert process.wait(20) == 0
    assert not is_taken(port)


@pytest.mark.long
def test_a_port_in_use_is_named():
    with LocalBroker() as broker:
        broker.start("embedded")
        taken = int(broker.url.rpartition(":")[2])
        with LocalBroker() as other, pytest.raises(BrokerError, match=f"port {taken} is in use"):
            other.start("embedded", taken)
