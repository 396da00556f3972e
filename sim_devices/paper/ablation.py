"""What each part of the default release contributes:
one thing changed at a time, over the low-dimensional cells."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean, median

from fsir.arrays import Matrix
from fsir.estimate.covariance import Merged, merged
from fsir.estimate.subspace import projection_loss
from fsir.privacy import accounting
from fsir.privacy.plan import Stage, first_stage
from sim_devices.datasets.models import MODELS
from sim_devices.paper import profiles
from sim_devices.paper.cells import Cell, cells, printed
from sim_devices.paper.low import Mechanism, Replication, Setup, low_task, stream
from sim_devices.paper.merged_release import NORM_PER_ROOT, basis_of, merged_release


def plain(m: Merged, d: int) -> Matrix:
    """The paper's estimate, which does not know the noise."""
    return profiles.subspace(m.M, m.Sigma, d)


def as_is(stage: Stage, cell: Cell) -> Stage:
    """The stage of the task."""
    return stage


def separate(stage: Stage, cell: Cell) -> Stage:
    """Sums and second moment released one after the other, each for half of mu^2,
    instead of together."""
    C = stage.norm
    mu = stage.mu / math.sqrt(2.0)
    return _with_noise(stage, 2.0 * C / mu, math.sqrt(2.0) * C * C / mu)


def classical(stage: Stage, cell: Cell) -> Stage:
    """The same, each with (epsilon, delta) by the classical formula,
    as the paper does for the slice means."""
    C = stage.norm
    s_M = accounting.classical_sigma(2.0 * C, cell.epsilon, cell.delta)
    s_S = accounting.classical_sigma(math.sqrt(2.0) * C * C, cell.epsilon, cell.delta)
    return _with_noise(stage, s_M, s_S)


def silent(stage: Stage, cell: Cell) -> Stage:
    """Clip and rounding, but no noise: what the clip alone does."""
    return _with_noise(stage, 0.0, 0.0)


def _with_noise(stage: Stage, s_M: float, s_S: float) -> Stage:
    """Other standard deviations; the counts ride with the sums at full weight."""
    return stage._replace(
        sums=stage.sums._replace(sd=s_M),
        counts=stage.counts._replace(sd=s_M / stage.norm),
        diagonal=stage.diagonal._replace(sd=s_S),
        off_diagonal=stage.off_diagonal._replace(sd=s_S / math.sqrt(2.0)),
    )


@dataclass(frozen=True)
class Variant:
    """A way to release and estimate."""

    norm_per_root: float = NORM_PER_ROOT
    noise: Callable[[Stage, Cell], Stage] = as_is
    estimate: Callable[[Merged, int], Matrix] = basis_of


Losses = dict[tuple[str, Cell], list[float]]
VARIANTS = {
    "default": Variant(),
    **{f"C = {c:g} sqrt(p)": Variant(norm_per_root=c) for c in (0.5, 0.7, 1.0, 1.14, 1.5)},
    "the clip without noise": Variant(noise=silent),
    "plain estimate": Variant(estimate=plain),
    "two releases": Variant(noise=separate),
    "two releases, classical noise": Variant(noise=classical),
    "C = 1.5 sqrt(p), two releases, classical, plain": Variant(1.5, classical, plain),
}


def ablation(replications: int, seed: int) -> dict[str, dict[str, float]]:
    """For each variant: cells won against the paper's FSIR-VGM, mean loss,
    and median ratio to the floor."""
    losses: Losses = defaultdict(list)
    for model in MODELS:
        wanted = [cell for cell in cells("low") if cell.model == model]
        for replication in range(replications):
            for norm in sorted({variant.norm_per_root for variant in VARIANTS.values()}):
                some = {
                    name: variant
                    for name, variant in VARIANTS.items()
                    if variant.norm_per_root == norm
                }
                _collect(losses, some, wanted, norm, replication, seed)
    return {name: _summary(losses, name) for name in VARIANTS}


def _collect(
    losses: Losses,
    some: dict[str, Variant],
    wanted: list[Cell],
    norm: float,
    replication: int,
    seed: int,
) -> None:
    default = norm == NORM_PER_ROOT
    mechanisms: tuple[Mechanism, ...] = ("gaussian", "none") if default else ("gaussian",)
    run = Replication(replication, seed, wanted, Setup(mechanisms=mechanisms, norm_per_root=norm))
    for cell in wanted:
        stage = first_stage(low_task(cell, cell.epsilon, norm))
        exact = run.exact(cell)
        place = (MODELS.index(cell.model), replication, round(1000 * cell.epsilon))
        for name, variant in some.items():
            rng = stream(seed, 3, *place, cell.n, cell.clients)
            totals = merged_release(variant.noise(stage, cell), exact, cell.clients, rng)
            basis = variant.estimate(merged(totals), run.d)
            losses[name, cell].append(projection_loss(basis, run.beta))
        if default:
            losses["floor", cell].append(projection_loss(run.basis(cell, "none"), run.beta))


def _summary(losses: Losses, name: str) -> dict[str, float]:
    mean = {cell: fmean(values) for (which, cell), values in losses.items() if which == name}
    ratios = [loss / fmean(losses["floor", cell]) for cell, loss in mean.items()]
    paper = printed()
    return {
        "cells_won": sum(loss < paper[cell, "vgm"].loss for cell, loss in mean.items()),
        "mean_loss": round(fmean(mean.values()), 4),
        "median_ratio_to_floor": round(median(ratios), 3),
    }
