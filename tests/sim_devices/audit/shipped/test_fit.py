"""Each way in which noise can be wrong is seen in the bytes; right noise raises no alarm."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fsir.privacy.noise import SystemNoise
from fsir.wire.messages import Report
from sim_devices.audit.shipped import cases, fit
from sim_devices.audit.shipped.agent import through_agent
from sim_devices.audit.shipped.judge import judge
from sim_devices.audit.shipped.reference import expected
from sim_devices.audit.shipped.scores import Side, scores


class Repeated(SystemNoise):
    """One word stands for two numbers."""

    def _bytes(self, count):
        raw = super()._bytes(count)
        return raw[:16] + raw[:16] + raw[32:] if count >= 32 else raw


class Reused(SystemNoise):
    """Every block and stage starts with the same words."""

    def _bytes(self, count):
        return vars(self).setdefault("pool", super()._bytes(2**16))[:count]


class Flat(SystemNoise):
    """Uniform noise of the right size."""

    def normals(self, count):
        return np.random.default_rng().uniform(-(3**0.5), 3**0.5, count)


class Weaker(SystemNoise):
    """Nine tenths of the noise."""

    def normals(self, count):
        return 0.9 * super().normals(count)


class Shifted(SystemNoise):
    """Noise that is not around 0."""

    def normals(self, count):
        return 1.0 + super().normals(count)


class Cut(SystemNoise):
    """Nothing beyond four standard deviations."""

    def normals(self, count):
        return super().normals(count).clip(-4.0, 4.0)


def faults(case, source, runs, seed=0):
    path = through_agent(case.task, source)
    return judge(path, case.task, case.streams, runs, np.random.default_rng(seed))[1]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (Repeated, "correlated by +"),
        (Reused, "correlated by +"),
        (Flat, "not normal"),
        (Weaker, "of its sd"),
        (Shifted, "from its place"),
    ],
)
def test_wrong_noise_is_seen(source, said):
    told = faults(cases.two_stages(one_by_one=False), source, 100)
    assert any(said in fault for fault in told), told


def test_noise_of_two_stages_is_compared():
    told = faults(cases.two_stages(one_by_one=False), Reused, 60)
    assert any("screening" in fault and "final" in fault for fault in told)


@pytest.mark.long
def test_a_cut_tail_is_seen():
    told = faults(cases.half_step(), Cut, 60)
    assert [fault for fault in told if "0 numbers beyond" in fault]


@pytest.mark.long
@pytest.mark.parametrize("name", [case.name for case in cases.all_cases()])
def test_right_noise_raises_no_alarm(name):
    case = next(case for case in cases.all_cases() if case.name == name)
    path = through_agent(case.task, one_by_one=case.one_by_one)
    _, told = judge(path, case.task, case.streams, 60, np.random.default_rng())
    assert told == []


@pytest.mark.parametrize("ratio", [0.7, 1.0, 8.0, 16.0])
def test_scores_are_standard_normal_at_any_step(ratio):
    """Drawn from the definition: moments of a standard normal, within seven standard errors."""
    rng = np.random.default_rng()
    count = 40_000
    mean = rng.uniform(-5.0, 5.0, 3)
    sd = np.full(3, 2.0)
    worth = sd / ratio
    K = np.floor((mean + sd * rng.standard_normal((count, 3))) / worth + 0.5)
    Z = scores(K, mean, sd, worth, rng)
    assert np.abs(Z.mean(axis=0)).max() < 7.0 / count**0.5
    assert np.abs((Z**2).mean(axis=0) - 1.0).max() < 7.0 * (2.0 / count) ** 0.5
    assert np.abs((Z**4).mean(axis=0) - 3.0).max() < 7.0 * (96.0 / count) ** 0.5


@pytest.mark.long
def test_the_level_is_what_it_says(monkeypatch):
    """At a level of a fifth instead of 1e-8, no more than a fifth of right reports are alarms."""
    monkeypatch.setattr(fit, "_LEVEL", 0.2 / fit._FAMILIES)
    case = cases.empty_slice()
    streams = (case.streams.first, case.streams.second)
    laws = [expected(case.task, "final", stream) for stream in streams]
    rng = np.random.default_rng()
    tries = 300
    alarms = 0
    for _ in range(tries):
        sides = [
            Side(stream, {"final": law}, [[drawn(law, rng)] for _ in range(40)])
            for stream, law in zip(streams, laws, strict=True)
        ]
        alarms += bool(fit.misfits(*sides, rng))
    assert stats.binom.sf(alarms - 1, tries, 0.2) > 1e-9, alarms


def drawn(law, rng):
    """A report by the definition of the release."""
    values = np.floor(
        law.mean / law.worth + law.sd / law.worth * rng.standard_normal(len(law.mean)) + 0.5
    ).astype(np.int64)
    blocks = tuple(values[span] for span in law.stage.spans)
    return Report(task=b"", device="canary", stage="final", n=8, blocks=blocks)


def test_the_tests_are_about_all_numbers():
    """A single number without noise among many is found."""

    class OneMissing(SystemNoise):
        def normals(self, count):
            z = super().normals(count)
            if count == 3:
                z[2] = 0.0
            return z

    told = faults(cases.empty_slice(), OneMissing, 60)
    assert any("counts[2]" in fault for fault in told)
