"""Recognition on the device: who speaks, what survives a restart, and when it warns."""

from __future__ import annotations

import msgpack

from edge_agent.recognition.naive import PAIRS, REFRESH
from edge_agent.recognition.recogniser import BY_DISTANCE, BY_ERRORS, ENOUGH, Recogniser
from edge_agent.recognition.scores import DEVICE, FEDERATION
from tests.edge_agent.recognition.people import CENTRES, CLASSES, nearest, stream

# --- who speaks -----------------------------------------------------------------------------------


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
    """Classes that change places are learned anew: only the newest records of each are kept."""
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


# --- restarts and versions ------------------------------------------------------------------------


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


# --- drift ----------------------------------------------------------------------------------------


def watched(recogniser: Recogniser, records, answer_of) -> list[tuple[int, str]]:
    """Alarms by number of the record, with labels where `answer_of` gives one."""
    alarms = []
    for k, (z, label) in enumerate(records):
        answer = recogniser.answer(z, *answer_of(z))
        heard = (recogniser.watch(answer), recogniser.learn(answer, label) if label else None)
        alarms += [(k, what) for what in heard if what is not None]
    return alarms


def test_a_stream_that_does_not_change_is_quiet():
    assert watched(Recogniser(CLASSES), stream(5000), lambda z: (nearest(z), 0.9)) == []


def test_records_that_move_away_are_noticed_without_a_label():
    still = [(z, "") for z, _ in stream(900)]
    moved = [(z, "") for z, _ in stream(900, seed=2, shift=3.0)]
    alarms = watched(Recogniser(CLASSES), still + moved, lambda z: (nearest(z), 0.9))
    assert alarms[0][1] == BY_DISTANCE
    assert 900 < alarms[0][0] < 1200


def test_errors_are_noticed_when_they_rise_and_not_when_they_fall():
    def run(first_wrong: bool) -> list[tuple[int, str]]:
        recogniser = Recogniser(CLASSES)
        alarms = []
        for k, (z, label) in enumerate(stream(600)):
            wrong = (k < 300) == first_wrong
            answer = recogniser.answer(z, "none" if wrong else label, 0.5)
            if (what := recogniser.learn(answer, label)) is not None:
                alarms.append((k, what))
        return alarms

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
