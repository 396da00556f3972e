"""The device's own classifier that starts from the federation: what it believes, when, and why."""

from __future__ import annotations

import msgpack
import numpy as np
import pytest

from edge_agent.recognition import personal
from edge_agent.recognition.personal import CENTRE_WEIGHT, SPREAD_WEIGHT, Personal, Prior
from edge_agent.recognition.recogniser import Recogniser
from tests.edge_agent.recognition.people import CLASSES
from tests.edge_agent.recognition.whitened import CENTRES, PRIOR, federation, lived, owner


def numbers(v: bytes) -> np.ndarray:
    return np.frombuffer(v, "<f4")


def best(model: Personal, v: bytes) -> str:
    scores = model.scores(numbers(v))
    return max(scores, key=scores.__getitem__)


def test_before_the_first_label_it_is_the_federation():
    """To the last record where shares are even, else with a little more doubt about distances."""
    records = owner(500)
    same = [best(Personal(PRIOR), v) == federation(v) for v, _ in records]
    assert sum(same) > 480
    even = Personal(Prior(classes=CLASSES, centres=CENTRES, shares=np.full(3, 1 / 3)))
    for v, _ in records:
        nearest = np.argmin(((numbers(v) - CENTRES) ** 2).sum(axis=1))
        assert best(even, v) == CLASSES[nearest]


def test_sums_give_what_the_conjugate_formulas_give(monkeypatch):
    """Without fading: normal and inverse Wishart, from all records at once."""
    monkeypatch.setattr(personal, "CENTRE_MEMORY", 1e12)
    monkeypatch.setattr(personal, "SPREAD_MEMORY", 1e12)
    model = Personal(PRIOR)
    records = owner(300)
    for v, label in records:
        model.learn(numbers(v), label)
    rows = np.array([numbers(v) for v, _ in records], np.float64)
    labels = np.array([label for _, label in records])
    scatter = SPREAD_WEIGHT * np.eye(4)
    q = 4
    expected = []
    means = []
    for label, centre in zip(CLASSES, CENTRES, strict=True):
        own = rows[labels == label]
        n = len(own)
        gap = own.mean(axis=0) - centre
        scatter += (own - own.mean(axis=0)).T @ (own - own.mean(axis=0))
        scatter += CENTRE_WEIGHT * n / (CENTRE_WEIGHT + n) * np.outer(gap, gap)
        means.append((CENTRE_WEIGHT * centre + own.sum(axis=0)) / (CENTRE_WEIGHT + n))
    x = np.array([1.0, -1.0, 0.5, -2.0], np.float32)
    freedom = SPREAD_WEIGHT + len(rows)
    for label, mean, share in zip(CLASSES, means, PRIOR.shares, strict=True):
        n = np.sum(labels == label)
        width = 1.0 + 1.0 / (CENTRE_WEIGHT + n)
        square = (x - mean) @ np.linalg.solve(scatter, x - mean) / width
        counts = n + personal.SHARES_WEIGHT * share
        height = -0.5 * q * np.log(width) - 0.5 * (freedom + q) * np.log1p(square)
        expected.append(np.log(counts / (len(rows) + personal.SHARES_WEIGHT)) + height)
    assert list(model.scores(x).values()) == pytest.approx(expected, rel=1e-5)


def test_it_learns_where_this_owner_differs():
    recogniser = Recogniser(CLASSES, prior=PRIOR)
    lived(recogniser, owner(300))
    later = lived(recogniser, owner(500, seed=1))
    assert later["device"] > later["federation"] + 40
    assert later["said"] >= later["device"] - 5


def test_it_is_less_sure_than_whoever_knows_more():
    """With a record in the middle of a class: confidence is that of the predictive distribution."""
    recogniser = Recogniser(CLASSES, prior=PRIOR)
    lived(recogniser, owner(12, offset=np.zeros(4)))
    v = CENTRES[1].astype("<f4").tobytes()
    early = recogniser.answer((0.0,), "b", 0.5, v)
    lived(recogniser, owner(2000, seed=1, offset=np.zeros(4)))
    late = recogniser.answer((0.0,), "b", 0.5, v)
    assert (early.by, late.by) == ("device", "device")
    assert 1 / 3 < early.confidence < late.confidence < 1.0


def test_it_follows_an_owner_who_changes():
    recogniser = Recogniser(CLASSES, prior=PRIOR)
    lived(recogniser, owner(3000))
    lived(recogniser, owner(1500, seed=1, offset=np.array([-1.5, 1.5, 0.0, 3.0])))
    right = lived(recogniser, owner(500, seed=2, offset=np.array([-1.5, 1.5, 0.0, 3.0])))
    assert right["device"] > right["federation"] + 50


def test_a_class_that_was_never_labelled_is_the_federations():
    recogniser = Recogniser(CLASSES, prior=PRIOR)
    lived(recogniser, [(v, label) for v, label in owner(600) if label == "a"])
    for v, _ in owner(100, seed=3):
        answer = recogniser.answer((0.0,), federation(v), 0.5, v)
        assert answer.by == ("device" if federation(v) == "a" else "federation")


def test_extreme_records_do_no_harm():
    recogniser = Recogniser(CLASSES, prior=PRIOR)
    rng = np.random.default_rng(0)
    for k in range(3000):
        v = rng.choice([0.0, 1e6, -1e6], size=4).astype("<f4").tobytes()
        answer = recogniser.answer((0.0,), "a", 0.5, v)
        assert 0.0 <= answer.confidence <= 1.0
        recogniser.learn(answer, CLASSES[k % 3])
    sane = lived(recogniser, owner(6000, seed=1))
    assert sane["said"] >= sane["federation"]


def test_a_restart_changes_nothing():
    recogniser = Recogniser(CLASSES, "s", 3, PRIOR)
    lived(recogniser, owner(200))
    again = Recogniser.of(CLASSES, msgpack.unpackb(msgpack.packb(recogniser.table())), PRIOR)
    assert again.table() == recogniser.table()
    for v, label in owner(200, seed=1):
        answers = [each.answer((0.0,), federation(v), 0.5, v) for each in (recogniser, again)]
        assert answers[0] == answers[1]
        for each, answer in zip((recogniser, again), answers, strict=True):
            each.learn(answer, label)
    assert again.table() == recogniser.table()


def test_a_state_without_it_begins_at_the_prior():
    """As the version before wrote it, which knew nothing but pairs."""
    before = Recogniser(CLASSES, "s", 3)
    for v, label in owner(100):
        before.learn(before.answer(tuple(numbers(v)[:2].tolist()), "a", 0.5), label)
    table = msgpack.unpackb(msgpack.packb(before.table()))
    assert set(table) == {"subspace", "pairs", "scores", "fit", "past", "now"}
    again = Recogniser.of(CLASSES, table, PRIOR)
    assert again.summary() == before.summary()
    v = CENTRES[2].astype("<f4").tobytes()
    assert again.answer((0.0,), "b", 0.5, v).device == "c"


def test_what_is_kept_stays_small():
    q = 150
    prior = Prior(classes=CLASSES, centres=np.zeros((3, q)), shares=np.full(3, 1 / 3))
    recogniser = Recogniser(CLASSES, "s", 1, prior)
    rng = np.random.default_rng(0)
    for k in range(300):
        v = rng.normal(size=q).astype("<f4").tobytes()
        recogniser.learn(recogniser.answer((0.0,), "a", 0.5, v), CLASSES[k % 3])
    assert len(msgpack.packb(recogniser.table())) < 52_000


# --- versions -------------------------------------------------------------------------------------


def learned(prior: Prior, R: np.ndarray) -> Personal:
    """What 300 records teach whose coordinates are turned by R."""
    model = Personal(prior)
    for v, label in owner(300):
        model.learn((numbers(v) @ R).astype("<f4"), label)
    return model


@pytest.mark.parametrize("seed", range(3))
def test_a_year_of_turns_is_as_good_as_none(seed):
    """Each version whitens a little differently and turns; the last one is the first again."""
    rng = np.random.default_rng(seed)
    model = learned(PRIOR, np.eye(4))
    back = np.eye(4)
    for _ in range(365):
        R = np.linalg.qr(rng.normal(size=(4, 4)))[0] @ np.diag(rng.uniform(0.9, 1.1, 4))
        back = np.linalg.solve(R, back)
        centres = rng.normal(size=CENTRES.shape)
        prior = Prior(classes=CLASSES, centres=centres, shares=PRIOR.shares)
        model = model.turned(prior, R)
    model = model.turned(PRIOR, back)
    same = learned(PRIOR, np.eye(4))
    assert model.learned == same.learned
    for v, _ in owner(100, seed=9):
        expected = same.scores(numbers(v))
        found = model.scores(numbers(v))
        assert found == pytest.approx(expected, rel=1e-3, abs=1e-2)


def test_a_prior_that_has_only_turned_changes_no_score():
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    prior = Prior(classes=CLASSES, centres=CENTRES @ Q, shares=PRIOR.shares)
    model = learned(PRIOR, np.eye(4))
    turned = model.turned(prior, Q)
    there = learned(prior, Q)
    for v, _ in owner(100, seed=9):
        expected = model.scores(numbers(v))
        at = (numbers(v) @ Q).astype("<f4")
        assert turned.scores(at) == pytest.approx(expected, rel=1e-4, abs=1e-3)
        assert there.scores(at) == pytest.approx(expected, rel=1e-3, abs=1e-2)
