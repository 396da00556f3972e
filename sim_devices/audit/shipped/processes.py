"""Two agents in processes of their own: what each draws must be news.

A generator that starts from the same seed in every process looks perfect from inside one of them.
"""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np

from fsir.contract import decode_task
from fsir.task.task import Task
from sim_devices.audit.pairs import AuditError
from sim_devices.audit.shipped.agent import NoPartError, through_agent
from sim_devices.audit.shipped.reference import Stream
from sim_devices.audit.shipped.scores import reports_of

_CHILD = f"from {__name__} import child; child()"
_TELLING = 6  # numbers of a block that do not agree by chance: eight steps to an sd


def repeated_noise(task: Task, stream: Stream) -> list[str]:
    """Blocks that two processes publish alike, in words; empty if there are none."""
    X, y = stream
    asked = json.dumps({"task": task.encode().hex(), "X": X.tolist(), "y": list(y)})
    children = [
        subprocess.Popen(
            [sys.executable, "-c", _CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    answers = [child.communicate(asked)[0] for child in children]
    if any(child.returncode for child in children):
        raise AuditError("an agent in a process of its own has failed; see the lines above")
    said = [json.loads(answer) for answer in answers]
    if refusals := [answer for answer in said if isinstance(answer, str)]:
        return refusals
    first, second = (reports_of([bytes.fromhex(raw) for raw in answer]) for answer in said)
    return [
        f"the same numbers in the {one.stage} report: the noise has a seed, or there is none"
        for one, other in zip(first, second, strict=True)
        if any(
            len(a) >= _TELLING and np.array_equal(a, b)
            for a, b in zip(one.blocks, other.blocks, strict=True)
        )
    ]


def child() -> None:
    """What such a process does: one agent, from standard input to standard output."""
    asked = json.loads(sys.stdin.read())
    task = decode_task(bytes.fromhex(asked["task"]))
    try:
        messages = through_agent(task)(np.array(asked["X"], dtype=np.float64), asked["y"])
        print(json.dumps([raw.hex() for raw in messages]))
    except NoPartError as error:
        print(json.dumps(str(error)))
