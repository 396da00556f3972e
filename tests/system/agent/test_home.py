"""`fsir-agent run --output mqtt:TOPIC` between two brokers: the owner's, and the task's.

Home Assistant is played by mosquitto's own clients, which do what the discovery message says.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sim_devices.network.broker import LocalBroker
from tests.edge_agent.aggregators import TinyAggregator
from tests.edge_agent.output.home.schema import faults, shown
from tests.edge_agent.processes import (
    DEVICE,
    command,
    end,
    learned_by_class,
    running,
    wait_for_line,
    willing,
    write_jsonl,
)
from tests.fsir.tasks import task
from tests.needs import find, need
from tests.system.agent.tap import Tap

pytestmark = pytest.mark.broker
TOPIC = "fsir/kitchen"


@pytest.fixture
def home() -> Iterator[LocalBroker]:
    """The owner's own broker."""
    need("mosquitto", "mosquitto_sub", "mosquitto_pub")
    with LocalBroker() as broker:
        broker.start("mosquitto")
        yield broker


def client(program: str, url: str, *words: str) -> list[str]:
    return [find(program) or program, "-h", "127.0.0.1", "-p", url.rpartition(":")[2], *words]


def say(url: str, topic: str, text: str) -> None:
    subprocess.run(client("mosquitto_pub", url, "-t", topic, "-m", text), check=True, timeout=30)


def retained(url: str) -> dict[str, str]:
    """What a broker keeps for whoever comes later."""
    words = ("-t", "#", "--retained-only", "-W", "2", "-F", "%t\t%p")
    done = subprocess.run(client("mosquitto_sub", url, *words), capture_output=True, text=True)
    return dict(line.split("\t", 1) for line in done.stdout.splitlines())


class Listener:
    """Everything that a broker carries, but not what it says about itself."""

    def __init__(self, url: str, path: Path) -> None:
        self._path = path
        self._url = url

    def __enter__(self) -> Listener:
        with self._path.open("w") as file:
            words = ("-t", "#", "-q", "1", "-F", "%r %t %x")
            self._process = subprocess.Popen(
                client("mosquitto_sub", self._url, *words), stdout=file
            )
        wait_until(lambda: self._heard("probe"))
        return self

    def _heard(self, topic: str) -> bool:
        say(self._url, topic, "")
        return bool(self._path.read_text())

    def __exit__(self, *_: object) -> None:
        end(self._process)

    def carried(self) -> list[tuple[str, str, bytes]]:
        """Whether it was retained, topic and payload of each message, in their order."""
        whole = self._path.read_text().rpartition("\n")[0]
        lines = [line.split(" ") for line in whole.splitlines()]
        told = [(kept, topic, bytes.fromhex(payload)) for kept, topic, payload in lines]
        return [message for message in told if message[1] != "probe"]

    def states(self) -> list[dict[str, Any]]:
        return [json.loads(raw) for _, topic, raw in self.carried() if topic == f"{TOPIC}/state"]

    def label(self) -> str | None:
        """The label of the last state."""
        return next((state["label"] for state in reversed(self.states())), None)

    def task(self, value: str) -> Any:
        """A value of the task in the last state."""
        return next((state["tasks"]["test"][value] for state in reversed(self.states())), None)


def wait_until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened in time"
        time.sleep(0.05)


def output(home: LocalBroker) -> list[str]:
    return ["--output", f"mqtt:{TOPIC}", "--output-broker", home.url]


def discovery(home: LocalBroker) -> tuple[str, dict[str, Any]]:
    """The message by which Home Assistant finds the device, once it knows the classes."""
    found: dict[str, str] = {}

    def there() -> bool:
        found.update(
            (topic, text)
            for topic, text in retained(home.url).items()
            if topic.startswith("homeassistant/")
        )
        return any('"Activity"' in text for text in found.values())

    wait_until(there)
    ((topic, text),) = found.items()
    return topic, json.loads(text)


@pytest.mark.long
def test_home_assistant_finds_the_device_and_its_select_teaches_the_learner(
    mosquitto_url, home, tmp_path
):
    of = task()
    more = ["--labels", "press", "--label-delay", "1", *output(home)]
    with (
        TinyAggregator(mosquitto_url, of) as server,
        Listener(home.url, tmp_path / "home") as heard,
        running(command(mosquitto_url, "jsonl:-", tmp_path, *more)) as process,
    ):
        topic, message = discovery(home)
        assert faults(topic, message) == []
        select = message["components"]["label"]
        assert select["options"] == ["a", "b", "c"]
        for option in ("flying", "b"):
            text = shown(select["command_template"], value=option)
            say(home.url, select["command_topic"], text)
        assert "a label that no task of this device knows" in wait_for_line(process, "not kept")
        wait_until(lambda: heard.label() == "b")
        assert shown(select["value_template"], value_json=heard.states()[-1]) == "b"
        record = json.dumps(dict.fromkeys(of.features.names, 0.5)) + "\n"
        process.stdin.write(10 * record)
        process.stdin.flush()
        wait_until(lambda: learned_by_class(tmp_path, of) == {"b": 10})
        wait_until(lambda: heard.task("records") == 10)
        process.stdin.close()
        assert process.wait(60) == 3
        assert {about for about, _ in server.seen} == {
            f"fsir/1/test/{kind}" for kind in ("task", f"ask/{DEVICE}", f"receipt/{DEVICE}")
        }
    assert retained(home.url)[message["availability_topic"]] == "offline"


@pytest.mark.long
def test_home_assistant_that_starts_anew_is_told_everything_again(mosquitto_url, home, tmp_path):
    """And that the device is gone, after it was killed: by its last will."""
    of = task()
    with (
        TinyAggregator(mosquitto_url, of),
        Listener(home.url, tmp_path / "home") as heard,
        running(command(mosquitto_url, "jsonl:-", tmp_path, *output(home))) as process,
    ):
        topic, _ = discovery(home)

        def times_told() -> int:
            return [about for _, about, _ in heard.carried()].count(topic)

        # What was said before has arrived.
        wait_until(lambda: heard.task("phase") == "learning")
        before = times_told()
        states = len(heard.states())
        say(home.url, "homeassistant/status", "offline")
        say(home.url, "homeassistant/status", "online")
        wait_until(lambda: times_told() == before + 1 and len(heard.states()) == states + 1)
        process.kill()
        process.wait(20)
        wait_until(lambda: retained(home.url).get(f"{TOPIC}/availability") == "offline")


def served_from(state: Path, folder: Path, url: str, source: Path, more: list[str]) -> list[Any]:
    """All that a device puts on the wire to its task's broker while it serves 200 records."""
    shutil.copytree(state, folder / "state")
    served = folder / "served.jsonl"
    with Tap(url) as tap:
        words = ["--follow", "--predict", "--output", str(served), *more]
        with running(command(tap.url, f"jsonl:{source}", folder, *words)) as process:
            wait_until(lambda: served.exists() and served.read_text().count("\n") == 200, 90)
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
    return tap.packets()


@pytest.mark.long
def test_the_tasks_broker_carries_exactly_what_it_carries_without_a_home(
    mosquitto_url, home, tmp_path
):
    """The same device, serving the same records from the same state.

    Under a task of version 1: a copy of the state would be told from the original.
    """
    of = task(version=1)
    source = write_jsonl(tmp_path / "data.jsonl", of, 100)
    sent = {}
    carried = {}
    with TinyAggregator(mosquitto_url, of), Listener(home.url, tmp_path / "home") as heard:
        first = ["--once", *willing(tmp_path)]
        arguments = command(mosquitto_url, f"jsonl:{source}", tmp_path, *first)
        assert subprocess.run(arguments, capture_output=True, timeout=60).returncode == 0
        with source.open("a") as file:
            file.write(write_jsonl(tmp_path / "more.jsonl", of, 200).read_text())
        for name, more in {"without": [], "with": output(home)}.items():
            with Listener(mosquitto_url, tmp_path / f"task-{name}") as task_broker:
                folder = tmp_path / name
                sent[name] = served_from(tmp_path / "state", folder, mosquitto_url, source, more)
                wait_until(lambda: len(task_broker.carried()) >= 3)
                carried[name] = sorted(task_broker.carried())
        assert sent["with"] == sent["without"]
        assert carried["with"] == carried["without"]
        assert {kept for kept, _, _ in carried["with"]} == {"1"}  # nothing but what is retained
        # And the home has seen it all: this subspace has no classifier, but the device learns.
        wait_until(lambda: heard.task("record") == 299)
        assert heard.task("phase") == "serving"
        assert len(heard.task("z")) == 1


@pytest.mark.long
def test_a_home_that_is_away_costs_nothing_but_the_news(mosquitto_url, home, tmp_path):
    """The broker of the home stops and comes back; the federation does not wait for it."""
    of = task()
    source = write_jsonl(tmp_path / "data.jsonl", of, 150)
    home.kill()
    with (
        TinyAggregator(mosquitto_url, of) as server,
        running(
            command(mosquitto_url, f"jsonl:{source}", tmp_path, "--follow", *output(home))
        ) as process,
    ):
        server.wait(lambda: bool(server.counted))
        home.restart()
        _, message = discovery(home)
        assert message["device"]["name"] == DEVICE
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        ours = [f"{kind}/{DEVICE}" for kind in ("ask", "report", "receipt")]
        assert {about for about, _ in server.seen} == {
            f"fsir/1/test/{kind}" for kind in ("task", "subspace", *ours)
        }
    assert json.loads(retained(home.url)[f"{TOPIC}/state"])["tasks"]["test"]["phase"] == "serving"
