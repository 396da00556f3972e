"""`fsir-agent run`: from arguments to a running agent."""

from __future__ import annotations

import argparse
import os
from contextlib import ExitStack, closing
from pathlib import Path

from edge_agent.agent import Agent, Feed
from edge_agent.connection import Broker
from edge_agent.errors import ConnectionSettingsError, SourceError
from edge_agent.output import open_output
from edge_agent.policy import Policy
from edge_agent.run import Manner, Runner
from edge_agent.sources import open_source
from edge_agent.sources.base import Options
from edge_agent.state import State
from fsir.service import ready


def start(args: argparse.Namespace) -> int:
    """Run until the source ends or a signal comes."""
    if len(set(args.task)) < len(args.task):
        raise SourceError(f"--task {' '.join(args.task)}: name each task once")
    if args.speed is not None and (args.time_column is None or not args.speed > 0):
        raise SourceError(f"--speed {args.speed}: it must be above 0, and needs --time-column")
    policy = Policy() if args.policy is None else Policy.load(args.policy)
    broker = Broker.parse(
        args.broker, username=args.username, password=_password(args.password_file, "FSIR_PASSWORD"),
        ca=args.ca, certificate=args.cert, key=args.key,
    )  # fmt: skip
    options = Options(
        follow=args.follow, time_column=args.time_column, speed=args.speed, record_id=args.record_id,
        broker=_sensors(args) or broker, acc_range=args.acc_range, gyro_range=args.gyro_range,
    )  # fmt: skip
    with ExitStack() as leaving:
        source = leaving.enter_context(closing(open_source(args.source, options)))
        state = leaving.enter_context(closing(State(args.state, args.device)))
        output = leaving.enter_context(closing(open_output(args.output)))
        agents = [Agent(state, name, policy, feed=Feed.of(source)) for name in args.task]
        ready()
        return Runner(agents, state, broker, source, output, Manner(args.once, args.save_every)).run()


def _sensors(args: argparse.Namespace) -> Broker | None:
    if args.source_broker is None:
        return None
    password = _password(args.source_password_file, "FSIR_SOURCE_PASSWORD")
    return Broker.parse(args.source_broker, password=password, ca=args.source_ca)


def _password(path: str | None, variable: str) -> str | None:
    if path is None:
        return os.environ.get(variable)
    try:
        return Path(path).expanduser().read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConnectionSettingsError(f"password file {path}: {error}") from None
