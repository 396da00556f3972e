"""`fsir-aggregator task new`: every field of a task has its option, and what is said is taken."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from aggregator.cli import main
from fsir.contract import load_task
from fsir.task.task import Task
from tests.aggregator.commands.lines import run
from tests.wrong_tables import Mistake, lay


@pytest.fixture
def public(tmp_path: Path) -> Path:
    """A good table of three classes."""
    return lay(Mistake(), tmp_path)


def made(capsys: pytest.CaptureFixture[str], public: Path, *options: str) -> Task:
    """The task that the options make of the table."""
    file = public.with_name("t.toml")
    file.write_text(
        run(capsys, "task", "new", "--sample", str(public), "--response", "y", *options)
    )
    return load_task(file)


EVERYTHING = (
    *("--name", "every", "--epoch", "3", "--dimension", "1", "--aggregation", "exact"),
    *("--epsilon", "2", "--delta", "1e-7", "--unit-records", "2", "--trust", "local"),
    *("--records", "500", "--max-delay", "60", "--presence", "--devices", "7"),
)


@pytest.mark.parametrize("way", ["--plain", "--no-map", "--by=who"])
def test_what_is_said_is_taken(capsys: pytest.CaptureFixture[str], public: Path, way: str) -> None:
    task = made(capsys, public, way, *EVERYTHING)
    assert (task.name, task.epoch, task.dimension, task.aggregation) == ("every", 3, 1, None)
    assert (task.privacy.epsilon, task.privacy.delta) == (2.0, 1e-7)
    assert (task.privacy.unit_records, task.privacy.mechanism) == (2, "gaussian")
    assert (task.report.records, task.report.max_delay, task.report.presence) == (500, 60.0, True)
    assert (task.public is None) == (way != "--by=who")


def test_everything_has_a_default(capsys: pytest.CaptureFixture[str], public: Path) -> None:
    task = made(capsys, public, "--plain")
    assert (task.epoch, task.dimension, task.aggregation) == (1, None, None)
    assert (task.privacy.epsilon, task.privacy.delta) == (1.0, 1e-6)
    assert (task.report.deadline, task.report.max_delay) == (None, 0.0)


def test_trimmed_sums_and_a_deadline(capsys: pytest.CaptureFixture[str], public: Path) -> None:
    assert made(capsys, public, "--plain", "--aggregation", "trimmed").aggregation == "trimmed"
    until = ("--deadline", "2199-01-01T02:00:00+02:00", "--sigma-0", "0.5")
    task = made(capsys, public, "--plain", *until, "--records-per-device", "900,1200")
    assert task.report.deadline == 7226582400
    assert (task.report.records, task.report.sigma_0) == (1200, 0.5)
    mapped = made(capsys, public, *until[:2], "--records", "900")
    assert (mapped.report.deadline, mapped.report.records) == (7226582400, 900)


@pytest.mark.parametrize("way", [[], ["--plain"]])
def test_rounds_are_asked_for(
    capsys: pytest.CaptureFixture[str], public: Path, way: list[str]
) -> None:
    said = ["--rounds", "12", "--every", "3600", "--start", "2026-12-01T00:00:00Z"]
    task = made(capsys, public, "--records", "50", *said, "--memory", "decay=4", *way)
    assert task.rounds == 12
    assert task.report.every == 3600.0
    assert task.report.start == 1796083200
    assert (task.memory.memory, task.memory.span) == ("decay", 4)
    assert task.correlates_noise


def test_tolerated_noise_instead_of_records(
    capsys: pytest.CaptureFixture[str], public: Path
) -> None:
    task = made(capsys, public, "--plain", "--sigma-0", "0.2")
    assert (task.report.records, task.report.sigma_0) == (None, 0.2)


def test_mechanisms_that_are_not_proven_are_said_to_be_none(
    capsys: pytest.CaptureFixture[str], public: Path
) -> None:
    for options in (("--plain", "--mechanism", "vgm"), ("--mechanism", "none")):
        line = ["task", "new", "--sample", str(public), "--response", "y", *options]
        assert main(line) == 0
        said = capsys.readouterr()
        assert "NOT PROVEN" in said.err
        assert "# NOT PROVEN to protect anybody" in said.out
        assert tomllib.loads(said.out)["privacy"]["mechanism"] == options[-1]


def test_the_map_has_as_many_coordinates_as_asked(
    capsys: pytest.CaptureFixture[str], public: Path
) -> None:
    for way in ((), ("--by", "who")):
        task = made(capsys, public, "--coordinates", "1", *way)
        assert task.coordinates == 1
    assert "coordinates" in (public.with_name("t.toml")).read_text()


def test_screening_is_asked_for_by_its_fields(
    capsys: pytest.CaptureFixture[str], public: Path
) -> None:
    assert made(capsys, public, "--plain").screening is None
    dense = made(capsys, public, "--plain", "--screening", "dense").screening
    assert dense is not None
    assert (dense.method, dense.records, dense.select, dense.quorum) == (
        *("dense", "fresh", "per_slice"),
        10,
    )
    fields = "votes,threshold=0.2,quorum=4,records=same,keep=1,final_norm=1.5"
    votes = made(capsys, public, "--plain", "--screening", fields).screening
    assert votes is not None
    assert (votes.method, votes.threshold, votes.quorum) == ("votes", 0.2, 4)
    assert (votes.select, votes.records, votes.keep) == ("majority", "same", 1)
    assert (votes.final_norm, votes.final_norm_factor) == (1.5, None)


def test_many_features_need_not_be_screened(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "wide.csv"
    names = [f"x{j}" for j in range(70)]
    rows = [[str((k * j + k) % 17 + j % 2 * k) for j in range(70)] for k in range(30)]
    lines = [[*names, "y"], *([*row, "ab"[k % 2]] for k, row in enumerate(rows))]
    path.write_text("".join(",".join(line) + "\n" for line in lines))
    assert made(capsys, path, "--plain", "--records", "300").screening is not None
    counts = ("--records-per-device", "300,500")
    assert made(capsys, path, "--plain", *counts).report.records == 150  # two reports
    off = made(capsys, path, "--plain", "--screening", "off", *counts)
    assert off.screening is None
    assert off.report.records == 300


def test_classes_slices_and_cuts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "number.csv"
    rows = [f"{k * 37 % 101},{k * 53 % 97},{k * 7 % 13 / 2}" for k in range(60)]
    path.write_text("\n".join(["a,b,y", *rows, ""]))
    assert len(made(capsys, path, "--classes").response.classes) == 13
    assert made(capsys, path, "--slices", "3").slicing.count == 3
    assert made(capsys, path, "--cuts=0.75,4").response.cuts == (0.75, 4.0)


def test_a_guess_is_loud_and_a_proposal_says_who_can_report(
    capsys: pytest.CaptureFixture[str], public: Path
) -> None:
    for way in ((), ("--plain",)):
        for options, told in (
            ((), "A GUESS: "),
            (("--records-per-device", "120,300,450"), "300: 2 of the 3 listed devices"),
        ):
            line = ["task", "new", "--sample", str(public), "--response", "y", *way, *options]
            assert main(line) == 0
            said = capsys.readouterr()
            assert told in said.err
            assert told in " ".join(said.out.replace("#", " ").split())


def test_copies_of_rows_are_noted_in_the_file_and_beside_it(
    capsys: pytest.CaptureFixture[str], public: Path
) -> None:
    public.write_bytes(public.read_bytes() + public.read_bytes().splitlines(True)[3])
    for way in ((), ("--plain",)):
        assert main(["task", "new", "--sample", str(public), "--response", "y", *way]) == 0
        said = capsys.readouterr()
        for place in (said.err, said.out.replace("#", " ")):
            assert "1 of 25 rows repeat earlier ones exactly" in " ".join(place.split())
