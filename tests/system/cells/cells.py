"""Two cells as they are deployed: a PostgreSQL and its standby, two brokers, two workers, HAProxy.

All on loopback, on ports that are free. What happens to them is the business of a test.
"""

from __future__ import annotations

import json
import random
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import tomli_w

from aggregator.core import Aggregator
from aggregator.rounds.recount import agrees
from aggregator.store.opening import open_store
from tests.fsir.tasks import task
from tests.postgres import FAST, Cluster
from tests.system.aggregator.daemons import wait_for
from tests.system.cells.devices import Fleet
from tests.system.cells.haproxy import ShippedProxy
from tests.system.harness.brokers import Mosquitto
from tests.system.harness.forkserver import Child, ForkServer
from tests.system.harness.ports import HeldPorts
from tests.system.harness.proxy import Proxy

TASK = task()
# A commit waits for the standby, too: what is acknowledged is there when it is promoted.
_SYNCHRONOUS = f"{FAST} -c synchronous_standby_names=* -c synchronous_commit=on"
_HASTY = "&target_session_attrs=read-write&connect_timeout=2"


class Cells:
    """A federation with everything twice; `close` leaves nothing behind."""

    def __init__(self, directory: Path, server: ForkServer, standby: bool = True) -> None:
        self._directory = directory
        self._server = server
        self._held = HeldPorts(4)
        first, second, *self._http = self._held.numbers
        self.primary = Cluster(_SYNCHRONOUS if standby else FAST, first)
        self.standby = Cluster(FAST, second) if standby else None
        self.line = Proxy(first, random.Random(0))  # between the workers and the primary
        self._ports = f"{self.line.port},{second}" if standby else f"{self.line.port}"
        self.brokers = [Mosquitto() for _ in self._http]
        self.workers: list[Child] = []
        self.more = ""  # of the store's address
        self._file = directory / "task.toml"
        self._file.write_text(tomli_w.dumps(TASK.table()))

    def start(self, *kill: tuple[str, int] | None) -> Cells:
        """Everything; a worker may be told where to end."""
        self.line.run()
        self.primary.create().start()
        if self.standby is not None:
            self.standby.follow(self.primary).start()
        self.finish_start(*kill)
        return self

    def finish_start(self, *kill: tuple[str, int] | None) -> None:
        """Brokers, workers and HAProxy; the servers run."""
        urls = [broker.start("mosquitto") for broker in self.brokers]
        pairs = [
            (int(url.rpartition(":")[2]), http) for url, http in zip(urls, self._http, strict=True)
        ]
        self.proxy = ShippedProxy(self._directory, pairs)
        for number, url in enumerate(urls):
            self.work(number, url, kill[number] if number < len(kill) else None)
        self.proxy.start()

    @property
    def address(self) -> str:
        """Of the store: both servers, of which one may be written to."""
        hosts = "127.0.0.1,127.0.0.1" if self.standby is not None else "127.0.0.1"
        place = f"host={hosts}&port={self._ports}&user=fsir"
        return f"postgresql:///postgres?{place}{_HASTY}{self.more}"

    def work(self, number: int, url: str = "", kill: tuple[str, int] | None = None) -> Child:
        """Start a worker beside a broker, and wait until it is well."""
        child = self._server.start(
            "serve",
            self._directory / f"worker-{number}.log",
            task=[str(self._file)],
            url=url or self.brokers[number].url,
            store=self.address,
            worker=f"cell-{number}",
            debounce=0.1,
            http=f"127.0.0.1:{self._http[number]}",
            kill=kill,
        )
        self.workers[number:] = [child, *self.workers[number + 1 :]]
        wait_for(lambda: self._started(number), f"worker {number}")
        return child

    def _started(self, number: int) -> bool:
        child = self.workers[number]
        assert child.poll() is None, child.said()[-3000:]
        return self.well(number)

    def health(self, number: int) -> dict[str, object]:
        """What a worker says of itself, or nothing."""
        url = f"http://127.0.0.1:{self._http[number]}/healthz"
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return dict(json.load(answer))
        except urllib.error.HTTPError as error:
            with error:
                return dict(json.load(error))
        except OSError:
            return {}

    def well(self, number: int) -> bool:
        return self.health(number).get("ok") is True

    def survive(
        self, events: list[tuple[float, Callable[[], object]]], count: int, spread: float
    ) -> float:
        """All devices come, things happen, and the books balance; the slowest receipt."""
        fleet = Fleet(count, self.proxy.url, TASK, spread)
        try:
            fleet.run(events)
            assert all(device.settled for device in fleet.devices)
        finally:
            fleet.close()
        self.check(count)
        return fleet.slowest

    def check(self, count: int) -> None:
        """Everybody is counted once, sums are those of the reports, versions go on by one."""
        wait_for(lambda: self._newest() == count, "the last version")
        store = open_store(self.address)
        made = Aggregator(store, [TASK])
        made.start(0.0)
        federation = made.federations[TASK.name]
        totals = store.totals(federation.key, "final")
        names = [row.device for row in store.reports(federation.key)]
        versions = [row.version for row in store.versions(federation.key, 10_000)]
        agreed = agrees(store, federation, "final")
        store.close()
        assert totals.devices == len(names) == len(set(names)) == count
        assert agreed
        assert sorted(versions) == list(range(1, len(versions) + 1))

    def _newest(self) -> int:
        """Of how many devices the newest version is."""
        store = open_store(self.address, create=False)
        try:
            return max((row.devices for row in store.versions(1, 10_000)), default=0)
        finally:
            store.close()

    def close(self) -> None:
        for worker in self.workers:
            worker.kill()
        if hasattr(self, "proxy"):
            self.proxy.close()
        for broker in self.brokers:
            broker.close()
        self.line.close()
        for cluster in (self.primary, self.standby):
            if cluster is not None:
                cluster.remove()
        self._held.close()
