import numpy as np
import pytest

from fsir.estimate.subspace import angles
from sim_devices.datasets import models
from sim_devices.stream.turning import turned


@pytest.mark.parametrize("model", ["I", "III"])
@pytest.mark.parametrize("degrees", [0.0, 30.0, 60.0, 90.0])
def test_one_direction_turns_by_as_much_as_was_asked(model, degrees):
    basis = models.true_basis(model, 10, "low", np.random.default_rng(1))
    found = angles(turned(basis, degrees), basis)
    assert found.max() == pytest.approx(degrees, abs=1e-6)
    assert found[:-1] == pytest.approx(0.0, abs=1e-6)
    assert np.linalg.norm(turned(basis, degrees)[:, 0]) == pytest.approx(
        np.linalg.norm(basis[:, 0])
    )
