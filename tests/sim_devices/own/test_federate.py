"""The library's call gives what the command gives, whatever the response is made of."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from fsir.errors import FsirError
from fsir.estimate.projection import Projector
from sim_devices.own.federate import federate_parts
from tests.sim_devices.own.made_up import HEADER, frame, records


def table(**options):
    return pd.DataFrame(records(**options), columns=list(HEADER))


def federated(data, **options):
    return federate_parts(data, response="activity", by="person", **options)


@pytest.fixture(scope="module")
def parts():
    return federated(table())


def test_task_and_message_belong_together(parts):
    assert parts.message.task == parts.task.digest
    assert parts.message.devices == 8
    X = np.array([row[1:5] for row in records(people=2, seed=9)])
    y = np.array([row[-1] for row in records(people=2, seed=9)])
    named, _ = Projector(parts.task, parts.message).classify(X)
    assert np.mean(np.array(named) == y) > 0.6


def test_the_federation_s_score_is_about_the_unseen(parts):
    unseen = [row for row in records() if row[0] in parts.unseen]
    named, _ = Projector(parts.task, parts.message).classify([row[1:5] for row in unseen])
    (mine,) = [row for row in parts.controls.rows if row.kind == "federation"]
    assert mine.score == np.mean(np.array(named) == np.array([row[-1] for row in unseen]))


def test_controls_have_rows_a_verdict_a_frame_and_a_face(parts):
    controls = parts.controls
    kinds = [row.kind for row in controls.rows]
    assert kinds == ["public"] * 5 + ["private", "federation", "open", "open"]
    shown = controls.frame()
    assert list(shown.columns) == ["name", "score", "kind"]
    assert shown.score.tolist() == [row.score for row in controls.rows]
    text = str(controls)
    assert text.startswith(parts.verdict)
    assert "=> this federation" in text
    widths = {len(line) for line in text.splitlines()[3:]}
    assert len(widths) == 1  # aligned
    page = controls._repr_html_()
    assert page.count("<tr>") == len(controls.rows) + 1
    assert "With 8 devices and 60 records each, epsilon 1" in page


def test_a_mapping_of_columns_is_the_same(parts):
    again = federated(frame(records()))
    assert again.task.digest == parts.task.digest
    assert again.controls.rows == parts.controls.rows
    assert again.unseen == parts.unseen


@pytest.mark.parametrize(
    ("change", "classes"),
    [
        (lambda y: y.astype("category"), ("climb", "rest", "walk")),
        (lambda y: y == "walk", ("False", "True")),
        (lambda y: y.map({"rest": 0, "walk": 1, "climb": 2}), ("0", "1", "2")),
        (lambda y: y.map({"rest": 0.0, "walk": 1.0, "climb": 2.0}), ("0", "1", "2")),
    ],
)
def test_classes_may_be_anything(change, classes):
    data = table()
    data["activity"] = change(data["activity"])
    assert federated(data).task.response.classes == classes


def test_numbers_are_cut_where_the_public_sample_says():
    parts = federated(table(numeric=True), slices=4)
    assert len(parts.task.response.cuts) == 3
    assert parts.controls.measure == "R^2 on those who took no part"
    assert parts.message.classifier is None
    unseen = [row for row in records(numeric=True) if row[0] in parts.unseen]
    Z = Projector(parts.task, parts.message).project([row[1:5] for row in unseen])
    y = [row[-1] for row in unseen]
    (mine,) = [row for row in parts.controls.rows if row.kind == "federation"]
    assert mine.score == pytest.approx(LinearRegression().fit(Z, y).score(Z, y), rel=1e-9)


def test_what_is_asked_for_is_done():
    parts = federated(
        table(),
        epsilon=3.0,
        delta=1e-5,
        public=["person-04", "person-05"],
        features=["a", "b", "d"],
        records=40,
        unit_records=2,
        unseen=0.5,
        name="mine",
    )
    assert parts.public == ("person-04", "person-05")
    assert len(parts.unseen) == 5
    assert parts.task.features.names == ("a", "b", "d")
    assert parts.task.report.records == 40
    assert parts.task.privacy.epsilon == 3.0
    assert parts.task.privacy.delta == 1e-5
    assert parts.task.privacy.unit_records == 2
    assert parts.task.name == "mine"


def test_another_seed_is_another_lot():
    assert federated(table(), seed=2).unseen != federated(table(), seed=1).unseen


def test_mistakes_speak_the_language_of_the_library():
    with pytest.raises(FsirError, match="by='owner': the frame has no such column"):
        federate_parts(table(), response="activity", by="owner")
    with pytest.raises(FsirError, match="records=99: no device has more than 60"):
        federated(table(), records=99)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"epsilon": 0}, "epsilon=0: give a number above 0 and at most 1000"),
        ({"epsilon": "1"}, "epsilon='1': give a number above 0 and at most 1000"),
        ({"delta": 5}, "delta=5: give a number above 0 and at most 0.1"),
        ({"unseen": 2}, "unseen=2: give a share between 0 and 1"),
        ({"records": 0}, "records=0: give a whole number of at least 1"),
        ({"unit_records": 0}, "unit_records=0: give a whole number of at least 1"),
        ({"slices": 1}, "slices=1: give a whole number of at least 2"),
        ({"seed": -1}, "seed=-1: give a whole number of at least 0"),
    ],
)
def test_numbers_that_make_no_sense_are_refused_by_name(options, said):
    with pytest.raises(FsirError) as refused:
        federated(table(), **options)
    assert str(refused.value) == said


@pytest.mark.parametrize("thing", ["people.csv", np.zeros((3, 2)), None])
def test_what_has_no_named_columns_is_no_table(thing):
    with pytest.raises(FsirError, match="frame: a table with named columns is needed, not "):
        federated(thing)


def test_one_name_needs_no_list():
    parts = federated(table(), public="person-04", features="a")
    assert parts.public == ("person-04",)
    assert parts.task.features.names == ("a",)
