"""Labels as messages: what is kept, and what is said about the rest."""

from __future__ import annotations

from types import SimpleNamespace

from edge_agent.commands.run import slicings_of
from edge_agent.labels import file as label_file
from edge_agent.labels.timeline import EXPIRES_SECONDS, Event
from edge_agent.labels.topic import LabelTopic
from fsir.net.broker import Broker
from tests.fsir.tasks import task


class Heard:
    """A label topic whose messages are handed over directly, for a device with the tasks given."""

    def __init__(self, directory, *agents):
        self.directory = directory
        self.topic = LabelTopic(
            Broker("127.0.0.1", 9),
            "home/me",
            directory,
            known=lambda: slicings_of(agents),
            clock=lambda: 1e9,
        )

    def hear(self, *payloads, retain=False):
        """Hand messages over; the labels that are kept by then."""
        for payload in payloads:
            message = SimpleNamespace(payload=payload, retain=retain)
            self.topic.subscription.receive(message)
        path = self.directory / label_file.FILE
        lines = path.read_bytes().splitlines() if path.exists() else []
        return [Event.decode(line).label for line in lines]


def on(of=None, reason=""):
    """An agent, as far as labels go."""
    return SimpleNamespace(task=of, reason=reason)


def test_labels_that_nobody_can_use_are_not_kept_and_said_once_each(tmp_path, caplog):
    heard = Heard(
        tmp_path, on(task()), on(task(response={"classes": ["d", "e"]})), on(reason="refused")
    )
    late = [b'{"label": "a", "time": %d}' % (10**12 + k) for k in range(3000)]
    assert heard.hear(*late, b"flying", b"flying", b"fliyng", b"x" * 9999) == []
    assert heard.hear(b"a", b"e", b"", b"flying") == ["a", "e", ""]
    assert caplog.text.count("milliseconds") == 1
    assert "home/me: not kept: time 1000000000000: send seconds" in caplog.text
    known = "a label that no task of this device knows: known are a, b, c, d, e"
    assert caplog.text.count(known) == 1
    assert caplog.text.count("a message of 9999 bytes: send a label, at most 4096 bytes") == 1
    assert "flying" not in caplog.text  # what a person does is nobody's business in a log
    assert heard.hear(b"flying", retain=True) == ["a", "e", ""]


def test_a_label_is_kept_while_a_task_is_on_its_way_and_for_tasks_of_numbers(tmp_path):
    assert Heard(tmp_path, on(task()), on()).hear(b"flying") == ["flying"]
    (tmp_path / "other").mkdir()
    of = task(response={"classes": None, "cuts": [0.0, 1.0]})
    assert Heard(tmp_path / "other", on(of)).hear(b"0.5", b"fast") == ["0.5"]


def test_a_label_about_the_past_holds_when_it_arrives_and_no_connection_changes_its_expiry(
    tmp_path,
):
    heard = Heard(tmp_path, on(task()))
    hour_ago = b'{"label": "a", "time": %d}' % (10**9 - 3600)
    heard.hear(hour_ago)
    heard.hear(hour_ago, hour_ago, retain=True)
    (line,) = (tmp_path / label_file.FILE).read_bytes().splitlines()
    assert Event.decode(line).until == 1e9 + EXPIRES_SECONDS
