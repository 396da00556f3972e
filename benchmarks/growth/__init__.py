"""How the time of a simulated fleet grows with its devices, in turns with its peers: medians.

    python -m benchmarks growth       # bars, out/growth.json and docs/results/growth.png

Each fleet is counted whole, or the benchmark fails. Flower and the bare script are those of
`benchmarks/peers`; who cannot be installed here is left out, and that is said.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from pathlib import Path

from benchmarks.growth.picture import draw
from benchmarks.peers.environments import MissingPeerError, said

ROUNDS = int(os.environ.get("FSIR_GROWTH_ROUNDS", "3"))
KEPT = Path("out/growth.json")
PICTURE = Path("docs/results/growth.png")
SIZES = (100, 1000, 5000)
LARGEST = 20_000  # once: it is about all being counted
OURS = "this project, mosquitto"
EMBEDDED = "this project, embedded broker"
FLOWER = "Flower 1.41, cold"
BARE = "bare paho script"
BARS = {
    "5,000 devices / 1,000 devices, mosquitto": "<= 5.5",
    "embedded broker / mosquitto, 5,000 devices": "<= 3",
    "memory of the simulator, kB a device": "<= 60",
    "20,000 devices in one run: counted / came": ">= 1",
}
Told = list[dict[str, float | str]]


def run() -> dict[str, float]:
    """Measure, keep, draw."""
    told = [one for number in range(ROUNDS) for one in a_round(largest=number == 0)]
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    KEPT.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    draw(medians(told), PICTURE)
    return figures(told)


def a_round(*, largest: bool) -> Told:
    """Each of them once at each size, the smallest first."""
    told = [
        one for size in SIZES for who in (OURS, EMBEDDED, BARE, FLOWER) for one in _one(who, size)
    ]
    if largest:
        told += _one(OURS, LARGEST)
    return told


def _one(who: str, devices: int) -> Told:
    works: dict[str, tuple[str, str, tuple[object, ...]]] = {
        OURS: ("ours", "ours_fleet", (devices, "mosquitto")),
        EMBEDDED: ("ours", "ours_fleet", (devices, "embedded")),
        BARE: ("ours", "bare", (devices,)),
        FLOWER: ("flower", "flower", (devices,)),
    }
    peer, work, arguments = works[who]
    try:
        words = said(peer, work, *arguments)
    except MissingPeerError as error:
        print(f"SKIPPED: {who}, {devices} devices: {error}", file=sys.stderr)
        return []
    seconds = words["cold" if who == FLOWER else "seconds"]
    counted = words.get("counted", devices)
    one = {"who": who, "devices": devices, "seconds": seconds, "memory": words["memory"]}
    return [{**one, "counted": counted}]


def medians(told: Told, what: str = "seconds") -> dict[str, dict[int, float]]:
    """Of each the median at each size."""
    found: dict[str, dict[int, list[float]]] = {}
    for one in told:
        sizes = found.setdefault(str(one["who"]), {})
        sizes.setdefault(int(one["devices"]), []).append(float(one[what]))
    return {
        who: {size: statistics.median(values) for size, values in sizes.items()}
        for who, sizes in found.items()
    }


def figures(told: Told) -> dict[str, float]:
    """The ratios that have bars, and the seconds behind them."""
    seconds = medians(told)
    memory = medians(told, "memory")[OURS]
    counted = medians(told, "counted")[OURS]
    ours = seconds[OURS]
    return {
        "5,000 devices / 1,000 devices, mosquitto": ours[5000] / ours[1000],
        "embedded broker / mosquitto, 5,000 devices": seconds[EMBEDDED][5000] / ours[5000],
        "embedded broker / mosquitto, 1,000 devices": seconds[EMBEDDED][1000] / ours[1000],
        "memory of the simulator, kB a device": 1024 * (memory[5000] - memory[100]) / 4900,
        "20,000 devices in one run: counted / came": counted[LARGEST] / LARGEST,
        "seconds of a fleet of 20,000": ours[LARGEST],
    }
