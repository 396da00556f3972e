"""`sensorlogger:mqtt:TOPIC` and `sensorlogger:http://HOST:PORT/PATH`: a phone with Sensor Logger.

The app (Kelvin Choi, Android and iOS) pushes its readings as JSON, over MQTT or HTTP, to an agent
on the owner's own network. So raw signals leave the phone: they belong on a network that the owner
trusts, or on MQTT with TLS, and on a broker of the owner's own. What leaves the agent is what
leaves every agent: one report, with noise.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

from edge_agent.errors import SourceError
from edge_agent.mqtt.subscription import Subscription
from edge_agent.sources.base import Options
from edge_agent.sources.mqtt_topic import check_topic
from edge_agent.sources.phone.http import Listener
from edge_agent.sources.phone.session import Phone
from edge_agent.sources.samples import Samples, ranges
from edge_agent.sources.tally import Tally
from edge_agent.sources.windowed import SignalSource

AT_ONCE = 16  # messages for one look


class Transport(Protocol):
    """Hands each message to whoever made it, without waiting."""

    def start(self) -> None:
        """Begin to listen."""

    def step(self) -> None:
        """Handle what has arrived."""

    def fileno(self) -> int | None:
        """What to wait on."""

    def delay(self) -> float:
        """Seconds until another step is needed anyway."""

    def close(self) -> None:
        """Hang up."""


def open_sensorlogger(rest: str, options: Options) -> SignalSource:
    """A phone, over MQTT or HTTP."""
    name = f"sensorlogger:{rest}"
    scales = ranges(name, options)
    if rest.startswith("mqtt:"):
        topic = rest.removeprefix("mqtt:")
        reader = PhoneReader(name, lambda take, _: Topic(topic, options, take))
    elif rest.startswith(("http:", "https:")):
        reader = PhoneReader(name, lambda take, tally: Listener(rest, take, tally))
    else:
        raise SourceError(
            f"source {name}: write sensorlogger:mqtt:TOPIC or sensorlogger:http://HOST:PORT/PATH"
        )
    return SignalSource(reader, *scales)


class PhoneReader:
    """Samples of a phone, however its messages arrive."""

    replayable = False
    ended = False

    def __init__(
        self, name: str, connect: Callable[[Callable[[bytes], bool], Tally], Transport]
    ) -> None:
        self.name = name
        self.phone = Phone(name)
        self._transport = connect(self._take, self.phone.tally)

    def start(self, cursor: Any) -> None:
        """Begin to listen; there is nothing to go back to."""
        self._transport.start()

    def _take(self, raw: bytes) -> bool:
        return self.phone.take(raw, time.monotonic())

    def read(self) -> list[Samples]:
        """What has arrived."""
        self._transport.step()
        return self.phone.samples(time.monotonic())

    def fileno(self) -> int | None:
        """What to wait on."""
        return self._transport.fileno()

    def delay(self) -> float:
        """Until a connection, or a message that waits for another, needs attention."""
        return min(self._transport.delay(), self.phone.due(time.monotonic()))

    def close(self) -> None:
        """Hang up."""
        self._transport.close()


class Topic:
    """Messages on a topic of the source broker, as the app publishes them."""

    def __init__(self, topic: str, options: Options, take: Callable[[bytes], bool]) -> None:
        if options.broker is None:
            raise SourceError(
                "source sensorlogger: say where the phone publishes: "
                "--source-broker mqtt://HOST[:PORT]"
            )
        check_topic(f"sensorlogger:mqtt:{topic}", topic)
        self.subscription = Subscription(
            options.broker, "source", topic, lambda message: take(bytes(message.payload))
        )

    def start(self) -> None:
        """Nothing: the first step connects."""

    def step(self) -> None:
        """Handle a few messages."""
        self.subscription.poll(AT_ONCE)

    def fileno(self) -> int | None:
        """What to wait on, while connected."""
        return self.subscription.fileno()

    def delay(self) -> float:
        """Until the connection needs attention."""
        return self.subscription.delay()

    def close(self) -> None:
        """Disconnect."""
        self.subscription.close()
