"""The shipped path: from the records of a device to the bytes that it publishes,
through the real agent.

Beside it stand agents with one thing broken each. They exist so that the audit can show that it
would find out.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from edge_agent.agent import Agent
from edge_agent.consent.policy import Policy
from edge_agent.state.state import State
from fsir.arrays import Matrix
from fsir.privacy.noise import Noise, SeededNoise, SystemNoise
from fsir.task.task import Task
from fsir.wire.decode import decode
from fsir.wire.messages import Active, Ask, Receipt, encode, topic
from sim_devices.audit.pairs import AuditError

# Records and responses -> published bytes, in order.
Path = Callable[[Matrix, Sequence[Any]], list[bytes]]
Source = Callable[[], Noise]  # the noise of one more device
DEVICE = "canary"
_RETRY_TIMES = (0.0, 20.0, 2000.0, 4000.0)  # when an agent without a receipt is asked again


def source_of(seed: int | None) -> Source:
    """The system's noise, or, with a seed, noise that makes an audit repeatable."""
    if seed is None:
        return SystemNoise
    devices = itertools.count()
    return lambda: SeededNoise(seed, str(next(devices)))


def through_agent(task: Task, source: Source = SystemNoise, replay: bool = False) -> Path:
    """What an agent publishes for this task: each different message once.
    `replay` feeds it its records again."""
    policy = Policy(
        epsilon=task.privacy.epsilon, delta=task.privacy.delta, unproven=(task.privacy.mechanism,)
    )
    contract = task.encode()
    # The audit asks what the bytes tell, so every agent gets the same active set, as a hostile
    # server might send it.
    limit = 0 if task.screening is None else task.screening.limit
    active = encode(Active(task.digest, task.features.names[:limit], 1)) if limit else b""

    def publish(X: Matrix, y: Sequence[Any]) -> list[bytes]:
        noise = source()
        labels = np.asarray(y)
        simulated = not noise.cryptographic
        state = State(None, DEVICE, simulated=simulated)
        try:
            agent = Agent(
                state, task.name, policy, noise=noise, simulated=simulated, quiet_seconds=0.0
            )
            agent.connected(0.0)
            agent.receive(topic(task.name, "task"), contract)
            used = agent.learn_many(X, labels)
            seen = _sent(agent)
            if active:
                agent.receive(topic(task.name, "active"), active)
                start = 0 if replay else used
                agent.learn_many(X[start:], labels[start:])
                seen += _sent(agent)
            if agent.reason or not seen:
                raise AuditError(
                    f"the agent published nothing: {agent.reason or 'too few records for a report'}"
                )
            return list(dict.fromkeys(seen))
        finally:
            state.close()

    return publish


def _sent(agent: Agent) -> list[bytes]:
    """Its reports; an aggregator that answers every ask with yes lets them leave."""
    reports = []
    for now in _RETRY_TIMES:
        messages = agent.outgoing(now)
        for message in messages:
            if not message.is_report:
                agent.receive(*_answer(agent.name, decode(message.payload, Ask)))
        reports += [message for message in (*messages, *agent.outgoing(now)) if message.is_report]
    return [report.payload for report in reports]


def _answer(name: str, ask: Ask) -> tuple[str, bytes]:
    receipt = Receipt(ask.task, ask.device, {}, ask.instance)
    return topic(name, "receipt", ask.device), encode(receipt)


# --- Broken on purpose. ---------------------------------------------------------------------------


class HalvedNoise(Noise):
    """Half of the noise that the task asks for."""

    def __init__(self, noise: Noise) -> None:
        self._noise = noise
        # It is as good as what it halves.
        self.cryptographic = noise.cryptographic  # type: ignore[misc]

    def for_stage(self, name: str) -> HalvedNoise:
        """Half of the noise of that stage."""
        return HalvedNoise(self._noise.for_stage(name))

    def _bytes(self, count: int) -> bytes:
        return self._noise._bytes(count)

    def normals(self, count: int) -> Matrix:
        """Normals of standard deviation 1/2."""
        return 0.5 * super().normals(count)


class ReusedNoise(SeededNoise):
    """A generator that is started anew for every stage, from the same secret."""

    def for_stage(self, name: str) -> SeededNoise:
        """The same noise for every stage."""
        return SeededNoise(self._seed, *self._labels)


def half_noise(task: Task, source: Source = SystemNoise) -> Path:
    """An agent that adds half of the noise."""
    return through_agent(task, lambda: HalvedNoise(source()))


def reused_noise(task: Task, source: Source = SystemNoise) -> Path:
    """An agent whose noise depends on the device alone."""
    return through_agent(task, lambda: ReusedNoise(int.from_bytes(source()._bytes(16), "big")))


def renoised(task: Task, source: Source = SystemNoise, times: int = 2) -> Path:
    """An agent that forgets what it has sent, and makes its report anew when it is asked again."""
    path = through_agent(task, source)
    return lambda X, y: [raw for _ in range(times) for raw in path(X, y)]


def unweighted(task: Task, source: Source = SystemNoise) -> Path:
    """An agent that takes the same records for fresh ones:
    both stages spend the whole budget on them."""
    return through_agent(task, source, replay=True)


BROKEN: dict[str, Callable[[Task, Source], Path]] = {
    "half-noise": half_noise,
    "reused-noise": reused_noise,
    "renoised": renoised,
    "unweighted": unweighted,
}
