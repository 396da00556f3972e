"""The aggregator as users run it, in a process of its own; or leader and helper, in two."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import tomli_w

from fsir.task.public_map import as_text
from fsir.task.secure import LEADER
from fsir.task.task import Task

REST_SECONDS = 1.0  # without a report, after which the leader opens all that waits
_LAST_LINES = 8  # of a log, shown if it goes wrong
_PATIENCE_SECONDS = 20.0  # for the end of a process


@dataclass(frozen=True)
class _Daemon:
    """One of them."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def last_words(self) -> list[str]:
        text = self.log.read_text(encoding="utf-8", errors="replace")
        return [f"last words of the {self.name}:", *text.splitlines()[-_LAST_LINES:]]

    def ending(self) -> str:
        if self.process.poll() is None:
            return ""
        return f": the {self.name} ended with status {self.process.returncode}"


@dataclass(frozen=True)
class Daemons:
    """All of them."""

    each: tuple[_Daemon, ...]

    def last_words(self) -> list[str]:
        """The ends of their logs."""
        return [line for daemon in self.each for line in daemon.last_words()]

    def ending(self) -> str:
        """How one of them has ended, if one did."""
        return next((ending for daemon in self.each if (ending := daemon.ending())), "")


@contextmanager
def aggregators(
    task: Task, url: str, directory: Path, options: list[str], keys: Mapping[str, Path]
) -> Iterator[Daemons]:
    """One aggregator; or one for each role, with its key file."""
    task_file = directory / "task.toml"
    task_file.write_text(tomli_w.dumps(as_text(task.table())), encoding="utf-8")
    command = [sys.executable, "-m", "aggregator", "serve", "--task", str(task_file)]
    command += ["--broker", url, *options]
    roles = {role: ["--role", role, "--role-key", str(path)] for role, path in keys.items()}
    if LEADER in roles:
        # Devices come at once: one large sum counts them all, and bears the least noise.
        roles[LEADER] += ["--wait", str(REST_SECONDS)]
    with ExitStack() as stack:
        started = [
            stack.enter_context(_started(name, [*command, *more], directory))
            for name, more in (roles or {"aggregator": []}).items()
        ]
        yield Daemons(tuple(started))


@contextmanager
def _started(name: str, command: list[str], directory: Path) -> Iterator[_Daemon]:
    store = ["--store", f"sqlite:{directory / f'{name}.db'}"]
    path = directory / f"{name}.log"
    with path.open("wb") as log:
        process = subprocess.Popen(
            [*command, *store], stdout=log, stderr=log, start_new_session=True
        )
        try:
            yield _Daemon(name, process, path)
        finally:
            process.terminate()
            try:
                process.wait(_PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
