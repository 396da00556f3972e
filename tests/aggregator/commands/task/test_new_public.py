"""`fsir-aggregator task new`: a task with a public map, and what people read while it is made."""

from __future__ import annotations

import csv
import sys
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest

from aggregator.cli import main
from fsir.contract import load_task
from tests.aggregator.commands.lines import fails, run, run_json

HEADER = ("who", "t", "t_again", "fahrenheit", "still", "word", "gaps", "sound", "light", "y")


def write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return path


def messy_rows(count: int = 90) -> list[list[object]]:
    """Records of six people with everything that can be wrong with a column."""
    rng = np.random.default_rng(3)
    rows: list[list[object]] = []
    for i in range(count):
        shift = 2.0 * (i % 3)
        t = round(rng.normal() + shift, 4)
        word = "12" if i < 4 else "warm"
        gap: object = "" if i % 10 == 0 else i
        sound: object = "NA" if i == 7 else round(rng.normal() - shift, 4)
        light = round(rng.normal(), 4)
        y = ("lie", "sit", "walk")[i % 3] if i != 11 else ""
        rows.append([i // 3 % 6, t, t, 32 + 1.8 * t, 5, word, gap, sound, light, y])
    return rows


@pytest.fixture
def messy(tmp_path: Path) -> Path:
    return write(tmp_path / "messy.csv", HEADER, messy_rows())


def new(path: Path, *more: str) -> list[str]:
    return ["task", "new", "--sample", str(path), "--response", "y", *more]


def words(text: str) -> str:
    return " ".join(text.replace("#", " ").split())


def test_the_file_is_readable_for_people_and_programs(
    capsys: pytest.CaptureFixture[str], messy: Path
) -> None:
    output = messy.with_name("t.toml")
    assert main(new(messy, "--by", "who", "--output", str(output))) == 0
    said = words(capsys.readouterr().err)
    text = output.read_text()
    task = load_task(output)
    assert task.features.names == ("t", "sound", "light")
    assert task.public is not None
    assert task.screening is None
    assert task.public.records == 88
    assert task.report.records == 300
    assert max(map(len, text.splitlines())) <= 100
    end = text.index('map = """')
    assert end < text.index('centres = """')
    assert all("\n" + field not in text[end:] for field in ("[", "shares", "records", "accuracy"))
    for place in (said, words(text)):
        assert "column t_again left out: an exact copy of t, up to its unit" in place
        assert "exact copies make directions meaningless" in place
        assert "column fahrenheit left out: an exact copy of t" in place
        assert "column still left out: constant: always 5" in place
        assert "column word left out: not numbers: 'warm' on line 6" in place
        assert "column gaps left out: missing in 9 of 89 rows" in place
        assert "1 rows left out: no response" in place
        assert "1 rows left out: a value is missing" in place
        assert "set it to what every device will have" in place
        assert "played by people of the sample" in place
    assert "who" not in task.features.names
    assert "weighted sum of all features" in words(text)
    assert "mapped to" in said


def test_what_is_chosen_follows_what_is_expected(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(70)]
    rows = [
        [*(rng.normal(size=70) + (i % 3) * (np.arange(70) < 3)).round(3), "abc"[i % 3]]
        for i in range(120)
    ]
    path = write(tmp_path / "wide.csv", [*names, "y"], rows)
    sizes = {}
    for devices in ("2", "2000"):
        file = tmp_path / f"{devices}.toml"
        file.write_text(run(capsys, *new(path, "--devices", devices, "--records", "100")))
        task = load_task(file)
        assert task.screening is None
        assert task.p == 70
        assert task.report.records == 100
        sizes[devices] = task.coordinates
    assert sizes["2"] < sizes["2000"]
    kept = tomllib.loads(run(capsys, *new(path, "--keep", "3")))
    assert kept["features"]["names"] == ["x0", "x1", "x2"]
    assert kept["public"]["coordinates"] <= 3


def test_a_number_is_cut_and_its_task_forecast(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4)).round(4)
    rows = [[*row, round(row[0] + 0.1 * rng.normal(), 4)] for row in X]
    path = write(tmp_path / "number.csv", ["a", "b", "c", "d", "y"], rows)
    file = tmp_path / "t.toml"
    file.write_text(run(capsys, *new(path, "--slices", "5")))
    answer = run_json(capsys, "task", "check", str(file), "--devices", "10,1000")
    assert answer["random_loss"] == pytest.approx((2 * (1 - 1 / 4)) ** 0.5)
    without = answer["without_reports"]
    assert without["expected_accuracy"] is None
    assert answer["expected_error"]["1000"] < answer["expected_error"]["10"] < without["loss"]
    assert answer["forecast"]["10"]["loss"] == answer["expected_error"]["10"]


def test_check_says_what_the_sample_lets_expect(
    capsys: pytest.CaptureFixture[str], messy: Path
) -> None:
    file = messy.with_name("t.toml")
    file.write_text(run(capsys, *new(messy, "--by", "who")))
    said = words(run(capsys, "task", "check", str(file), "--devices", "20"))
    assert "the mean of the rarest slice, 'sit', 33.0% of the 300 records" in said
    assert "no reports:" in said
    assert "20 devices:" in said
    assert "the classifier right in" in said
    assert "drawn by lot" in said


def test_progress_is_for_people_who_watch(
    capsys: pytest.CaptureFixture[str], messy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(new(messy, "--by", "who")) == 0
    assert "rehearsing" not in capsys.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(new(messy, "--by", "who")) == 0
    said = capsys.readouterr().err
    assert "\rrehearsing the federation on the sample: 1 of " in said
    assert said.index("rehearsing") < said.index("coordinates")


def test_errors_name_the_value_and_the_remedy(
    capsys: pytest.CaptureFixture[str], messy: Path
) -> None:
    assert "--keep 4: the sample has only 3 usable features" in fails(
        capsys, *new(messy, "--by", "who", "--keep", "4")
    )
    assert "--by 'whom': the sample has no such column" in fails(
        capsys, *new(messy, "--by", "whom")
    )
    assert "--devices 0: give a whole number of at least 1" in fails(
        capsys, *new(messy, "--devices", "0")
    )
    asked = fails(capsys, *new(messy, "--features", "t,word"))
    assert "--features 'word': not every value is a finite number" in asked
    assert "'warm' on line 6" in asked


def test_samples_that_cannot_do_are_refused_with_the_reason(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "bad.csv"
    rows = messy_rows()
    write(path, [*HEADER[:2], "t", *HEADER[3:]], rows)
    assert "the header has 't' more than once; give every column a name" in fails(
        capsys, *new(path)
    )
    write(path, HEADER, [*rows, [*rows[0][:-1], "fly"]])
    lonely = fails(capsys, *new(path, "--by", "who", "--features", "t,light"))
    assert "class 'fly' has 1 public record, and a public centre takes 2 at least" in lonely
    assert "--plain" in lonely
    write(path, ["still", "word", "y"], [[1, "warm", "ab"[i % 2]] for i in range(20)])
    gone = fails(capsys, *new(path))
    assert "no usable column of numbers" in gone
    assert "column still left out: constant: always 1" in gone
    assert "column word left out: not numbers: 'warm' on line 2" in gone
    write(path, ["who", "x", "y"], [["" if i == 5 else i, i, "ab"[i % 2]] for i in range(20)])
    assert "line 7 does not say who it is of" in fails(capsys, *new(path, "--by", "who"))
    write(path, ["x", "y"], [[i % 7, i + 0.5] for i in range(20)])
    narrow = fails(capsys, *new(path, "--slices", "15"))
    assert "has 1 public record" in narrow
    assert "lower --slices, or give a larger sample" in narrow
