"""`fsir-aggregator roster`."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from aggregator.store.sqlite import SqliteStore
from tests.aggregator.commands.lines import fails, run, run_json
from tests.golden.files import copy_store

TEST = ("--task", "test")


def test_who_is_missing_is_told_by_name(
    capsys: pytest.CaptureFixture[str], store: str, tmp_path: Path
) -> None:
    """d0 to d3 have reported, d4 was withdrawn, d5 and d6 nobody has heard of."""
    file = tmp_path / "names"
    file.write_text("# ours\n" + "".join(f"d{i}\n" for i in (6, 5, 4, 3, 0)) + "d0\n")
    text = run(capsys, "roster", "import", str(file), "--store", store, *TEST)
    assert "task test: 5 on the roster; 5 new, 0 were on it before" in text
    assert "d0 is there 2 times, on lines 6, 7" in text
    again = run_json(capsys, "roster", "import", str(file), "--store", store, *TEST)
    assert (again["roster"], again["new"]) == (5, 0)
    missing = run_json(capsys, "roster", "list", "--missing", "--store", store, *TEST)
    assert missing["devices"] == [
        {"device": "d5", "state": "silent"},
        {"device": "d6", "state": "silent"},
    ]
    text = run(capsys, "roster", "list", "--store", store, *TEST)
    assert "d3      reported" in text
    assert "d4      withdrawn" in text
    assert "5 of 5 on the roster" in text
    for option, names in (("--reported", ["d0", "d3"]), ("--withdrawn", ["d4"])):
        found = run_json(capsys, "roster", "list", option, "--store", store, *TEST)
        assert [entry["device"] for entry in found["devices"]] == names
    status = run(capsys, "status", "--store", store, *TEST)
    assert "final reports: 2 of 4 on the roster, 2 not on it" in status
    assert "not yet: 2 silent (d5, d6)" in status
    assert "waits for the reports of 2 more device(s)" in status


def test_names_come_from_standard_input_or_an_authority_too(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    store: str,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("\ufeffd7\n"))
    run(capsys, "roster", "import", "-", "--store", store, *TEST)
    book = "V\t491231235959Z\t\t01\tunknown\t/CN=d8\nR\t491231235959Z\t1\t02\tunknown\t/CN=d9\n"
    (tmp_path / "pki").mkdir()
    (tmp_path / "pki" / "index.txt").write_text(book)
    text = run(capsys, "roster", "import", str(tmp_path / "pki"), "--store", store, *TEST)
    assert "2 on the roster; 1 new" in text
    assert "left out, revoked or expired: d9" in text


def test_a_mistake_changes_nothing_and_names_file_and_line(
    capsys: pytest.CaptureFixture[str], store: str, tmp_path: Path
) -> None:
    file = tmp_path / "names"
    file.write_text("d1\nd 2\n")
    told = fails(capsys, "roster", "import", str(file), "--store", store, *TEST)
    assert f"{file}: line 2: 'd 2': not the name of a device" in told
    file.write_text("# nobody yet\n\n")
    told = fails(capsys, "roster", "import", str(file), "--store", store, *TEST)
    assert f"{file}: there is no name of a device in it" in told
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for path in (tmp_path / "binary", tmp_path / "none"):
        told = fails(capsys, "roster", "import", str(path), "--store", store, *TEST)
        assert "one name on each line" in told
    assert "no roster yet" in run(capsys, "roster", "list", "--store", store, *TEST)
    assert "(--task); the store holds: test, screened" in fails(
        capsys, "roster", "list", "--store", store
    )


def test_names_are_taken_off_again(
    capsys: pytest.CaptureFixture[str], store: str, tmp_path: Path
) -> None:
    file = tmp_path / "names"
    file.write_text("pi-1\npi-2\npi-3\n")
    run(capsys, "roster", "import", str(file), "--store", store, *TEST)
    remove = ["roster", "remove", "--store", store, *TEST]
    assert "did you mean 'pi-3'" in fails(capsys, *remove, "pi-33", "pi-1")
    assert "2 on the roster; 1 taken off" in run(capsys, *remove, "pi-2")
    assert "or --all" in fails(capsys, *remove)
    assert run_json(capsys, *remove, "--all")["removed"] == 2
    # Nothing else has changed.
    (test,) = run_json(capsys, "status", "--store", store, *TEST)["tasks"]
    assert test["progress"]["counted"] == 4
    assert test["progress"]["expected"] is None


def test_a_store_of_version_0_1_is_brought_up_to_date_for_a_roster(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = copy_store(tmp_path / "old.db")
    file = tmp_path / "names"
    file.write_text("dev-1\ndev-99\n")
    address = f"sqlite:{path}"
    run(capsys, "roster", "import", str(file), "--store", address, "--task", "plain")
    found = run_json(capsys, "roster", "list", "--missing", "--store", address, "--task", "plain")
    assert [entry["device"] for entry in found["devices"]] == ["dev-99"]
    SqliteStore(path).close()
