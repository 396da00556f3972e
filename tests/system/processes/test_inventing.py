"""People are the same, whoever invents them."""

from __future__ import annotations

import numpy as np
import pytest

from sim_devices.datasets import inventing
from sim_devices.datasets.population import DataError

COLUMNS = [0, 7, 560]


def test_several_processes_invent_the_same_people():
    alone = inventing.invented(5, 12, 3, COLUMNS, workers=1)
    for workers in (2, 3):
        together = inventing.invented(5, 12, 3, COLUMNS, workers=workers)
        assert [person.device for person in together] == [person.device for person in alone]
        for one, other in zip(together, alone, strict=True):
            assert one.X.tobytes() == other.X.tobytes()
            assert np.array_equal(one.y, other.y)


def test_a_process_that_fails_is_told(monkeypatch):
    monkeypatch.setattr(inventing.sys, "executable", "/bin/false")
    with pytest.raises(DataError, match="ended with 1"):
        inventing.invented(2, 12, 3, COLUMNS, workers=2)
