"""The embedded MQTT broker: `python -m sim_devices.network.embedded --port N`,
loopback only, no files, no root.

It is amqtt with those traps closed that a federation would fall into; each has a test. As it comes,
a hundred devices that join at once get 38,000 messages meant for others, lose their connection 700
times and take half a minute; here none of it happens and they take a third of a second. What
remains is the engine's own: MQTT 3.1.1 only (a client that asks for 5 is told so), nothing survives
the process, a message that a client does not acknowledge within five seconds is dropped and never
sent again, and a fraction of mosquitto's rate. The protocol's receipts and retries cover that.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import logging
import os
import resource
import signal

from amqtt.contexts import BrokerConfig, ListenerConfig

from sim_devices.network.embedded.engine import AcceptEveryone, EmbeddedBroker

COLLECTING = (100_000, 50, 50)  # Python's usual: 700 new objects, and 10 times the one before


async def listen(port: int, *, follow_stdin: bool) -> None:
    """Listen on the loopback interface until a signal comes or, if asked to follow it,
    standard input is closed."""
    config = BrokerConfig(
        listeners={"default": ListenerConfig(bind=f"127.0.0.1:{port}")},
        plugins={f"{AcceptEveryone.__module__}.{AcceptEveryone.__qualname__}": {}},
    )
    broker = EmbeddedBroker(config)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, ended.set)
    if follow_stdin:
        # The end of the pipe tells that the parent is gone, however it went: no broker is left
        # behind.
        loop.add_reader(0, lambda: None if os.read(0, 1024) else ended.set())
    await broker.start()
    await ended.wait()
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(broker.shutdown(), timeout=5)


def main(arguments: list[str] | None = None) -> None:
    """Command line of the child process that `sim_devices.network.broker` starts;
    also of use by hand."""
    parser = argparse.ArgumentParser(
        prog="python -m sim_devices.network.embedded", description=__doc__
    )
    parser.add_argument("--port", type=int, required=True, help="TCP port on 127.0.0.1")
    parser.add_argument(
        "--follow-stdin", action="store_true", help="end when standard input is closed"
    )
    chosen = parser.parse_args(arguments)
    logging.basicConfig(level=logging.ERROR, format="%(asctime)s %(name)s %(message)s")
    # One descriptor per client: the usual soft limit of 1024 would stop at about a thousand
    # devices.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    # Thousands of sessions stay: to look at all of them again and again takes half of the time.
    gc.set_threshold(*COLLECTING)
    asyncio.run(listen(chosen.port, follow_stdin=chosen.follow_stdin))


if __name__ == "__main__":
    main()
