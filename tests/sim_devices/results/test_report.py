"""What a person reads at the end of a run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fsir.estimate.subspace import projection_loss
from sim_devices.network.federation import Outcome
from sim_devices.results.report import bars, show, write_pictures
from sim_devices.results.result import Result, evaluate
from sim_devices.scenarios import scenarios
from sim_devices.scenarios.controls import Ahead
from sim_devices.scenarios.evaluation import judged, without_network
from sim_devices.scenarios.scenarios import Scenario
from sim_devices.scenarios.tasks import Setting, build
from tests.sim_devices.few_people import unequal_people


def result_of(scenario: Scenario, setting: Setting) -> Result:
    """As it would come over the network."""
    task = build(scenario.population, scenario.geometry, setting)
    devices = len(scenario.population.devices)
    outcome = Outcome(
        task=task,
        subspace=without_network(task, scenario.population.devices, 1),
        devices=devices,
        stopped=0,
        bytes_per_device=321.0,
        retries=0,
        cuts=0,
        crashes=0,
        seconds=1.0,
        broker="none",
    )
    return evaluate(outcome, scenario, Ahead(scenario), seed=1)


@pytest.fixture(scope="module")
def people():
    return result_of(unequal_people(), Setting(epsilon=4.0))


@pytest.fixture(scope="module")
def numbers():
    return result_of(scenarios.model("III", 6, 300, 5, seed=1), Setting(epsilon=4.0, dimension=2))


def text_of(result, tmp_path, capsys):
    png, html = write_pictures([result], tmp_path, "a title")
    show([result], [], png, html)
    return capsys.readouterr().out


def test_people_read_the_verdict_first_and_then_how_sure_and_what_it_cost(people, tmp_path, capsys):
    text = text_of(people, tmp_path, capsys)
    lines = text.splitlines()
    assert max(len(line) for line in lines if str(tmp_path) not in line) <= 100
    text = " ".join(text.split())  # however the lines are broken
    parts = [
        "The federation adds",
        "What came out",
        "accuracy",
        "How sure is that?",
        "right, said before anybody was tested; it was",
        "confidence",
        "is what blindly drawn directions have",
        "What did it cost?",
        "epsilon 4.000 spent",
        "raise the odds of a guess about one record by a factor of at most",
        "321 bytes, once",
        "What is it compared with?",
        "control: the volunteer alone: plain LDA",
        "=> this federation",
        "control: all records in one place: plain LDA (not private)",
        "note: shorter streams are filled up with unlabelled windows",
        "picture:",
    ]
    places = [text.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)


def test_without_noise_nothing_is_promised(tmp_path, capsys):
    result = result_of(unequal_people(), Setting(epsilon=4.0, mechanism="none"))
    text = text_of(result, tmp_path, capsys)
    assert "none (not private), no noise" in text
    assert "NOT PROVEN" in text
    assert "raise the odds" not in text


def test_of_several_mechanisms_the_page_is_about_the_one_with_controls(people, tmp_path):
    other = replace(people, verdict=None, beside=type(people.beside)())
    _, html = write_pictures([other, people], tmp_path, "a title")
    page = html.read_text(encoding="utf-8")
    assert page.count("<figure") == 2
    assert "The federation adds" in page
    assert "Direction 1: the largest loadings" in page


def test_a_number_is_judged_by_the_truth(numbers, tmp_path, capsys):
    text = text_of(numbers, tmp_path, capsys)
    for part in ("R^2", "true error", "one device alone", "error 0.", "nearer to the truth"):
        assert part in text
    assert numbers.loss == projection_loss(numbers.outcome.subspace.basis, numbers.scenario.truth)


def test_three_panels_stand_side_by_side(people):
    panels = people.panels()
    names = [panel.title.partition(":")[0].partition(",")[0] for panel in panels]
    assert names == ["the volunteer alone", "the federation", "the same devices without noise"]
    assert [panel.marked for panel in panels] == [False, True, False]
    for other in (panels[0], panels[2]):
        assert np.corrcoef(other.Z[:, 0], panels[1].Z[:, 0])[0, 1] > 0.0


def test_without_noise_or_controls_one_panel_is_enough(people):
    assert len(replace(people, beside=type(people.beside)()).panels()) == 1


def test_the_yardstick_is_the_loss_of_random_directions(people):
    rng = np.random.default_rng(0)
    p = len(people.outcome.subspace.features)
    d = people.outcome.subspace.dimension
    losses = [
        projection_loss(rng.normal(size=(p, d)), rng.normal(size=(p, d))) for _ in range(2000)
    ]
    assert np.sqrt(np.mean(np.square(losses))) == pytest.approx(people.yardstick, rel=0.02)


def test_programs_get_the_same(people):
    table = people.table(seed=1)
    unseen = people.scenario.population.unseen
    known = judged(people.outcome.task, people.outcome.subspace, unseen)
    assert table["accuracy"] == pytest.approx(known.accuracy, abs=1e-6)
    assert table["mean_confidence"] == pytest.approx(known.confidence, abs=1e-6)
    assert table["expected_accuracy"] == people.outcome.subspace.expected_accuracy
    best = table["controls"][table["best_public"]]
    assert table["gain"] == pytest.approx(table["accuracy"] - best, abs=2e-6)
    assert table["verdict"].startswith("The federation adds")


def test_the_federation_stands_between_what_is_private_and_what_is_not(people):
    kinds = [bar.kind for bar in bars(people)]
    assert kinds == ["public"] * 4 + ["private", "federation", "open", "open"]
