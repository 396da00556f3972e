"""The picture of growth: seconds against devices, both on scales of ratios."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fsir.fitted.drawing import COLOURS, MARKERS

_LIGHT = "#e6e9ec"


def draw(seconds: Mapping[str, Mapping[int, float]], path: Path) -> None:
    """Write the picture of each who was measured, by the number of devices."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axis = plt.subplots(figsize=(7.0, 4.6))
    for number, (who, times) in enumerate(seconds.items()):
        axis.plot(
            list(times),
            list(times.values()),
            label=who,
            color=COLOURS[number],
            marker=MARKERS[number],
            markersize=5,
            linewidth=1.6,
        )
    sizes = sorted({size for times in seconds.values() for size in times})
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axis.set_xticks([], minor=True)
    axis.yaxis.set_major_formatter("{x:g}")
    axis.grid(color=_LIGHT, linewidth=0.6)
    axis.set_axisbelow(True)
    axis.tick_params(labelsize=8)
    axis.set_xlabel("devices, a hundred records each")
    axis.set_ylabel("seconds, from the start to the result")
    axis.legend(frameon=False, fontsize=9)
    figure.suptitle("One simulated federation, from 100 to 20,000 devices")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
