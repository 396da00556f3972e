"""amqtt without the traps that a federation would fall into."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Iterator
from typing import Any

from amqtt.broker import Broker
from amqtt.contexts import BrokerConfig
from amqtt.mqtt.protocol.broker_handler import BrokerProtocolHandler
from amqtt.plugins.base import BaseAuthPlugin
from amqtt.session import Session


class AcceptEveryone(BaseAuthPlugin):  # type: ignore[misc]
    """Lets every client in by name.

    amqtt's own anonymous plugin marks the session as anonymous, and the broker then throws away the
    subscriptions of a persistent session one second after it disconnects, with every message sent
    to it meanwhile.
    """

    async def authenticate(self, *, session: Session) -> bool:
        return True


Reader = tuple[Session, int]  # and its quality of service


class _Readers(dict[str | None, Reader]):
    """Of one filter, by the name of the client; amqtt takes it for a list of readers."""

    def append(self, reader: Reader) -> None:
        """One more."""
        self[reader[0].client_id] = reader

    def __iter__(self) -> Iterator[Reader]:  # type: ignore[override]
        return iter(self.values())


class _Subscriptions(dict[str, _Readers]):
    """By filter. amqtt spells them all out at every subscription, for a log that nobody reads."""

    def __setitem__(self, wanted: str, _nobody: list[Reader]) -> None:  # type: ignore[override]
        super().__setitem__(wanted, _Readers())

    def __repr__(self) -> str:
        return f"{len(self)} filters"

    def __iter__(self) -> Iterator[str]:
        """None: amqtt would send to who connects what is retained for anybody's filters."""
        return iter(())


def _is_pattern(wanted: str) -> bool:
    return "+" in wanted or "#" in wanted


class EmbeddedBroker(Broker):  # type: ignore[misc]
    """amqtt, sending retained and queued messages without waiting,
    and only to those who asked for them."""

    def __init__(self, config: BrokerConfig) -> None:
        super().__init__(config)
        self._newest: dict[str | None, BrokerProtocolHandler] = {}  # by the name of the client
        self._subscriptions = _Subscriptions()
        self._patterns: set[str] = set()  # filters with wildcards
        self._filters: dict[str | None, set[str]] = {}  # of each client

    # amqtt compares each message with the filters of all clients, and each filter with all that is
    # retained: with a thousand devices it does little else. Most filters name one topic.

    async def add_subscription(self, subscription: tuple[str, int], session: Session) -> int:
        wanted, asked = subscription
        self._filters.setdefault(session.client_id, set()).add(wanted)
        if _is_pattern(wanted):
            self._patterns.add(wanted)
        if not (readers := self._subscriptions.get(wanted)):
            return int(await super().add_subscription(subscription, session))
        if session.client_id not in readers:
            readers.append((session, asked))
        return asked

    def _del_subscription(self, a_filter: str, session: Session) -> int:
        readers = self._subscriptions.get(a_filter, _Readers())
        return int(readers.pop(session.client_id, None) is not None)

    async def _del_all_subscriptions(self, session: Session) -> None:
        for wanted in self._filters.pop(session.client_id, set()):
            self._del_subscription(wanted, session)
            if not self._subscriptions.get(wanted):
                self._subscriptions.pop(wanted, None)

    async def _run_broadcast(self, running_tasks: deque[asyncio.Future[Any]]) -> None:
        message = await self._broadcast_queue.get()
        for session, granted in self._readers(message["topic"]):
            qos = message.get("qos", granted)
            handler = self._get_handler(session)
            if session.transitions.state == "connected" and handler is not None:
                sending = handler.mqtt_publish(message["topic"], message["data"], qos, retain=False)
                running_tasks.append(asyncio.ensure_future(sending))
            elif not session.clean_session and qos > 0:
                await self._retain_broadcast_message(message, qos, session)

    def _readers(self, topic: str) -> list[tuple[Session, int]]:
        """Who has subscribed to a topic, and at which quality of service."""
        patterns = [pattern for pattern in self._patterns if self._matches(topic, pattern)]
        return [
            reader
            for wanted in (topic, *patterns)
            for reader in self._subscriptions.get(wanted, _Readers())
        ]

    # amqtt forgets the subscriptions of a client whose name comes a second time, and leaves it
    # connected: it would wait for ever. It is hung up on, now or as soon as it has been greeted.

    async def _initialize_client_session(
        self, *arguments: Any
    ) -> tuple[BrokerProtocolHandler, Session]:
        handler, session = await super()._initialize_client_session(*arguments)
        self._newest[session.client_id] = handler
        return handler, session

    async def _delete_session(self, client_id: str) -> None:
        _, handler = self._sessions.get(client_id, (None, None))
        await super()._delete_session(client_id)
        if handler is not None and handler.session is not None:
            await handler.handle_connection_closed()

    # It goes by the name of a client as well when it clears up after one that has left, and waits
    # for the old connection in between: whoever has come back meanwhile would lose its
    # subscriptions, and stay connected. Hence subscriptions first, without a wait.

    async def _cleanup_session(self, client_id: str) -> None:
        session, handler = self._sessions.pop(client_id, (None, None))
        if session is not None:
            await self._del_all_subscriptions(session)
            session.clear_queues()
        if handler is not None:
            await self._stop_handler(handler)

    # And it ends a connection by cancelling its reader, which Python 3.11 ignores if a packet comes
    # at that very moment: then both would wait for ever. A reader whose line is closed ends by
    # itself.

    async def _stop_handler(self, handler: BrokerProtocolHandler) -> None:
        if handler.writer is not None:
            with contextlib.suppress(OSError):
                await handler.writer.close()
        await super()._stop_handler(handler)

    async def _client_message_loop(
        self, client_session: Session, handler: BrokerProtocolHandler
    ) -> None:
        if self._newest[client_session.client_id] is not handler:
            await handler.handle_connection_closed()
        await super()._client_message_loop(client_session, handler)

    async def _publish_retained_messages_for_subscription(
        self, subscription: tuple[str, int], session: Session
    ) -> None:
        # amqtt iterates over the table of subscriptions meanwhile and dies if another client
        # subscribes in between: hence no await here, the sends run as tasks.
        wanted, granted = subscription
        for topic in self._retained(wanted):
            retained = self._retained_messages[topic]
            self._send(session, topic, retained.data, min(granted, retained.qos or 0), retain=True)

    def _retained(self, wanted: str) -> list[str]:
        if not _is_pattern(wanted):
            return [wanted] if wanted in self._retained_messages else []
        return [topic for topic in self._retained_messages if self._matches(topic, wanted)]

    async def _publish_session_retained_messages(self, session: Session) -> None:
        # Messages queued for an absent client are new to it, but amqtt flags them as retained,
        # which a receiver may ignore. Not waiting for the acknowledgements lets the client be heard
        # meanwhile.
        while not session.retained_messages.empty():
            queued = session.retained_messages.get_nowait()
            self._send(session, queued.topic, queued.data, queued.qos, retain=False)

    def _send(
        self,
        session: Session,
        topic: str,
        data: bytes | bytearray,
        qos: int | None,
        *,
        retain: bool,
    ) -> None:
        handler = self._get_handler(session)
        if handler is not None:
            # The broker's own queue of tasks holds the reference, and collects the result.
            self._tasks_queue.append(
                asyncio.ensure_future(handler.mqtt_publish(topic, data, qos, retain=retain))
            )
