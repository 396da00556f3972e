"""`fsir-agent run`: from arguments to a running agent."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

from edge_agent.agent import Agent, Feed
from edge_agent.commands.settings import run_options
from edge_agent.commands.settings.config import prepare
from edge_agent.commands.settings.run_options import PAGE, add_arguments, own_broker
from edge_agent.commands.settings.tasks import check_pins, wanted_tasks
from edge_agent.consent.policy import policy_of
from edge_agent.errors import StorageError
from edge_agent.labels.queue import Labelling
from edge_agent.labels.tail import Tail
from edge_agent.loop.runner import Manner, Runner
from edge_agent.output import Output, Several, open_output
from edge_agent.output.local import open_live
from edge_agent.output.options import HOME, addresses, mode
from edge_agent.sources import open_source
from edge_agent.sources.base import Options
from edge_agent.state.state import State
from fsir.errors import FsirError
from fsir.net.broker import Broker
from fsir.net.installed import how_to_install
from fsir.net.login import broker_of
from fsir.net.systemd import ready
from fsir.task.slicing import Slicing

if TYPE_CHECKING:
    from edge_agent.recognition.tasks import Recognition

__all__ = ["PAGE", "add_arguments", "prepare", "run"]

log = logging.getLogger("fsir.run")


def run(args: argparse.Namespace) -> int:
    """Run until the source ends or a signal comes."""
    run_options.check(args)
    tasks = wanted_tasks(args.task)
    policy = policy_of(args.policy)
    broker = broker_of(args)
    sensors = own_broker(args, "source")
    home = _home(args, broker)
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
        state = leaving.enter_context(closing(State(args.state, args.device, broker=str(broker))))
        _note(state, broker)
        agents: list[Agent] = []
        outputs = _outputs(args, home, state, agents)
        output = Several([leaving.enter_context(closing(output)) for output in outputs])
        feed = Feed.of(source, pressed=args.labels is not None)
        check_pins(state, tasks)
        agents += [Agent(state, task.name, policy, feed=feed, digest=task.digest) for task in tasks]
        messages = None
        if topic is not None and sensors is not None:
            from edge_agent.labels.topic import LabelTopic

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
        stays = policy.stay if args.stay is None else args.stay == "yes"
        manner = Manner(args.once, stays, args.save_every)
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
        raise FsirError(f"--predict needs River ({error}): {how_to_install('river')}") from None
    return Recognition


def _home(args: argparse.Namespace, of_task: Broker) -> Broker | None:
    """The broker of the owner's home, which must not be the task's."""
    home = own_broker(args, "output")
    if home is not None:
        from edge_agent.output.home.apart import check_apart

        check_apart(home, of_task)
    return home


def _outputs(
    args: argparse.Namespace, home: Broker | None, state: State, agents: Sequence[Agent]
) -> Iterator[Output]:
    """Where served records go; the owner's home looks at the agents, once they are there."""
    for address in addresses(args):
        if home is not None and address.startswith(HOME):
            yield _at_home(args, home, address.removeprefix(HOME), state, agents)
        else:
            yield open_output(address, mode(args), args.output_group)
    yield from open_live(Path(args.state))


def _at_home(
    args: argparse.Namespace, home: Broker, topic: str, state: State, agents: Sequence[Agent]
) -> Output:
    from edge_agent.labels.topic import LabelMessages
    from edge_agent.output.home.output import HomeBroker
    from edge_agent.output.home.told import Told

    directory = Path(args.state)
    labels = LabelMessages(topic, directory, lambda: slicings_of(agents))
    told = Told(state, directory, policy_of(args.policy), agents)
    return HomeBroker(home, topic, told, labels.take, predicts=args.predict)


def _note(state: State, broker: Broker) -> None:
    """For the owner's page, which tells where reports go."""
    try:
        state.note_broker(str(broker))
    except StorageError as error:
        log.error("%s", error)
