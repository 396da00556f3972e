"""`fsir-agent` with reproducible noise, for tests alone: `python seeded_agent.py SEED run ...`."""

from __future__ import annotations

import functools
import sys

import edge_agent.agent
import edge_agent.state.state
from edge_agent.cli import main
from fsir.privacy.noise import SeededNoise


def seeded_main(seed: int, arguments: list[str]) -> int:
    device = arguments[arguments.index("--device") + 1]
    noise = SeededNoise(seed, device)
    agent = functools.partial(edge_agent.agent.Agent, noise=noise, simulated=True)
    state = functools.partial(edge_agent.state.state.State, simulated=True)
    edge_agent.agent.Agent = agent  # type: ignore[assignment,misc]
    edge_agent.state.state.State = state  # type: ignore[assignment,misc]
    return main(arguments)


if __name__ == "__main__":
    sys.exit(seeded_main(int(sys.argv[1]), sys.argv[2:]))
