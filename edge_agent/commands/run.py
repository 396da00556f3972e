"""`fsir-agent run`: from arguments to a running agent."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

from edge_agent.agent import Agent, Feed
from edge_agent.consent.policy import Policy
from edge_agent.errors import SourceError
from edge_agent.labels.queue import Labelling
from edge_agent.labels.tail import Tail
from edge_agent.labels.topic import LabelTopic
from edge_agent.loop import Manner, Runner
from edge_agent.output import open_output
from edge_agent.sources import SCHEMES, open_source
from edge_agent.sources.base import Options
from edge_agent.state.state import State
from fsir.errors import FsirError
from fsir.net.broker import Broker
from fsir.net.login import broker_of, password
from fsir.net.systemd import ready
from fsir.task.slicing import Slicing

if TYPE_CHECKING:
    from edge_agent.recognition.tasks import Recognition

# Options that only some of our sources look at: given with another one, their owner would believe that they work.
# (`--follow` is not among them: whatever is no file waits for more anyway.)
FITS = {"time_column": ("csv", "jsonl", "signals", "mqtt"), "record_id": ("mqtt",)}


def start(args: argparse.Namespace) -> int:
    """Run until the source ends or a signal comes."""
    if len(set(args.task)) < len(args.task):
        raise SourceError(f"--task {' '.join(args.task)}: name each task once")
    if not 0.0 <= args.label_delay < math.inf:
        raise SourceError(f"--label-delay {args.label_delay}: give a number of seconds, 0 or more")
    if args.source.startswith("sensorlogger:mqtt:") and args.source_broker is None:
        raise SourceError(
            f"--source {args.source}: raw signals do not belong on the federation's broker; give the broker of your "
            "own to which the phone sends: --source-broker mqtts://HOST"
        )
    _check_options(args)
    if args.speed is not None and (args.time_column is None or not args.speed > 0):
        raise SourceError(f"--speed {args.speed}: it must be above 0, and needs --time-column")
    policy = Policy() if args.policy is None else Policy.load(args.policy)
    broker, sensors = broker_of(args), _sensors(args)
    options = Options(
        follow=args.follow, time_column=args.time_column, speed=args.speed, record_id=args.record_id,
        broker=sensors or broker, acc_range=args.acc_range, gyro_range=args.gyro_range,
    )  # fmt: skip
    topic = _label_topic(args)
    recognition_of = _recognition() if args.predict else None
    with ExitStack() as leaving:
        source = leaving.enter_context(closing(open_source(args.source, options)))
        state = leaving.enter_context(closing(State(args.state, args.device)))
        output = leaving.enter_context(closing(open_output(args.output)))
        agents = [Agent(state, name, policy, feed=Feed.of(source)) for name in args.task]
        labelling = Labelling(
            Tail(Path(args.state)), args.label_delay, pressed=args.labels is not None, replayable=source.replayable,
            time_column=args.time_column,
            topic=None if topic is None or sensors is None
            else LabelTopic(sensors, topic, Path(args.state), lambda: slicings_of(agents)),
        )  # fmt: skip
        ready()
        manner = Manner(args.once, args.save_every)
        recognition = None if recognition_of is None else recognition_of(state, agents)
        return Runner(agents, state, broker, source, output, manner, labelling, recognition).run()


def slicings_of(agents: Sequence[Agent]) -> list[Slicing] | None:
    """How the tasks of this device slice labels; None while one of them is still to come."""
    if any(agent.task is None and not agent.reason for agent in agents):
        return None
    return [agent.task.slicing for agent in agents if agent.task is not None]


def _check_options(args: argparse.Namespace) -> None:
    scheme = args.source.partition(":")[0]
    for option, schemes in FITS.items():
        if getattr(args, option) and scheme in SCHEMES and scheme not in schemes:
            flag, names = option.replace("_", "-"), " and ".join(f"{name}:" for name in schemes)
            raise SourceError(
                f"--{flag} means nothing to --source {args.source}: it goes with {names}; leave it out"
            )


def _label_topic(args: argparse.Namespace) -> str | None:
    """The topic of `--labels topic:TOPIC`; None where labels are only pressed, or come with the records."""
    if args.labels is None:
        return None
    if (
        args.source.startswith(("csv:", "jsonl:"))
        and args.source != "jsonl:-"
        and args.time_column is None
    ):
        raise SourceError(
            f"--labels {args.labels}: nobody knows when the records of {args.source} were made; name the column that "
            "says so with --time-column, or put the labels into the file"
        )
    kind, _, topic = args.labels.partition(":")
    if args.labels == "press":
        return None
    if kind != "topic" or not topic or set(topic) & set("+#\0"):
        raise SourceError(
            f"--labels {args.labels}: write press, or topic:TOPIC with the name of one topic"
        )
    if args.source_broker is None:
        raise SourceError(
            f"--labels {args.labels}: what you are doing does not belong on the federation's broker; give the broker "
            "of your own to which the labels are sent: --source-broker mqtts://HOST"
        )
    return str(topic)


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
