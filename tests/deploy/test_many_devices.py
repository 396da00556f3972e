"""Five thousand devices with certificates at once, on the shipped broker configuration."""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
from collections import Counter
from pathlib import Path

import pytest
import tomli_w

from fsir.wire.messages import topic
from tests.aggregator.federations import make_task, report
from tests.deploy.small_clients import SmallClient, contexts, join_all
from tests.deploy.tools import Authority, ShippedBroker, run
from tests.needs import find, need, not_tested

DEVICES = 5000
DESCRIPTORS = 20000  # LimitNOFILE of the shipped drop-in


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.timeout(1800)
def test_five_thousand_connected_devices_are_all_counted(
    authority: Authority, broker: ShippedBroker, place: Path
) -> None:
    need("fsir-aggregator")
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < DESCRIPTORS:
        not_tested(f"{DESCRIPTORS} open files are not allowed here")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, before[1]))
    broker.restart()  # with as many descriptors as its service has
    task = make_task(records=200)
    (place / "task.toml").write_text(tomli_w.dumps(task.table()))
    (place / "devices").mkdir()
    names = [f"device-{number:04d}" for number in range(DEVICES)]
    identity = authority.aggregator()
    store = f"sqlite:{place}/reports.db"
    login = {
        "--broker": f"mqtts://localhost:{broker.port}",
        "--ca": identity / "ca.crt",
        "--cert": identity / "aggregator.crt",
        "--key": identity / "aggregator.key",
    }
    options = {**login, "--task": place / "task.toml", "--store": store}
    command = [find("fsir-aggregator") or "", "serve"]
    command += [str(part) for option in options.items() for part in option]
    clients = [
        SmallClient(broker.port, context, topic(task.name, "receipt", name))
        for name, context in zip(names, contexts(authority, names, place / "devices"), strict=True)
    ]
    with (place / "aggregator.log").open("wb") as log:
        aggregator = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        statuses = asyncio.run(_reports(clients, names, task, broker))
        assert statuses == Counter(counted=DEVICES), (place / "aggregator.log").read_text()[-2000:]
    finally:
        aggregator.terminate()
        aggregator.wait(60)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    printed = run("fsir-aggregator", "status", "--store", store, "--json").stdout
    (status,) = json.loads(printed)["tasks"]
    assert status["stages"]["final"]["devices"] == DEVICES


async def _reports(
    clients: list[SmallClient], names: list[str], task, broker: ShippedBroker
) -> Counter[str]:
    await join_all(clients)
    open_files = list(Path(f"/proc/{broker.pid}/fd").iterdir())
    assert len(open_files) > DEVICES  # all at once, not one after the other
    reports = [
        (topic(task.name, "report", name), report(task, name, seed))
        for seed, name in enumerate(names)
    ]
    answers = await asyncio.gather(
        *(client.report(*message) for client, message in zip(clients, reports, strict=True))
    )
    for client in clients:
        client.leave()
    return Counter(verdict.status for verdicts in answers for verdict in verdicts)
