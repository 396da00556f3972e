"""The command fsir-sim, as a user calls it."""

from __future__ import annotations

import json
import subprocess
import sys

from sim_devices.cli import main

KEYS = {"accuracy", "devices", "reports_counted", "epsilon", "delta", "bytes_per_device"}


def last_line(capsys) -> dict[str, object]:
    table: dict[str, object] = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    return table


def test_model_prints_one_object_and_draws(tmp_path, capsys):
    arguments = [
        "model",
        "--model",
        "I",
        "--devices",
        "4",
        "--records",
        "300",
        "--epsilon",
        "4",
        "--broker",
        "embedded",
    ]
    assert main([*arguments, "--json", "--out", str(tmp_path)]) == 0
    table = last_line(capsys)
    assert set(table) >= KEYS
    assert table["devices"] == table["reports_counted"] == 4
    assert (tmp_path / "model-I" / "picture.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "model-I" / "page.html").read_text()
    assert "<svg" in page
    assert "http" not in page.replace("http-equiv", "")


def test_demo_tells_people_what_happened(tmp_path, capsys):
    arguments = [
        "demo",
        "--devices",
        "5",
        "--windows",
        "120",
        "--epsilon",
        "8",
        "--broker",
        "embedded",
    ]
    assert main([*arguments, "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    for part in (
        "The federation adds",
        "accuracy",
        "epsilon 8.000 spent",
        "control: the volunteer alone",
        "=> this federation",
        "control: the same devices without noise",
        "picture:",
        "note:",
    ):
        assert part in text
    page = (tmp_path / "synthetic-har" / "page.html").read_text()
    assert page.count("<figure") == 3
    assert "walking upstairs" in page


def test_one_report_is_enough_where_the_volunteer_chooses(tmp_path, capsys):
    people = [
        "synthetic-har",
        "--devices",
        "5",
        "--windows",
        "120",
        "--epsilon",
        "8",
        "--broker",
        "embedded",
        "--json",
    ]
    tables = []
    for choose in ("0", "4"):
        assert main([*people, "--choose", choose, "--out", str(tmp_path)]) == 0
        tables.append(last_line(capsys))
    assert [table["reports_counted"] for table in tables] == [5, 5]
    assert len(tables[1]["features"]) == 4
    assert tables[1]["bytes_per_device"] < tables[0]["bytes_per_device"] / 5


def test_the_help_loads_nothing_heavy():
    code = "import sys; from sim_devices.cli import main; main(['--help'])"
    check = "assert not {'numpy', 'scipy', 'paho', 'matplotlib'} & set(sys.modules)"
    script = f"try:\n    {code}\nexcept SystemExit:\n    {check}"
    subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.DEVNULL)
