"""What people and programs get is the same, and has every point of every curve."""

from __future__ import annotations

import re

import pytest

from sim_devices.own import told
from sim_devices.own.frames import from_frame
from sim_devices.own.setup import Roles, prepare
from sim_devices.results.story import percent
from tests.sim_devices.own.made_up import frame, records
from tests.sim_devices.own.test_study import own_of, run


@pytest.fixture(scope="module", params=[False, True], ids=["classes", "numbers"])
def found(request):
    return run(own_of(numeric=request.param))[0]


@pytest.fixture(scope="module")
def files(found, tmp_path_factory):
    return told.write(found, tmp_path_factory.mktemp("told"))


def test_the_text_begins_with_the_verdict_and_has_every_point(found, files, capsys):
    told.show(found, *files)
    text = capsys.readouterr().out
    lines = text.splitlines()
    assert max(len(line) for line in lines if str(files[0].parent) not in line) <= 100
    for _, point in found.points:
        cells = (f"{point.cell.epsilon:g}", f"{point.cell.devices}", f"{point.cell.records}")
        rows = [line.replace("=>", "").split() for line in lines]
        row = next(row for row in rows if row[:3] == list(cells))
        assert row[3] == percent(point.score)
        assert ("simulated" in " ".join(row)) == point.simulated
    said = " ".join(text.split())
    parts = [found.result.verdict.sentence, "How does it change?", "standard error"]
    parts += ["What is it compared with?", "note: public, and no device", "picture:"]
    places = [said.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)


def test_the_page_has_the_curves_the_levels_and_the_table(found, files):
    text = files[1].read_text(encoding="utf-8")
    assert text.count("<figure") == 6  # three curves, and three ways to look at the unseen
    assert "Direction 1: the largest loadings" in text
    assert text.count("<script") == 0
    for name in ("best public", "one device", "no noise", "one place"):
        assert len(re.findall(rf">{name} -?[0-9.]+%</text>", text)) == 3
    for _, point in found.points:
        assert f"<td>{percent(point.score)}</td>" in text
    assert text.count('<tr class="mine') == 3
    assert "simulated" in text
    assert "How was it set up?" in text
    assert "the median of 3 runs" in text


def test_the_picture_is_one(files):
    assert files[0].read_bytes().startswith(b"\x89PNG")


def test_programs_get_every_point(found, files):
    table = told.as_object(found, 1, *files)
    for axis, points in found.curves.items():
        rows = table["curves"][axis]
        assert [row["score"] for row in rows] == [round(point.score, 6) for point in points]
        assert [row["simulated"] for row in rows] == [point.simulated for point in points]
        for row in rows:
            assert row["adds"] == pytest.approx(row["score"] - found.without.score, abs=2e-6)
            assert (row["loss"] is None) == bool(found.own.scenario.population.classes)
    assert table["verdict"] == found.result.verdict.sentence
    assert table["controls"][table["best_public"]] == round(found.without.score, 6)
    assert table["public"] == ["person-00"]
    assert table["unseen"] == list(found.own.unseen)
    assert table["notes"] == found.notes
    assert table["standard_error"] == round(found.result.error, 6)


def test_names_from_a_table_are_text_on_the_page(tmp_path):
    rows = [[*row[:-1], f"<b>{row[-1]}"] for row in records()]
    own = prepare(from_frame(frame(rows), "activity", "person"), Roles())
    found, _ = run(own)
    _, html = told.write(found, tmp_path)
    text = html.read_text(encoding="utf-8")
    assert "<b>" not in text
    assert "&lt;b&gt;" in text
