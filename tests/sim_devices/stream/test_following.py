import numpy as np
import pytest

from sim_devices.datasets.synthetic_har import synthetic_har
from sim_devices.scenarios.scenarios import activities
from sim_devices.scenarios.tasks import Setting, build
from sim_devices.stream.ageing import draw_life
from sim_devices.stream.following import follow
from sim_devices.stream.picture import draw
from sim_devices.stream.sources import Endless
from sim_devices.stream.tasks import proposed_for


@pytest.fixture(scope="module")
def scenario():
    population = synthetic_har(6, 60, seed=1, unseen=2, levels=False)
    return activities(population, "person-01", None)


def test_rounds_afford_more_coordinates(scenario):
    setting = Setting(records=3000)
    once = build(scenario.population, scenario.geometry, setting)
    often = proposed_for(scenario.population, scenario.geometry, setting, 10)
    assert often.rounds == 10
    assert often.coordinates > once.coordinates
    assert often.report.records == once.report.records


def test_an_endless_stream_is_followed_and_drawn(scenario, tmp_path):
    source = Endless(scenario, records=200, seed=1)
    setting = Setting(epsilon=8.0, records=200)
    single = build(scenario.population, scenario.geometry, setting)
    task = proposed_for(scenario.population, scenario.geometry, setting, 3)
    points = list(follow(source, task, single, 3, seed=1))
    assert [point.round for point in points] == [1, 2, 3]
    assert len({point.once for point in points}) == 1  # nothing changes, and it never reports again
    assert all(point.since == 1 and point.drift is None for point in points)
    for name in ("stream.png", "stream.svg"):
        assert draw(points, tmp_path / name, "title").stat().st_size > 0


def test_the_same_round_is_recorded_the_same(scenario):
    source = Endless(scenario, records=50, seed=1)
    again = Endless(scenario, records=50, seed=1)
    for one, other in zip(source.round(2).devices, again.round(2).devices, strict=True):
        assert np.array_equal(one.X, other.X)
    assert not np.array_equal(source.round(1).devices[0].X, source.round(2).devices[0].X)


def test_winter_is_half_a_year_away_and_comes_back():
    life = draw_life(np.random.default_rng(3), 0.0)
    summer = life.on(0.0)
    winter = life.on(182.5)
    assert np.all(winter.vigour < summer.vigour)
    assert winter.cadence < summer.cadence
    assert life.on(365.0).vigour == pytest.approx(summer.vigour)
