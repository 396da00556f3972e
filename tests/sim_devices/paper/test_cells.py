"""Single cells: reproducible, the same alone and in company,
and better than the paper where it counts."""

from __future__ import annotations

import json

import pytest

from sim_devices.cli import main
from sim_devices.paper.cells import printed
from sim_devices.paper.high import HighReplication
from sim_devices.paper.low import Replication, Setup, low_task
from sim_devices.paper.means import run_cell
from sim_devices.paper.merged_release import clip_norm
from sim_devices.paper.screening.ways import FUNNEL, high_task
from tests.sim_devices.paper.places import high, low


def test_a_cell_has_the_same_value_alone_and_in_company():
    alone = low("III", 1.0, 500, 10)
    others = [alone, low("III", 2.0, 1000, 20), low("III", 1.0, 2500, 1)]
    together = Replication(2, 9, others, Setup()).losses()
    for mechanism in Setup().mechanisms:
        single = Replication(2, 9, [alone], Setup(mechanisms=(mechanism,))).losses()[
            alone, mechanism
        ]
        assert single == pytest.approx(together[alone, mechanism], abs=1e-9)


def test_the_default_release_spends_the_papers_total_and_no_more():
    cell = low("IV", 2.0, 1000, 10)
    task = low_task(cell, cell.epsilon)
    assert (task.privacy.epsilon, task.privacy.delta) == (4.0, 2 * 1000**-1.1)
    assert task.clip.norm == clip_norm(10)
    cells = (low("IV", epsilon, n, 1) for epsilon in (1.0, 2.0) for n in (500, 5000))
    assert len({low_task(cell, cell.epsilon).clip for cell in cells}) == 1


def test_the_reports_of_screening_share_one_budget():
    from fsir.privacy.budget import total_mu
    from fsir.privacy.plan import final_stage, first_stage

    cell = high("III", 1.0, 500, 10)
    whole = total_mu(high_task(cell, 0.5)) ** 2
    before = [
        first_stage(high_task(cell, share, p)).mu ** 2
        for (_, share), p in zip(FUNNEL, (500, 256, 48), strict=True)
    ]
    after = final_stage(high_task(cell, sum(share for _, share in FUNNEL)), (0, 1, 2)).mu ** 2
    assert sum(before) + after == pytest.approx(whole, rel=1e-6)


@pytest.mark.parametrize(
    ("model", "n", "clients"), [("I", 1000, 10), ("III", 1000, 10), ("IV", 500, 10), ("V", 500, 10)]
)
def test_the_default_release_beats_the_paper(model, n, clients):
    cell = low(model, 1.0, n, clients)
    mean = run_cell(cell, "gaussian", "tables", 10, 1)
    assert mean.loss + 3.0 * mean.standard_error < printed()[cell, "vgm"].loss


def test_high_dimension_finds_the_active_set_privately_where_devices_are_enough():
    cells = [high("V", 2.0, 500, K) for K in (1, 10)]
    run = HighReplication(0, 1, cells, ["gaussian", "funnel", "vgm", "none", "votes"])
    for name in ("gaussian", "funnel", "vgm"):
        outcome = run.outcome(cells[1], name)
        assert outcome.recall == 1.0
        assert outcome.loss < 0.4
    assert run.outcome(cells[1], "none").loss < run.outcome(cells[1], "gaussian").loss + 0.1
    assert run.outcome(cells[0], "votes").size <= 48


def test_command_prints_loss_error_and_the_papers_cell(capsys):
    line = [
        "table",
        "--model",
        "III",
        "--n",
        "500",
        "--clients",
        "10",
        "--mechanism",
        "vgm",
        "--reps",
        "3",
        "--json",
    ]
    assert main(line) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["paper"] == 1.716
    assert 0.0 < first["loss"] <= 2.0
    assert first["standard_error"] > 0.0
    assert main(line) == 0
    assert json.loads(capsys.readouterr().out) == first


def test_command_refuses_what_does_not_exist(capsys):
    assert main(["table", "--model", "I", "--mechanism", "votes", "--reps", "1"]) == 2
    assert "--setting high" in capsys.readouterr().err
    assert main(["table", "--model", "I", "--reps", "0"]) == 2
    assert "--reps" in capsys.readouterr().err
