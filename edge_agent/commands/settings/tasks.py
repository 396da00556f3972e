"""Which task is meant: a file that its owner has read, or the name of what is published."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from edge_agent.errors import SourceError, StateError
from edge_agent.exchange.inbox import read_task
from edge_agent.state.state import State
from fsir.contract import load_task
from fsir.errors import FsirError
from fsir.limits import DEVICE_NAME
from fsir.net.broker import Broker
from fsir.task.task import Task
from fsir.wire.messages import topic

FETCH_SECONDS = 15.0


class Wanted(NamedTuple):
    """A task to take part in; with a `digest`, this one and no other of the same name."""

    name: str
    digest: bytes | None = None


def is_file(text: str) -> bool:
    """Whether `--task` names a file: one that is there, or that is called like one.

    >>> is_file("activity"), is_file("activity.toml")
    (False, True)
    """
    return text.endswith(".toml") or Path(text).is_file()


def wanted_tasks(texts: Sequence[str]) -> list[Wanted]:
    """The tasks of `--task`, each once."""
    tasks = [_wanted(text) for text in texts]
    if len({task.name for task in tasks}) < len(tasks):
        raise SourceError(f"--task {' '.join(texts)}: name each task once")
    return tasks


def _wanted(text: str) -> Wanted:
    if not is_file(text):
        return Wanted(text)
    task = load_task(text)
    return Wanted(task.name, task.digest)


def check_pins(state: State, tasks: Sequence[Wanted]) -> None:
    """Refuse a file that is not the task which this device has accepted under its name."""
    for task in tasks:
        pin = state.pinned(task.name)
        if pin is None or task.digest is None:
            continue
        accepted = read_task(pin.raw, pin.name).digest
        if accepted != task.digest:
            raise StateError(
                f"this device has accepted another task {task.name!r} than that in the file: "
                f"digest {accepted.hex()[:16]}, the file has {task.digest.hex()[:16]}. A changed "
                f"task needs a new name (or give the accepted one up: "
                f"fsir-agent forget --task {task.name} --unpin)"
            )


def named_task(name: str, state: str | None, broker: Broker | None) -> Task:
    """The task of a name: what is published, or else what this device has accepted."""
    if not DEVICE_NAME.match(name):
        raise SourceError(f"--task {name}: there is no such file, and no task can be called so")
    if broker is not None:
        return _published(name, broker)
    pin = None
    if state is not None:
        opened = State(state, None, read_only=True)
        pin = opened.pinned(name)
        opened.close()
    if pin is None:
        where = "" if state is None else f", and the device of {state} has accepted no such task"
        raise SourceError(
            f"--task {name}: there is no such file{where}; "
            "give its file, or say with --broker URL where it is published"
        )
    return read_task(pin.raw, name)


def _published(name: str, broker: Broker) -> Task:
    """What a broker keeps under the name of a task; nothing is said to it but that we listen."""
    from edge_agent.mqtt.listening import Look

    look = Look(broker, "check", topic(name, "task"))
    with closing(look.messages(FETCH_SECONDS)) as messages:
        for message in messages:
            if message.payload:
                return _readable(bytes(message.payload), name, broker)
    why = "keeps no such task" if look.reached else "could not be reached"
    raise FsirError(
        f"--task {name}: {broker} {why} (waited for {FETCH_SECONDS:.0f} s). "
        "Is the name right, and does the aggregator run?"
    )


def _readable(raw: bytes, name: str, broker: Broker) -> Task:
    try:
        return read_task(raw, name)
    except FsirError as error:
        raise FsirError(
            f"--task {name}: what {broker} keeps under this name is no task: {error}"
        ) from None
