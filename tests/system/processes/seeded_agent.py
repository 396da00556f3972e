"""`fsir-agent` with reproducible noise: `python seeded_agent.py SEED run ...`. Only tests can do this."""

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
    edge_agent.agent.Agent = functools.partial(edge_agent.agent.Agent, noise=noise, simulated=True)  # type: ignore
    edge_agent.state.state.State = functools.partial(edge_agent.state.state.State, simulated=True)  # type: ignore
    return main(arguments)


if __name__ == "__main__":
    sys.exit(seeded_main(int(sys.argv[1]), sys.argv[2:]))
