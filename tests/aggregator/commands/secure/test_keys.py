"""`fsir-aggregator keys new`, and `task new` with what it prints."""

from __future__ import annotations

import base64
import stat
from pathlib import Path

import pytest

from aggregator.cli import main
from fsir.contract import load_task
from fsir.secure.keys import read_pair
from tests.aggregator.commands.lines import run
from tests.wrong_tables import Mistake, lay

KEYS = {
    role: f"{role}-1:{base64.b64encode(bytes([byte]) * 64).decode()}"
    for byte, role in enumerate(("leader", "helper"), 8)
}
BOTH = ("--trust", "secure", *(part for role in KEYS for part in (f"--{role}", KEYS[role])))


@pytest.fixture
def public(tmp_path: Path) -> Path:
    """A good table of three classes."""
    return lay(Mistake(), tmp_path)


def test_the_pair_is_in_a_file_and_its_public_half_on_one_line(capsys, tmp_path):
    path = tmp_path / "hospital.key"
    line = run(capsys, "keys", "new", "--name", "hospital", "--out", str(path)).strip()
    pair = read_pair(path)
    assert line == f"hospital:{pair.party.key}"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert line.split(":")[1] not in ("", path.read_text())


def test_nothing_is_overwritten_and_names_are_names(capsys, tmp_path):
    path = tmp_path / "a.key"
    run(capsys, "keys", "new", "--name", "a", "--out", str(path))
    before = path.read_bytes()
    for name, out, fault in (("a", path, "is there already"), ("a/b", tmp_path / "b", "--name")):
        assert main(["keys", "new", "--name", name, "--out", str(out)]) == 2
        assert fault in capsys.readouterr().err
    assert path.read_bytes() == before


@pytest.mark.parametrize("way", [("--plain",), ("--by=who",)])
def test_a_task_names_both_aggregators(capsys, public, way):
    words = ("task", "new", "--sample", str(public), "--response", "y", "--records", "50")
    file = public.with_name("t.toml")
    file.write_text(run(capsys, *words, *way, *BOTH, "--cohort", "6", "--groups", "4"))
    task = load_task(file)
    assert task.aggregation == "secure"
    assert (task.secure.cohort, task.secure.groups) == (6, 4)
    assert [task.secure.leader.name, task.secure.helper.name] == ["leader-1", "helper-1"]
    assert task.secure.leader.exchange_key == bytes([8]) * 32


def test_the_cohort_is_twenty_or_as_many_devices_as_are_expected(capsys, public):
    words = ("task", "new", "--sample", str(public), "--response", "y", "--plain", *BOTH)
    file = public.with_name("t.toml")
    for options, cohort in (((), 20), (("--devices", "7"), 7), (("--devices", "70"), 20)):
        file.write_text(run(capsys, *words, *options))
        assert load_task(file).secure.cohort == cohort


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (("--trust", "secure"), "--leader is missing"),
        ((*BOTH[:4],), "--helper is missing"),
        (("--leader", KEYS["leader"]), "add --trust secure"),
        (("--cohort", "5"), "add --trust secure"),
        (("--groups", "5"), "add --trust secure"),
        ((*BOTH, "--aggregation", "trimmed"), "use --groups"),
        ((*BOTH, "--cohort", "9", "--devices", "5"), "nothing would be opened"),
        ((*BOTH, "--helper", "university"), "NAME:KEY"),
        ((*BOTH, "--helper", KEYS["leader"]), "secure.helper.name"),
        ((*BOTH, "--cohort", "1"), "secure.cohort"),
        ((*BOTH, "--groups", "2"), "secure.groups"),
    ],
)
def test_what_cannot_be_is_refused_with_the_remedy(capsys, public, options, fault):
    words = ["task", "new", "--sample", str(public), "--response", "y", "--plain"]
    assert main([*words, *options]) == 2
    assert fault in capsys.readouterr().err
