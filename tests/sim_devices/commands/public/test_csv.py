"""From a file to the page, on tables that everybody has; scikit-learn computes the controls."""

from __future__ import annotations

import csv
import json
import warnings

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression

from sim_devices.cli import main
from tests.sim_devices.own.made_up import bundled, records, write

CLASSES = ("wine", "breast_cancer", "digits")
KEYS = {"controls", "curves", "gain", "notes", "page", "picture", "public", "unseen", "verdict"}


def run(capsys, *arguments):
    """The object that the command prints."""
    assert main(["csv", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def mine(path, response, by, out):
    return (path, "--response", response, "--by", by, "--fast", "--out", out)


class Table:
    """A file, read once more by other means, and split as the command says it was."""

    def __init__(self, path, found):
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        roles = dict.fromkeys(found["public"], "public")
        roles |= dict.fromkeys(found["unseen"], "unseen")
        self._roles = np.array([roles.get(row["device"], "device") for row in rows])
        self._X = np.array([[float(row[name]) for name in found["features"]] for row in rows])
        self._y = np.array([row["target"] for row in rows])

    def of(self, role):
        chosen = self._roles == role
        return self._X[chosen], self._y[chosen]


def discriminant(**options):
    return LinearDiscriminantAnalysis(**options)


@pytest.mark.long
@pytest.mark.parametrize("name", CLASSES)
def test_classes_from_the_file_to_the_page(name, tmp_path, capsys):
    path = bundled(name, tmp_path)
    found = run(capsys, *mine(path, "target", "device", tmp_path))
    assert set(found) >= KEYS
    table = Table(path, found)
    X, y = table.of("unseen")
    p = len(found["features"])
    sample = f"the public sample alone: {{}}, {p} features"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that features are collinear in so small a sample
        known = {
            sample.format("plain LDA"): discriminant().fit(*table.of("public")),
            sample.format("shrunken LDA by class"): discriminant(
                solver="lsqr", shrinkage="auto"
            ).fit(*table.of("public")),
            "always the commonest class": DummyClassifier().fit(*table.of("device")),
            "all records in one place: plain LDA (not private)": discriminant().fit(
                *table.of("device")
            ),
        }
    for control, model in known.items():
        assert found["controls"][control] == pytest.approx(model.score(X, y), abs=1e-6)
    _consistent(found)


@pytest.mark.long
def test_a_number_from_the_file_to_the_page(tmp_path, capsys):
    path = bundled("diabetes", tmp_path)
    found = run(capsys, *mine(path, "target", "device", tmp_path))
    table = Table(path, found)
    X, y = table.of("unseen")
    y = y.astype(float)
    public, answers = table.of("public")
    line = LinearRegression().fit(public, answers.astype(float))
    Z = X @ line.coef_[:, None]
    expected = LinearRegression().fit(Z, y).score(Z, y)
    measured = found["controls"]["the public sample alone: least squares"]
    assert measured == pytest.approx(expected, abs=1e-6)
    assert found["accuracy"] is None
    assert found["explained"] == found["curves"]["epsilon"][1]["score"]
    assert all(row["loss"] > 0.0 for row in found["curves"]["epsilon"])
    _consistent(found)


def _consistent(found):
    """The verdict says what the figures say, and the page has them."""
    (headline,) = [row for row in found["curves"]["epsilon"] if row["epsilon"] == 1.0]
    best = found["controls"][found["best_public"]]
    public = [score for name, score in found["controls"].items() if "public" in name]
    assert best == max([*public, found["controls"].get("always the commonest class", 0.0)])
    score = found["accuracy"] if found["accuracy"] is not None else found["explained"]
    assert headline["score"] == score
    assert found["gain"] == pytest.approx(score - best, abs=2e-6)
    assert headline["adds"] == pytest.approx(found["gain"], abs=2e-6)
    said = found["verdict"]
    assert said.startswith(f"With {headline['devices']} devices and ")
    unsure = 2.0 * found["gain_standard_error"]
    if found["gain"] > 0.01:
        assert f"adds {100 * found['gain']:.1f} points" in said
        assert ("luck" in said) == (found["gain"] <= unsure)
    else:
        assert ("does worse" in said) == (found["gain"] < -max(0.01, unsure))
    with open(found["page"], encoding="utf-8") as file:
        page = file.read()
    assert said.replace(" -> ", " → ").replace(">", "&gt;") in page
    for points in found["curves"].values():
        for row in points:
            assert f"<td>{100 * row['score']:.1f}%</td>" in page
            assert row["score"] == sorted(row["scores"])[len(row["scores"]) // 2]
    with open(found["picture"], "rb") as file:
        assert file.read(4) == b"\x89PNG"


@pytest.fixture
def table(tmp_path):
    return write(tmp_path / "people.csv", records(each=30))


FEW = ("--epsilon", "1", "--devices", "8", "--records", "30")


def test_people_read_the_verdict_first(table, tmp_path, capsys):
    assert main(["csv", *map(str, mine(table, "activity", "person", tmp_path)), *FEW]) == 0
    text = " ".join(capsys.readouterr().out.split())
    parts = [
        "gaussian, epsilon 1,",
        "With 8 devices and 30 records each, epsilon 1",
        "How does it change?",
        "What is it compared with?",
        "note: public, and no device: person-00",
        str(tmp_path / "people" / "page.html"),
    ]
    places = [text.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)


def test_the_same_seed_gives_the_same_figures(table, tmp_path, capsys):
    first = run(capsys, *mine(table, "activity", "person", tmp_path), *FEW)
    again = run(capsys, *mine(table, "activity", "person", tmp_path), *FEW)
    other = run(capsys, *mine(table, "activity", "person", tmp_path), *FEW, "--seed", "2")
    first.pop("seconds")
    again.pop("seconds")
    assert first == again
    assert other["unseen"] != first["unseen"]


def test_a_file_for_each_device(tmp_path, capsys):
    folder = tmp_path / "phones"
    folder.mkdir()
    rows = records(each=30)
    names = dict.fromkeys(row[0] for row in rows)
    paths = [
        write(folder / f"{name}.csv", [row for row in rows if row[0] == name]) for name in names
    ]
    options = ["--response", "activity", "--features", "a,b,c,d", "--fast", "--out", tmp_path]
    found = run(capsys, *paths, *options, *FEW)
    assert found["public"] == ["person-00"]
    assert found["scenario"] == "phones"
    assert found["devices"] == 8


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--by", "person", "--broker", "embedded"], "with --fast there is no broker"),
        (["--by", "activity"], "'activity' is asked for twice"),
        (["--by", "person", "--public", "anna"], "--public 'anna': there is no such device"),
        (["--by", "person", "--records", "99"], "--records 99: no device has more than 30"),
        (["--by", "a"], "most of which have a single one"),
        ([], "name the column that does"),
    ],
)
def test_mistakes_are_named(table, options, said, tmp_path, capsys):
    line = [str(table), "--response", "activity", "--fast", "--out", str(tmp_path / "out")]
    assert main(["csv", *line, *options]) == 2
    found = capsys.readouterr().err
    assert found.startswith("fsir-sim: ")
    assert said in found
    assert found.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written_is_missed_before_the_work(
    table, tmp_path, capsys, monkeypatch
):
    def work(*arguments):
        raise AssertionError("nobody can read what comes out")

    monkeypatch.setattr("sim_devices.commands.public.csv.study", work)
    (tmp_path / "file").write_text("")
    assert main(["csv", *map(str, mine(table, "activity", "person", tmp_path / "file"))]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"fsir-sim: --out {tmp_path / 'file' / 'people'}: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    "wrong",
    [
        ["--epsilon", "0"],
        ["--devices", "many"],
        ["--records", "0"],
        ["--unseen", "2"],
        ["--seed", "-1"],
    ],
)
def test_numbers_that_are_none_are_refused(table, wrong, capsys):
    with pytest.raises(SystemExit):
        main(["csv", str(table), "--response", "activity", "--by", "person", *wrong])
    assert wrong[1] in capsys.readouterr().err
