"""`fsir-agent run`: from arguments to a running agent."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

from edge_agent.agent import Agent, Feed
from edge_agent.commands import run_options
from edge_agent.commands.run_options import PAGE, add_arguments
from edge_agent.consent.policy import policy_of
from edge_agent.labels.queue import Labelling
from edge_agent.labels.tail import Tail
from edge_agent.labels.topic import LabelTopic
from edge_agent.loop.runner import Manner, Runner
from edge_agent.output import open_output
from edge_agent.sources import open_source
from edge_agent.sources.base import Options
from edge_agent.state.state import State
from fsir.errors import FsirError
from fsir.net.broker import Broker
from fsir.net.login import broker_of, password
from fsir.net.systemd import ready
from fsir.task.slicing import Slicing

if TYPE_CHECKING:
    from edge_agent.recognition.tasks import Recognition

__all__ = ["PAGE", "add_arguments", "run"]


def run(args: argparse.Namespace) -> int:
    """Run until the source ends or a signal comes."""
    run_options.check(args)
    policy = policy_of(args.policy)
    broker = broker_of(args)
    sensors = _sensors(args)
    options = Options(
        follow=args.follow,
        time_column=args.time_column,
        speed=args.speed,
        record_id=args.record_id,
        broker=sensors or broker,
        acc_range=args.acc_range,
        gyro_range=args.gyro_range,
    )
    topic = run_options.label_topic(args)
    recognition_of = _recognition() if args.predict else None
    with ExitStack() as leaving:
        source = leaving.enter_context(closing(open_source(args.source, options)))
        state = leaving.enter_context(closing(State(args.state, args.device)))
        output = leaving.enter_context(closing(open_output(args.output)))
        feed = Feed.of(source, pressed=args.labels is not None)
        agents = [Agent(state, name, policy, feed=feed) for name in args.task]
        messages = None
        if topic is not None and sensors is not None:
            messages = LabelTopic(sensors, topic, Path(args.state), lambda: slicings_of(agents))
        labelling = Labelling(
            Tail(Path(args.state)),
            args.label_delay,
            pressed=args.labels is not None,
            replayable=source.replayable,
            time_column=args.time_column,
            topic=messages,
        )
        ready()
        manner = Manner(args.once, args.save_every)
        recognition = None if recognition_of is None else recognition_of(state, agents)
        runner = Runner(
            agents,
            state,
            broker,
            source=source,
            output=output,
            manner=manner,
            labelling=labelling,
            recognition=recognition,
        )
        return runner.run()


def slicings_of(agents: Sequence[Agent]) -> list[Slicing] | None:
    """How the tasks of this device slice labels; None while one of them is still to come."""
    if any(agent.task is None and not agent.reason for agent in agents):
        return None
    return [agent.task.slicing for agent in agents if agent.task is not None]


def _recognition() -> type[Recognition]:
    """River is needed for this alone: it is large, and most devices do without it."""
    try:
        from edge_agent.recognition.tasks import Recognition
    except ImportError as error:
        raise FsirError(
            f'--predict needs River ({error}): pip install "fsir-edge[river]"'
        ) from None
    return Recognition


def _sensors(args: argparse.Namespace) -> Broker | None:
    if args.source_broker is None:
        return None
    secret = password(args.source_password_file, "FSIR_SOURCE_PASSWORD")
    return Broker.parse(args.source_broker, password=secret, ca=args.source_ca, prefix="source-")
