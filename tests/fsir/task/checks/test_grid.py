"""A finer grid is for tasks without noise; it brings the sums nearer, and leaves them exact."""

import numpy as np
import pytest

from fsir.contract import decode_task
from fsir.errors import TaskError
from fsir.privacy.moments import Moments
from fsir.privacy.plan import first_stage
from tests.fsir.tasks import mapped, task

SILENT = {"epsilon": 1.0, "mechanism": "none"}
CLIP = {"truncate": 2.0, "norm": 3.0}


def silent(bits=None, records=100):
    clip = CLIP if bits is None else {**CLIP, "bits": bits}
    return task(3, privacy=SILENT, clip=clip, report={"records": records})


def test_a_task_that_does_not_speak_of_it_has_the_grid_and_the_bytes_that_it_had():
    assert "bits" not in silent().table()["clip"]
    assert first_stage(silent()).grid == 2.0**-13
    assert first_stage(silent(bits=16)).grid == 2.0**-15
    assert decode_task(silent(bits=16).encode()) == silent(bits=16) != silent()


@pytest.mark.parametrize("bits", range(15, 21))
def test_every_bit_halves_the_distance_from_what_came(bits):
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (100, 3))
    moments = Moments(silent(bits), first_stage(silent(bits)))
    moments.learn_many(X, ["a"] * 100)
    grid = moments.stage.grid
    assert grid == 2.0 ** (1 - bits)
    whole = np.trunc(X / grid).astype(np.int64)
    assert moments.sums()[:, 0].tolist() == whole.sum(axis=0).tolist()
    assert moments.second().tolist() == (whole.T @ whole).tolist()


@pytest.mark.parametrize("bits", [15, 16, 20])
def test_as_many_records_as_a_task_allows_fit_into_exact_sums(bits):
    most = 2 ** (53 - 2 * bits) - 1
    allowed = silent(bits, records=most)
    assert Moments(allowed, first_stage(allowed))._sums.check_room(0, most) is None
    with pytest.raises(TaskError, match=f"report.records = {most + 1}"):
        silent(bits, records=most + 1)


@pytest.mark.parametrize("bits", [0, 14, 21, 16.5])
def test_other_grids_are_refused(bits):
    with pytest.raises(TaskError, match=r"clip\.bits"):
        silent(bits)


def test_noise_two_reports_and_a_public_sample_have_the_grid_that_they_need():
    fine = {**CLIP, "bits": 16}
    with pytest.raises(TaskError, match=r"clip\.bits = 16: the noise of 'gaussian' is coarser"):
        task(3, clip=fine)
    with pytest.raises(TaskError, match=r"clip\.bits = 16: a task with \[screening\]"):
        task(3, clip=fine, privacy=SILENT, screening={"keep": 1, "limit": 1, "final_norm": 1.5})
    with pytest.raises(TaskError, match=r"clip\.bits = 16: a task with \[public\]"):
        mapped(3, 2, clip=fine, privacy=SILENT)
