"""What devices publish in rounds has the noise of the proof, and the fit sees where it has not."""

import numpy as np
import pytest

from sim_devices.audit.rounds.reports import by_other_keys, by_release, misfits, of_reports


def test_the_shipped_release_fits():
    assert not of_reports(by_release, 60, "reports").violated


def test_past_normals_that_are_drawn_anew_do_not():
    faults = of_reports(by_other_keys, 60, "anew").faults
    assert any("round 6" in fault or "round 2" in fault for fault in faults)
    assert any("correlated" in fault for fault in faults)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda Z: 1.3 * Z, "of its sd"),
        (lambda Z: 0.75 * Z, "of its sd"),
        (lambda Z: np.concatenate([Z[:, :1], Z[:, :1], Z[:, 2:]], axis=1), "rounds 1 and 2"),
        (lambda Z: Z[:, :, [0, *range(1, 19), 0]], "numbers 0 and 19"),
        (lambda Z: np.concatenate([Z[:30], Z[:30]]), "two devices"),
    ],
)
def test_each_family_can_fail(change, said):
    Z = np.random.default_rng(0).normal(size=(60, 6, 20))
    assert misfits(Z) == []
    assert any(said in fault for fault in misfits(change(Z)))
