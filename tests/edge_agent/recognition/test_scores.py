"""How often the device was right about its owner."""

from __future__ import annotations

import msgpack
import numpy as np

from edge_agent.recognition.scores import RECENT, Scores
from tests.edge_agent.recognition.people import CLASSES


def test_scores_are_those_of_a_plain_count():
    rng = np.random.default_rng(0)
    truth, said, device, federation = (rng.choice(list(CLASSES), 700).tolist() for _ in range(4))
    scores = Scores()
    for row in zip(truth, said, device, federation, strict=True):
        scores.add(*row)
    summary = Scores.of(msgpack.unpackb(msgpack.packb(scores.table()))).summary()
    assert summary["labelled"] == 700
    assert summary["recent"]["labelled"] == RECENT
    for who, answers in (("said", said), ("device", device), ("federation", federation)):
        hits = [a == b for a, b in zip(answers, truth, strict=True)]
        assert summary["accuracy"][who] == round(sum(hits) / 700, 4)
        assert summary["recent"]["accuracy"][who] == round(sum(hits[-RECENT:]) / RECENT, 4)


def test_the_majority_is_that_of_the_past():
    scores = Scores()
    for label in "aabbb":
        scores.add(label, None, None, None)
    assert scores.right["majority"] == 1  # a, then a; b is never the commonest before it comes
    # There was none, which is not the same as always wrong.
    assert scores.summary()["accuracy"]["federation"] is None
    assert Scores().summary()["accuracy"]["said"] is None
