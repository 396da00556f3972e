"""The ROC curves of the tracing attack as a PNG, one panel per data set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sim_devices.audit.attack import roc
from sim_devices.audit.attack.targets import DIRECTION, RAW, RAW_DIRECTION, SENT

# Okabe and Ito's colours: told apart by everyone, also in grey.
_STYLES = {
    RAW: ("#D55E00", "-"),
    RAW_DIRECTION: ("#E69F00", ":"),
    DIRECTION: ("#0072B2", "--"),
    SENT: ("#009E73", "-."),
}


def draw(panels: Sequence[roc.Panel], path: Path, epsilon: float) -> Path:
    """Write the picture and return its path."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(
        1, len(panels), figsize=(1.2 + 4.3 * len(panels), 5.0), squeeze=False
    )
    for axis, panel in zip(axes[0], panels, strict=True):
        axis.plot([0, 1], [0, 1], color="#999999", linewidth=0.8)
        axis.fill_between(
            roc.GRID,
            roc.GRID,
            roc.limit(panel.mu),
            color="#56B4E9",
            alpha=0.25,
            linewidth=0,
            label=f"proven room at epsilon {epsilon:g}",
        )
        for attack in panel.attacks:
            colour, line = _STYLES[attack.name]
            label = f"{attack.name}: {attack.mean:.3f} ± {attack.half_width:.3f}"
            axis.plot(roc.GRID, attack.mean_curve(), color=colour, linestyle=line, label=label)
        axis.set_title(f"{panel.title}\n{panel.note}", fontsize=10)
        axis.set(
            xlabel="strangers taken for members",
            ylabel="members found",
            xlim=(0, 1),
            ylim=(0, 1),
            aspect="equal",
        )
        axis.legend(loc="lower right", fontsize=8, title="area below the curve", title_fontsize=8)
    count = len(panels[0].attacks[0].areas)
    figure.suptitle(f"Tracing attack: was this record in the data? Mean of {count} repetitions")
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path
