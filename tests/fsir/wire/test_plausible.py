"""No honest report is refused, however extreme its data; what no honest device can send is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsir.limits import MAX_RECORDS
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import Stage, final_stage, first_stage
from fsir.privacy.release import release
from fsir.task.task import MECHANISMS, Task
from fsir.wire.plausible import FALSE_ALARM, Plausibility, allowed_sizes, implausible
from tests.fsir.tasks import mapped, screened, task

N = 100


def stages() -> list[tuple[Task, Stage]]:
    """One of every kind."""
    plain = [task(5, privacy={"mechanism": mechanism}) for mechanism in MECHANISMS]
    pairs = [(made, first_stage(made)) for made in plain]
    for code in ("slices", "simplex"):
        made = screened(code=code)
        pairs += [(made, first_stage(made)), (made, final_stage(made, (1, 4)))]
    public = [mapped(6, 3, privacy={"split": 0.5}), mapped(5, identity=True)]
    public += [mapped(6, 3, check=0.5), mapped(5, identity=True, check=200.0)]
    return pairs + [(made, first_stage(made)) for made in public]


def test_counts_may_lack_what_was_refused_and_may_not_in_version_1() -> None:
    for version, fault in ((1, "the total of the counts"), (2, None)):
        made = task(5, version=version, privacy={"epsilon": 4.0})
        stage = first_stage(made)
        moments = Moments(made, stage)
        moments.learn_many(np.zeros((N, 5)), ["a"] * (N // 2) + ["?"] * (N // 2))
        released = release(moments, SeededNoise(1))
        for n in (1000 * N, moments.n):
            said = implausible(stage, n, released.blocks)
            assert said is None if version == 2 or n == N // 2 else fault in str(said)


def extremes(p: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Data that push the sums as far as records can."""
    corner = np.full((N, p), 1e6)
    axis = np.zeros((N, p))
    axis[:, 0] = 1e6
    return [
        corner,
        -corner,
        axis,
        np.zeros((N, p)),
        np.sign(rng.normal(size=(N, p))) * 1e6,
        rng.normal(size=(N, p)),
    ]


@pytest.mark.parametrize(
    ("made", "stage"), stages(), ids=lambda value: getattr(value, "mechanism", "")
)
def test_honest_reports_about_extreme_data_pass(made: Task, stage: Stage) -> None:
    rng = np.random.default_rng(0)
    one_slice = np.full(N, "b")
    mixed = rng.choice(["a", "b", "c"], N)
    for seed, X in enumerate(extremes(len(stage.features), rng)):
        for y in (one_slice, mixed):
            moments = Moments(made, stage)
            moments.learn_many(X, y)
            released = release(moments, SeededNoise(seed))
            assert implausible(stage, N, released.blocks) is None


def noisy(
    stage: Stage, exact: dict[str, np.ndarray], count: int, rng: np.random.Generator
) -> np.ndarray:
    """Rows of published integers around these exact sums."""
    blocks = [
        np.floor(
            (exact[block.name] + rng.normal(0, block.sd, (count, block.size))) / block.worth + 0.5
        )
        for block in stage.blocks
    ]
    return np.concatenate(blocks, axis=1).astype(np.int64)


def at_the_edge(stage: Stage) -> dict[str, np.ndarray]:
    """The sums of N equal records of norm C in one slice, in units of the data."""
    x = np.full(stage.p, stage.norm / stage.p**0.5)
    sums = np.zeros((stage.p, stage.slices))
    sums[:, 0] = N * x
    counts = np.zeros(stage.slices)
    counts[0] = N
    second = N * np.outer(x, x)
    return {
        "sums": sums.reshape(-1),
        "counts": counts,
        "diagonal": np.diagonal(second).copy(),
        "off_diagonal": second[np.triu_indices(stage.p, 1)],
    }


def test_false_alarms_are_as_rare_as_stated() -> None:
    # Each of the eight tests has its own probability; at 1e-10 nothing would be seen, so it is
    # tried at 1e-3.
    each = 1e-3
    count = 40_000
    stage = first_stage(task(5))
    rows = noisy(stage, at_the_edge(stage), count, np.random.default_rng(1))
    alarms = len(Plausibility(stage, each).faults(np.full(count, N), rows)) / count
    assert 0.2 * each < alarms < 8 * each  # the tests can ring, and do not ring too often
    assert not Plausibility(stage).faults(np.full(count, N), rows)
    assert 8 * FALSE_ALARM < 1e-9


def fault_of(stage: Stage, exact: dict[str, np.ndarray], seed: int) -> str | None:
    """What is wrong with one report around these exact sums."""
    rows = noisy(stage, exact, 1, np.random.default_rng(seed))
    return Plausibility(stage).faults(np.array([N]), rows).get(0)


FAULTS = [
    ("sums", 0, 1.5 * N * 2.0, "a slice sum"),
    ("counts", 0, N + 300.0, "a slice count"),
    ("counts", 0, -300.0, "a slice count"),
    ("diagonal", 1, -400.0 * 2, "a second moment"),
    ("off_diagonal", 2, 1e4, "a mixed second moment"),
]


@pytest.mark.parametrize(("name", "place", "value", "said"), FAULTS)
def test_what_clip_and_noise_do_not_allow_is_found(
    name: str, place: int, value: float, said: str
) -> None:
    stage = first_stage(task(5, privacy={"epsilon": 8.0}))
    exact = at_the_edge(stage)
    exact[name][place] = value
    fault = fault_of(stage, exact, 2) or ""
    assert said in fault
    assert "outside of" in fault


@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_norms_and_totals_catch_what_no_single_coordinate_shows(factor: float) -> None:
    stage = first_stage(task(40, privacy={"epsilon": 8.0}))
    exact = at_the_edge(stage)
    exact["sums"] = np.full(stage.sums.size, factor * N * stage.norm / stage.sums.size**0.5)
    exact["counts"] = np.full(stage.slices, N / stage.slices)
    fault = fault_of(stage, exact, 3)
    assert (fault is None) if factor == 1.0 else ("the norm of the slice sums" in str(fault))
    exact = at_the_edge(stage)
    exact["diagonal"] *= factor
    fault = fault_of(stage, exact, 4)
    assert (fault is None) if factor == 1.0 else ("the trace" in str(fault))
    exact = at_the_edge(stage)
    exact["counts"] = np.full(stage.slices, factor * N / stage.slices)
    fault = fault_of(stage, exact, 5)
    assert (fault is None) if factor == 1.0 else ("count" in str(fault))


def test_without_noise_the_bounds_are_sharp() -> None:
    stage = first_stage(task(2, privacy={"mechanism": "none"}))
    exact = at_the_edge(stage)
    blocks = [np.floor(exact[block.name] / block.worth).astype(np.int64) for block in stage.blocks]
    assert implausible(stage, N, blocks) is None
    blocks[1][0] += 5
    assert "a slice count" in str(implausible(stage, N, blocks))


def test_wrong_layouts_are_named() -> None:
    stage = first_stage(task(3))
    assert "9, 3, 3, 3" in str(implausible(stage, N, [np.zeros(1, np.int64)] * 4))


@settings(max_examples=200)
@given(
    st.lists(st.integers(-(2**54), 2**54), min_size=18, max_size=18), st.integers(1, MAX_RECORDS)
)
def test_any_integers_get_an_answer(values: list[int], n: int) -> None:
    stage = first_stage(task(3))
    fault = implausible(stage, n, np.split(np.array(values), [9, 12, 15]))
    assert fault is None or ("outside of [" in fault and "nan" not in fault)


def test_many_rows_are_judged_as_each_alone() -> None:
    stage = first_stage(task(5))
    rng = np.random.default_rng(6)
    rows = noisy(stage, at_the_edge(stage), 50, rng)
    rows[::7, 3] *= 1000
    n = rng.integers(50, 150, 50)
    together = Plausibility(stage).faults(n, rows)
    alone = {
        i: implausible(stage, int(n[i]), [rows[i][span] for span in stage.spans]) for i in range(50)
    }
    assert together == {i: fault for i, fault in alone.items() if fault is not None}


def test_the_number_of_records_is_the_tasks() -> None:
    assert allowed_sizes(task(3)) == (100, 100)
    late = {"records": 5000, "deadline": 2_000_000_000}
    assert allowed_sizes(task(3, report=late)) == (1, 5000)
    low, high = allowed_sizes(task(3, report={**late, "sigma_0": 0.1}))
    assert 1 < low < high == 5000
