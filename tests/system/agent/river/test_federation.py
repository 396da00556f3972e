"""FSIR in a River pipeline with a federation behind it, over a real broker."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("river", reason="NOT TESTED: the extra [river] is not installed")

from river import linear_model

from edge_agent.member import Member
from edge_agent.river import FSIR
from tests.edge_agent.aggregators import TinyAggregator
from tests.fsir.tasks import task


@pytest.mark.broker
def test_with_a_federation_behind_it(mosquitto_url, tmp_path):
    of = task(report={"records": 150})
    with (
        TinyAggregator(mosquitto_url, of) as server,
        Member(mosquitto_url, "test", "dev-1", tmp_path) as member,
    ):
        model = FSIR(member=member, raw_features=True) | linear_model.SoftmaxRegression()
        rng = random.Random(0)  # and at once: what comes before the task waits for it
        for k in range(200):
            x = {f"x{j}": rng.gauss(0, 1) for j in range(3)}
            model.predict_one(x)
            model.learn_one(x, "abc"[k % 3])
        server.wait(lambda: bool(model["FSIR"].transform_one(x)))
        assert model["FSIR"].transform_one(x) == {"fsir_0": pytest.approx(x["x0"])}
        assert len(server.reports("dev-1")["final"]) == 1
