"""The embedded broker: no client stays connected to somebody who does not listen any more."""

from __future__ import annotations

import asyncio

from amqtt.contexts import BrokerConfig, ListenerConfig
from amqtt.session import Session

from sim_devices.network.embedded.engine import AcceptEveryone, EmbeddedBroker

NAME = "fsir-agent-pi"
TOPIC = "fsir/1/test/receipt/pi"


def embedded() -> EmbeddedBroker:
    plugins = {f"{AcceptEveryone.__module__}.{AcceptEveryone.__qualname__}": {}}
    listeners = {"default": ListenerConfig(bind="127.0.0.1:0")}
    return EmbeddedBroker(BrokerConfig(listeners=listeners, plugins=plugins))


def session() -> Session:
    made = Session()
    made.client_id = NAME
    return made


class Leaving:
    """The connection of a client that has left; while it is closed, the client comes back."""

    writer = None

    def __init__(self, broker: EmbeddedBroker, again: Session) -> None:
        self._broker = broker
        self._again = again

    async def stop(self) -> None:
        self._broker._sessions[NAME] = (self._again, None)
        await self._broker.add_subscription((TOPIC, 1), self._again)


def test_who_comes_back_while_the_old_session_is_cleared_up_stays_subscribed():
    async def scene() -> list[Session]:
        broker = embedded()
        old = session()
        again = session()
        broker._sessions[NAME] = (old, Leaving(broker, again))
        await broker.add_subscription((TOPIC, 1), old)
        await broker._cleanup_session(NAME)
        assert broker._sessions[NAME][0] is again
        return [subscribed for subscribed, _ in broker._subscriptions[TOPIC]] + [again]

    subscribed, again = asyncio.run(scene())
    assert subscribed is again


class Line:
    """What a connection writes to."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()

    async def close(self) -> None:
        self.closed.set()
        raise ConnectionResetError("the client has gone meanwhile")


class Deaf:
    """A connection whose reader has missed that it was cancelled, and ends with its line only."""

    def __init__(self) -> None:
        self.writer = Line()

    async def stop(self) -> None:
        await self.writer.closed.wait()


def test_a_connection_ends_although_its_reader_was_not_stopped():
    async def scene() -> bool:
        deaf = Deaf()
        await asyncio.wait_for(embedded()._stop_handler(deaf), timeout=10.0)
        return deaf.writer.closed.is_set()

    assert asyncio.run(scene())
