"""Recognition on the device: who speaks, what is scored, that nothing is learned twice, and when it warns."""

from __future__ import annotations

import msgpack
import numpy as np

from edge_agent.recognition.drift import REFERENCE, Places, Watch
from edge_agent.recognition.recogniser import (
    BY_DISTANCE,
    BY_ERRORS,
    ENOUGH,
    PAIRS,
    REFRESH,
    Recogniser,
)
from edge_agent.recognition.scores import DEVICE, FEDERATION, RECENT, Scores

CLASSES = ("a", "b", "c")
CENTRES = {"a": (-3.0, 0.0), "b": (3.0, 0.0), "c": (0.0, 4.0)}


def stream(n: int, seed: int = 0, shift: float = 0.0) -> list[tuple[tuple[float, ...], str]]:
    """Records around one centre per class, in runs, as people live."""
    rng = np.random.default_rng(seed)
    labels = [CLASSES[(k // 20) % 3] for k in range(n)]
    return [
        (tuple((rng.normal(size=2) + CENTRES[label] + shift).tolist()), label) for label in labels
    ]


def nearest(z: tuple[float, ...]) -> str:
    return min(
        CLASSES, key=lambda label: sum((a - b) ** 2 for a, b in zip(z, CENTRES[label], strict=True))
    )


# --- who speaks -------------------------------------------------------------------------------------------------------


def test_the_federation_speaks_until_the_device_has_learned_enough():
    recogniser = Recogniser(CLASSES)
    by = []
    for z, label in stream(400):
        answer = recogniser.answer(z, "a", 0.4)  # a classifier that is of no use here
        by.append(answer.by)
        recogniser.learn(answer, label)
    assert set(by[:ENOUGH]) == {"federation"}
    assert set(by[200:]) == {"device"}
    assert recogniser.scores.recently(DEVICE) > recogniser.scores.recently(FEDERATION)


def test_a_federation_that_is_better_keeps_speaking():
    recogniser = Recogniser(CLASSES)
    for z, label in stream(300):
        answer = recogniser.answer(z, label, 0.9)
        assert (answer.said, answer.by, answer.confidence) == (label, "federation", 0.9)
        recogniser.learn(answer, label)


def test_the_device_does_not_speak_about_what_it_has_hardly_seen():
    recogniser = Recogniser(CLASSES)
    for z, label in stream(900):
        if label != "c":
            recogniser.learn(recogniser.answer(z, "a", 0.4), label)
    assert recogniser.answer((3.0, 0.0), "a", 0.4).by == "device"
    assert recogniser.answer((0.0, 4.0), "c", 0.9).by == "federation"


def test_without_a_classifier_of_the_federation_the_device_is_silent_and_then_speaks():
    recogniser = Recogniser(CLASSES)
    answers = []
    for z, label in stream(120):
        answers.append(recogniser.answer(z, None, 0.0))
        recogniser.learn(answers[-1], label)
    assert {answer.by for answer in answers[:ENOUGH]} == {None}
    assert answers[-1].by == "device"
    assert recogniser.answer(CENTRES["c"], None, 0.0).said == "c"


def test_it_follows_its_owner_and_memory_stays_bounded():
    """Classes that change places are learned anew, because only the newest records of each are kept."""
    recogniser = Recogniser(CLASSES)
    swap = {"a": "b", "b": "a", "c": "c"}
    for z, label in stream(5 * REFRESH):
        recogniser.learn(recogniser.answer(z, None, 0.0), label)
    for z, label in stream(5 * REFRESH, seed=1):
        recogniser.learn(recogniser.answer(z, None, 0.0), swap[label])
    assert recogniser.answer(CENTRES["a"], None, 0.0).said == "b"
    assert {len(kept) for kept in recogniser.table()["pairs"].values()} == {PAIRS}


def test_constant_and_extreme_records_do_no_harm():
    recogniser = Recogniser(CLASSES)
    for k in range(200):
        z = (1e9, 0.0) if k % 50 == 0 else (0.0, 0.0)
        answer = recogniser.answer(z, None, 0.0)
        recogniser.watch(answer)
        recogniser.learn(answer, "ab"[k % 2])
        assert 0.0 <= answer.confidence <= 1.0


# --- scores -----------------------------------------------------------------------------------------------------------


def test_scores_are_those_of_a_plain_count():
    rng = np.random.default_rng(0)
    truth, said, device, federation = (rng.choice(list(CLASSES), 700).tolist() for _ in range(4))
    scores = Scores()
    for row in zip(truth, said, device, federation, strict=True):
        scores.add(*row)
    found = Scores.of(msgpack.unpackb(msgpack.packb(scores.table()))).summary()
    assert found["labelled"] == 700
    assert found["recent"]["labelled"] == RECENT
    for who, answers in (("said", said), ("device", device), ("federation", federation)):
        hits = [a == b for a, b in zip(answers, truth, strict=True)]
        assert found["accuracy"][who] == round(sum(hits) / 700, 4)
        assert found["recent"]["accuracy"][who] == round(sum(hits[-RECENT:]) / RECENT, 4)


def test_the_majority_is_that_of_the_past():
    scores = Scores()
    for label in "aabbb":
        scores.add(label, None, None, None)
    assert scores.right["majority"] == 1  # a, then a; b is never the commonest before it comes
    assert (
        scores.summary()["accuracy"]["federation"] is None
    )  # there was none, which is not the same as always wrong
    assert Scores().summary()["accuracy"]["said"] is None


# --- restarts and versions --------------------------------------------------------------------------------------------


def test_a_restart_changes_nothing():
    recogniser = Recogniser(CLASSES, "s", 3)
    for z, label in stream(REFRESH):  # so that it was just made anew from what is kept
        answer = recogniser.answer(z, "a", 0.4)
        recogniser.watch(answer)
        recogniser.learn(answer, label)
    again = Recogniser.of(CLASSES, msgpack.unpackb(msgpack.packb(recogniser.table())))
    assert again.summary() == recogniser.summary()
    for z, label in stream(100, seed=5):
        answers = [each.answer(z, "a", 0.4) for each in (recogniser, again)]
        assert answers[0] == answers[1]
        for each, answer in zip((recogniser, again), answers, strict=True):
            each.watch(answer)
            each.learn(answer, label)
    assert again.table() == recogniser.table()


def test_a_new_subspace_starts_anew_and_keeps_the_scores_of_the_old_one():
    recogniser = Recogniser(CLASSES, "one", 1)
    for z, label in stream(100):
        recogniser.learn(recogniser.answer(z, None, 0.0), label)
    fresh = recogniser.renewed("two", 2)
    assert fresh.answer((0.0, 0.0), None, 0.0).device is None
    assert (fresh.scores.n, fresh.past) == (0, [recogniser.summary()])
    for version in range(3, 40):
        fresh.learn(fresh.answer((0.0, 0.0), None, 0.0), "a")
        fresh = fresh.renewed(str(version), version)
    assert len(fresh.past) == 10


# --- drift ------------------------------------------------------------------------------------------------------------


def watched(recogniser: Recogniser, records, answer_of) -> list[tuple[int, str]]:
    """Alarms by number of the record, with labels where `answer_of` gives one."""
    found = []
    for k, (z, label) in enumerate(records):
        answer = recogniser.answer(z, *answer_of(z))
        heard = (recogniser.watch(answer), recogniser.learn(answer, label) if label else None)
        found += [(k, what) for what in heard if what is not None]
    return found


def test_a_stream_that_does_not_change_is_quiet():
    assert watched(Recogniser(CLASSES), stream(5000), lambda z: (nearest(z), 0.9)) == []


def test_records_that_move_away_are_noticed_without_a_label():
    still = [(z, "") for z, _ in stream(900)]
    moved = [(z, "") for z, _ in stream(900, seed=2, shift=3.0)]
    alarms = watched(Recogniser(CLASSES), still + moved, lambda z: (nearest(z), 0.9))
    assert alarms[0][1] == BY_DISTANCE
    assert 900 < alarms[0][0] < 1200


def test_errors_are_noticed_when_they_rise_and_not_when_they_fall():
    turned = [(z, label) for z, label in stream(600)]

    def run(first_wrong: bool) -> list[tuple[int, str]]:
        recogniser, found = Recogniser(CLASSES), []
        for k, (z, label) in enumerate(turned):
            wrong = (k < 300) == first_wrong
            answer = recogniser.answer(
                z, "a" if not wrong and label == "a" else label if not wrong else "none", 0.5
            )
            if (what := recogniser.learn(answer, label)) is not None:
                found.append((k, what))
        return found

    assert run(first_wrong=True) == []
    (at, what), *_ = run(first_wrong=False)
    assert what == BY_ERRORS
    assert 300 < at < 400


def test_what_was_found_stays_found_and_what_was_learned_before_is_forgotten():
    recogniser = Recogniser(CLASSES, "s", 1)
    for z, label in stream(200):
        recogniser.learn(recogniser.answer(z, "a", 0.4), label)
    recogniser.alarm(BY_ERRORS, 200, 1e9)
    assert recogniser.answer((3.0, 0.0), "a", 0.4).by == "federation"
    again = Recogniser.of(CLASSES, msgpack.unpackb(msgpack.packb(recogniser.table())))
    assert again.summary()["drift"]["record"] == 200
    far = [((99.0, 99.0), "") for _ in range(600)]
    assert watched(again, far, lambda z: ("a", 0.9)) == []
    assert recogniser.renewed("t", 2).drift is None


def test_a_watch_survives_a_restart_and_a_spread_of_nothing():
    watch = Watch()
    for _ in range(200):
        watch.update(3)
    again = Watch(bytes(watch.values))
    assert any(again.update(250) for _ in range(100))
    places = Places()
    for _ in range(REFERENCE):
        assert places.distance(np.zeros(2), "a") is None
    assert places.distance(np.zeros(2), "a") == 0.0
