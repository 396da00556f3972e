"""The command line: what people and programs read, and errors that say what to do."""

from __future__ import annotations

import csv
import io
import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest
import tomli_w

from aggregator.cli import main
from aggregator.core import Aggregator
from aggregator.store.sqlite import SqliteStore
from fsir.contract import load_task
from tests.aggregator.daemons import Devices, wait_for
from tests.aggregator.federations import make_task, report, screening_task, topic

TASK = make_task(p=3, records=60)
OTHER = screening_task(quorum=2)


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A store with a finished task and one that screens, some refusals and a withdrawal."""
    made = Aggregator(SqliteStore(tmp_path / "s.db"), [TASK, OTHER])
    made.start(1.7e9)
    for i in range(5):
        made.take(topic(TASK, f"d{i}"), report(TASK, f"d{i}", i))
    for i in range(3):
        made.take(topic(OTHER, f"e{i}"), report(OTHER, f"e{i}", i))
    made.take(topic(TASK, "d9"), b"garbage")
    made.commit(1.7e9)
    made.withdraw("d4", 1.7e9)
    made.estimate(1.7e9)
    made.store.close()
    return f"sqlite:{tmp_path / 's.db'}"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def fails(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 2
    return capsys.readouterr().err


def test_status(capsys: pytest.CaptureFixture[str], store: str) -> None:
    text = run(capsys, "status", "--store", store, "--recount")
    assert "task test, epoch 1" in text
    assert "final: 4 devices, 240 records; the stored reports add up to it" in text
    assert "active set: 3 features (x0, x1, x2)" in text
    assert "refused: malformed 1; withdrawn: 1" in text
    assert "subspace: none yet" in text  # of the other task
    (plain, screened) = json.loads(run(capsys, "status", "--store", store, "--json"))["tasks"]
    assert plain["subspace"]["devices"] == 4
    assert len(plain["subspace"]["singular_values"]) == 2
    assert screened["stages"]["screening"] == {"devices": 3, "records": 600}
    assert screened["active"] == ["x0", "x1", "x2"]
    only = json.loads(run(capsys, "status", "--store", store, "--task", "test", "--json"))["tasks"]
    assert [entry["task"] for entry in only] == ["test"]


def test_refused(capsys: pytest.CaptureFixture[str], store: str) -> None:
    text = run(capsys, "refused", "--store", store)
    assert "d9" in text
    assert "1 x malformed: the bytes are not a report of this protocol" in text
    found = json.loads(run(capsys, "refused", "--store", store, "--json"))
    assert found["counts"] == {"malformed": 1}
    assert (found["newest"][0]["device"], found["newest"][0]["bytes"]) == ("d9", 7)
    assert (
        json.loads(run(capsys, "refused", "--store", store, "--limit", "0", "--json"))["newest"]
        == []
    )


def test_devices(capsys: pytest.CaptureFixture[str], store: str) -> None:
    text = run(capsys, "devices", "--store", store)
    assert "8 devices, 8 reports" in text
    assert text.count("withdrawn") == 1
    found = json.loads(run(capsys, "devices", "--store", store, "--json"))["reports"]
    assert {r["device"] for r in found if r["withdrawn"]} == {"d4"}


def test_withdraw(capsys: pytest.CaptureFixture[str], store: str) -> None:
    text = run(capsys, "withdraw", "d1", "--store", store)
    assert "task test: 'd1' 1 report(s) taken out" in text
    assert "task screened: 'd1' had no report here" in text
    found = json.loads(run(capsys, "withdraw", "d1", "--store", store, "--json"))
    assert found["withdrawn_reports"] == {"test": 0, "screened": 0}
    assert found["scrubbed"]
    (plain, _) = json.loads(run(capsys, "status", "--store", store, "--recount", "--json"))["tasks"]
    assert plain["stages"]["final"] == {"devices": 3, "records": 180, "recount": True}


def test_subspace_in_three_formats(
    capsys: pytest.CaptureFixture[str], store: str, tmp_path: Path
) -> None:
    asked = ["subspace", "--store", store, "--task", "test"]
    for kind in ("json", "csv", "npz"):
        run(capsys, *asked, "--format", kind, "--output", str(tmp_path / kind))
    plain = json.loads((tmp_path / "json").read_text())
    table = list(csv.reader(io.StringIO((tmp_path / "csv").read_text())))
    arrays = np.load(tmp_path / "npz")
    basis = np.array(plain["basis"])
    assert table[0][:4] == ["feature", "centre", "scale", "direction_1"]
    assert [row[0] for row in table[1:]] == plain["features"] == arrays["features"].tolist()
    assert np.array_equal(
        basis, np.array([[float(v) for v in row[3:]] for row in table[1:]])
    )  # to the last bit
    assert np.array_equal(basis, arrays["basis"])
    assert plain["classes"] == ["c0", "c1", "c2"]
    assert arrays["weights"].shape == (3, basis.shape[1])


def test_errors_name_the_value_and_the_remedy(
    capsys: pytest.CaptureFixture[str], store: str, tmp_path: Path
) -> None:
    assert "no such file" in fails(capsys, "status", "--store", f"sqlite:{tmp_path / 'none.db'}")
    assert "sqlite:PATH" in fails(capsys, "status", "--store", "none.db")
    assert "it holds: test, screened" in fails(capsys, "status", "--store", store, "--task", "tset")
    assert "say which one" in fails(capsys, "subspace", "--store", store)
    assert "there is no subspace yet" in fails(
        capsys, "subspace", "--store", store, "--task", "screened"
    )
    serve = ["serve", "--store", store, "--broker"]
    assert "does not exist" in fails(capsys, *serve, "mqtt://localhost", "--task", "none.toml")
    file = tmp_path / "t.toml"
    file.write_text(tomli_w.dumps(TASK.table()))
    assert "mqtt://HOST" in fails(capsys, *serve, "localhost:1883", "--task", str(file))
    changed = tmp_path / "changed.toml"
    changed.write_text(tomli_w.dumps(make_task(p=3, records=61).table()))
    assert "give it epoch 2" in fails(capsys, *serve, "mqtt://localhost", "--task", str(changed))


@pytest.mark.parametrize(
    "command", ["serve", "status", "subspace", "refused", "devices", "withdraw", "task"]
)
def test_every_command_explains_itself(capsys: pytest.CaptureFixture[str], command: str) -> None:
    with pytest.raises(SystemExit) as done:
        main([command, "--help"])
    assert done.value.code == 0
    assert len(capsys.readouterr().out) > 200


@pytest.mark.broker
def test_serve_as_people_start_it(mosquitto_url: str, tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(tomli_w.dumps(TASK.table()))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        page = f"127.0.0.1:{probe.getsockname()[1]}"
    command = [
        sys.executable,
        "-m",
        "aggregator",
        "serve",
        "--task",
        str(tmp_path / "t.toml"),
        "--log",
        "json",
    ]
    command += ["--broker", mosquitto_url, "--store", f"sqlite:{tmp_path / 's.db'}", "--http", page]
    devices, sent = (
        Devices(mosquitto_url, TASK),
        {f"d{i}": report(TASK, f"d{i}", i) for i in range(5)},
    )
    process = subprocess.Popen(command, stderr=subprocess.PIPE, cwd=Path(__file__).parents[2])
    try:
        wait_for(lambda: "task" in devices.retained, "the daemon")
        devices.send(sent)
        devices.wait(sent)
        with urllib.request.urlopen(f"http://{page}/healthz", timeout=10) as answer:
            assert json.load(answer)["ok"] is True
        with urllib.request.urlopen(f"http://{page}/metrics", timeout=10) as answer:
            assert b'fsir_reports_total{task="test",verdict="counted"} 5.0' in answer.read()
        time.sleep(0.1)
    finally:
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=60)
        devices.close()
    assert process.returncode == 0
    lines = [json.loads(line) for line in log.decode().splitlines()]
    assert any("connected with MQTT 5" in line["message"] for line in lines)


# --- task files -------------------------------------------------------------------------------------------------------


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A public sample: five measured columns, one word, one number to explain."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5)) * [1, 2, 3, 4, 0.0] + [0, 10, 20, 30, 7]
    path = tmp_path / "public sample.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "c", "d", "same", "label", "number", "level"])
        for i, row in enumerate(X):
            writer.writerow(
                [*row.round(4), "walk" if row[0] > 0 else "sit", round(row[1] + row[2], 3), i % 3]
            )
    return path


def test_a_new_task_from_a_sample_with_classes(
    capsys: pytest.CaptureFixture[str], sample: Path
) -> None:
    output = sample.with_name("t.toml")
    run(capsys, "task", "new", "--sample", str(sample), "--response", "label", "--features", "a,b,c,d,same",
        "--output", str(output))  # fmt: skip
    task = load_task(output)
    assert (task.name, task.response.classes, task.features.names) == (
        "public-sample", ("sit", "walk"), ("a", "b", "c", "d", "same"),
    )  # fmt: skip
    assert task.features.centre[1:4] == pytest.approx((10, 20, 30), abs=1)
    assert task.features.scale[:4] == pytest.approx((1, 2, 3, 4), rel=0.15)
    assert task.features.scale[4] == 1.0  # constant in the sample
    assert "constant in the sample, so their scale is a guess: same" in output.read_text()
    assert output.read_text().count("#") > 10
    assert "The task is valid." in run(capsys, "task", "check", str(output))


@pytest.mark.parametrize(("response", "slices"), [("number", 8), ("level", 3)])
def test_numbers_are_cut_at_quantiles_and_few_whole_ones_are_classes(
    capsys: pytest.CaptureFixture[str], sample: Path, response: str, slices: int
) -> None:
    text = run(
        capsys,
        "task",
        "new",
        "--sample",
        str(sample),
        "--response",
        response,
        "--features",
        "a,b,c",
    )
    sample.with_name("t.toml").write_text(text)
    task = load_task(sample.with_name("t.toml"))
    assert task.slicing.count == slices
    assert bool(task.response.classes) == (response == "level")


def test_many_features_get_a_screening_stage(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    with (tmp_path / "wide.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"x{j}" for j in range(100)), "y"])
        writer.writerows([[*rng.normal(size=100).round(3), "ab"[i % 2]] for i in range(50)])
    wide = ["task", "new", "--sample", str(tmp_path / "wide.csv"), "--response", "y"]
    (tmp_path / "t.toml").write_text(run(capsys, *wide))
    task = load_task(tmp_path / "t.toml")
    assert task.screening is not None
    found = json.loads(
        run(capsys, "task", "check", str(tmp_path / "t.toml"), "--devices", "20", "--json")
    )
    assert [stage["stage"] for stage in found["stages"]] == ["screening", "final"]
    assert list(found["expected_error"]) == ["20"]


def test_the_sample_may_choose_the_features_and_needs_a_response(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    with (tmp_path / "wide.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"x{j}" for j in range(100)), "y"])
        for i in range(60):
            row = rng.normal(size=100) + 9.0 * (i % 2) * np.isin(np.arange(100), (17, 70))
            writer.writerow([*row.round(3), ("a", "b", "")[i % 2 if i < 50 else 2]])
    new = ["task", "new", "--sample", str(tmp_path / "wide.csv"), "--response", "y"]
    (tmp_path / "t.toml").write_text(run(capsys, *new, "--keep", "2"))
    task = load_task(tmp_path / "t.toml")
    assert (task.features.names, task.screening, task.response.classes) == (
        ("x17", "x70"),
        None,
        ("a", "b"),
    )
    assert "1 or more" in fails(capsys, *new, "--keep", "0")
    (tmp_path / "wide.csv").write_text("x,y\n1,\n2,\n")
    assert "two rows with a response" in fails(capsys, *new)
    (tmp_path / "wide.csv").write_text("x,y\n1,a\n1,b\n")
    assert "constant in the sample" in fails(capsys, *new, "--keep", "1")


def test_check_shows_that_more_devices_and_more_signal_help(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "t.toml").write_text(tomli_w.dumps(TASK.table()))
    check = ["task", "check", str(tmp_path / "t.toml"), "--json", "--devices", "10,1000"]
    weak, strong = (json.loads(run(capsys, *check, "--signal", s)) for s in ("0.1", "0.6"))
    assert weak["expected_error"]["10"] > weak["expected_error"]["1000"]
    assert weak["expected_error"]["10"] > strong["expected_error"]["10"]
    (tmp_path / "t.toml").write_text(tomli_w.dumps(TASK.table() | {"aggregation": "trimmed"}))
    trimmed = json.loads(run(capsys, *check, "--signal", "0.1"))
    assert (
        1.02 < trimmed["expected_error"]["1000"] / weak["expected_error"]["1000"] < 1.25
    )  # variance: 1.2
    needed = weak["stages"][0]["records_for_noise"]
    assert needed["0.02"] > needed["0.1"] > 1


def test_task_errors_name_the_value_and_the_remedy(
    capsys: pytest.CaptureFixture[str], sample: Path
) -> None:
    new = ["task", "new", "--sample", str(sample), "--response"]
    assert "it has a, b, c, d, same, label, number, level" in fails(capsys, *new, "y")
    assert "not every value is a finite number" in fails(
        capsys, *new, "number", "--features", "a,label"
    )
    assert "no such column" in fails(capsys, *new, "label", "--features", "z")
    assert "no such file" in fails(capsys, "task", "new", "--sample", "none.csv", "--response", "y")
    assert "between 2 and 256" in fails(capsys, *new, "number", "--slices", "1")
    assert "at least two classes" in fails(
        capsys, *new[:-1], "--response", "label", "--sample", str(_one(sample))
    )
    assert "does not exist" in fails(capsys, "task", "check", "none.toml")
    sample.with_name("t.toml").write_text(tomli_w.dumps(TASK.table()))
    check = ["task", "check", str(sample.with_name("t.toml"))]
    assert "whole numbers of devices" in fails(capsys, *check, "--devices", "ten")
    assert "between 0 and 1" in fails(capsys, *check, "--signal", "2")


def _one(sample: Path) -> Path:
    lines = [line for line in sample.read_text().splitlines() if "walk" not in line]
    path = sample.with_name("one.csv")
    path.write_text("\n".join(lines))
    return path
