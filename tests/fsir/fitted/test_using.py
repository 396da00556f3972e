"""The code in docs/using.md runs, and gives what `Subspace` gives."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest

from fsir.fitted.subspace import Subspace
from tests.fsir.fitted.made import ALL, records
from tests.needs import need
from tests.pages import DOCS, blocks

CLASSIFIED = sorted(set(ALL) - {"numeric"})
PYTHON = blocks("using.md", "python")


def far_and_near(subspace: Subspace, n: int = 60) -> np.ndarray:
    """Records, every fifth far outside of all bounds."""
    X = records(subspace.task, n, seed=7)[0]
    X[::5] *= 30.0
    return X[:, list(subspace.task.features.indices(subspace.message.features))]


@pytest.fixture(params=CLASSIFIED)
def subspace(request, tmp_path, monkeypatch):
    """A subspace whose export lies where the page expects it."""
    monkeypatch.chdir(tmp_path)
    made = ALL[request.param]()
    made.export("activity.json")
    return made


def code(*words: str) -> dict:
    """What is defined by the blocks in which all of these words stand."""
    names: dict = {}
    for block in (block for block in PYTHON if all(word in block for word in words)):
        exec(compile(block, "docs/using.md", "exec"), names)
    return names


@pytest.mark.filterwarnings("ignore:unclosed file")  # json.load(open(...)), as people write it
def test_the_formula_with_numpy(subspace):
    names = code("import numpy as np", "def chances")
    X = far_and_near(subspace)
    assert np.allclose([names["coordinates"](x) for x in X], subspace.transform(X), rtol=1e-12)
    found = [names["chances"](x) for x in X]
    expected = subspace.predict_proba(X)
    for chances, row in zip(found, expected, strict=True):
        assert np.allclose([chances[label] for label in subspace.classes_], row, atol=1e-12)
    assert [max(row, key=row.get) for row in found] == subspace.predict(X).tolist()


def test_the_formula_in_plain_python_has_the_same_bits(subspace):
    names = code("import math")
    values = json.loads(subspace.to_json())
    X = far_and_near(subspace)
    found = [names["plain_coordinates"](values, x) for x in X.tolist()]
    assert found == subspace.transform(X).tolist()
    chances = [names["plain_chances"](values, x) for x in X.tolist()]
    check_chances(chances, subspace, X)


def check_chances(found, subspace, X):
    assert [max(row, key=row.get) for row in found] == subspace.predict(X).tolist()
    expected = subspace.predict_proba(X)
    columns = [[row[label] for label in subspace.classes_] for row in found]
    assert np.allclose(columns, expected, rtol=1e-13, atol=1e-15)


def test_the_formula_in_javascript_has_the_same_bits(subspace):
    need("node")
    X = far_and_near(subspace)
    (script,) = blocks("using.md", "javascript")
    script += """
    const e = JSON.parse(require("fs").readFileSync("activity.json"));
    const X = JSON.parse(require("fs").readFileSync(0));
    console.log(JSON.stringify(X.map(x => [coordinates(e, x), chances(e, x)])));
    """
    done = subprocess.run(
        ["node", "-e", script],
        input=json.dumps(X.tolist()),
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert [z for z, _ in found] == subspace.transform(X).tolist()
    check_chances([chances for _, chances in found], subspace, X)


def test_the_examples_run_from_top_to_bottom(tmp_path, monkeypatch):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("sklearn")
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(tmp_path)
    plain = ALL["plain"]()
    plain.export("activity.json")
    X, y = records(plain.task, 200, seed=5)
    frame = pd.DataFrame(X, columns=plain.feature_names_in_)[["x3", "x1", "x0", "x2"]]
    frame.assign(activity=y, person="ann").to_csv("public.csv", index=False)
    names: dict = {}
    for block in PYTHON[:3]:
        exec(compile(block, "docs/using.md", "exec"), names)
    assert list(names["Z"].columns) == ["direction_1", "direction_2"]
    assert names["right"] == (names["frame"]["guess"] == names["frame"]["activity"]).mean() > 0.5
    assert names["behind"].mean() > 0.5
    assert names["sure"].max() <= 1.0
    assert len(names["largest"]) == 3
    for picture in ("scatter.png", "loadings.png"):
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")
    plt.close("all")


def test_every_field_is_explained():
    fields = {name for made in ALL.values() for name in json.loads(made().to_json())}
    text = (DOCS / "using.md").read_text(encoding="utf-8")
    table = text[text.index("## The fields of an export") :]
    assert {name for name in fields if f"`{name}`" not in table} == set()
