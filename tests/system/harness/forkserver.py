"""Starts processes of the product in milliseconds: a server that has imported all, and forks.

A child is a process of its own: it is ended by `kill -9` at any time, has its own limits, and
leaves behind only what is on the disk. The server reads one JSON object per line and answers each
with one.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]


class Child:
    """A process that the server has forked."""

    def __init__(self, server: ForkServer, pid: int, log: Path) -> None:
        self._server = server
        self.pid = pid
        self._log = log
        self.status: int | None = None

    def poll(self) -> int | None:
        """Its exit status, negative if a signal ended it; None while it runs."""
        if self.status is None:
            self.status = self._server.ask({"poll": self.pid})
        return self.status

    def wait(self, seconds: float) -> int:
        """Its exit status, which must come within so many seconds."""
        deadline = time.monotonic() + seconds
        while (status := self.poll()) is None:
            words = f"still running after {seconds} s; it said:\n{self.said()[-3000:]}"
            assert time.monotonic() < deadline, words
            time.sleep(0.01)
        return status

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End it, and wait until it is gone."""
        if self.poll() is None:
            os.kill(self.pid, how)
            self.wait(20)

    def said(self) -> str:
        """Everything that it wrote."""
        return self._log.read_text(encoding="utf-8", errors="replace") if self._log.exists() else ""


class ForkServer:
    """The harness's side."""

    def __init__(self) -> None:
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.system.harness.forkserver"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env=environment,
            start_new_session=True,
        )
        self.ask({"poll": 0})  # ready

    def start(self, program: str, log: Path, **options: Any) -> Child:
        """Run a function of `harness.programs` in a new process; both outputs go to `log`."""
        pid = self.ask({"run": program, "log": str(log), "options": options})
        return Child(self, int(pid), log)

    def ask(self, question: dict[str, Any]) -> Any:
        """One question, one answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question).encode() + b"\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End the server; children that still run are killed by it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(20)
        self._process.stdout.close()


# --- the server's side ----------------------------------------------------------------------------


def _serve() -> None:
    from tests.system.harness import programs

    running: set[int] = set()
    for line in iter(sys.stdin.buffer.readline, b""):
        question = json.loads(line)
        if "run" in question:
            pid = os.fork()
            if pid == 0:
                _become(getattr(programs, question["run"]), question["log"], question["options"])
            running.add(pid)
            answer: int | None = pid
        else:
            answer = _status(question["poll"], running)
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.flush()
    for pid in running:
        os.kill(pid, signal.SIGKILL)


def _status(pid: int, running: set[int]) -> int | None:
    if pid not in running:
        return None
    ended, status = os.waitpid(pid, os.WNOHANG)
    if ended == 0:
        return None
    running.discard(pid)
    return os.waitstatus_to_exitcode(status)


def _become(program: Any, log: str, options: dict[str, Any]) -> None:
    """Never returns: the child ends here, whatever happens."""
    code = 70
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDONLY)
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(null, 0)
        os.dup2(out, 1)
        os.dup2(out, 2)
        code = int(program(**options) or 0)
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve()
