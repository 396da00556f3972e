"""The containers, as far as that goes without an engine: files fit together, keys are made."""

from __future__ import annotations

import argparse
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from aggregator.commands import serve
from tests.deploy.tools import DEPLOY, ROOT, run
from tests.needs import need

DOCKER = DEPLOY / "docker"


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    return dict(yaml.safe_load((DOCKER / "compose.yaml").read_text())["services"])


def test_there_are_ten_devices_and_each_is_called_by_its_name(services: dict[str, Any]) -> None:
    devices = {name: service for name, service in services.items() if name.startswith("device-")}
    assert len(devices) == 10
    assert all(service["hostname"] == name for name, service in devices.items())


def test_every_service_that_stays_is_locked_up(services: dict[str, Any]) -> None:
    for name, service in services.items():
        if name != "prepare":
            assert service["read_only"], name
            assert service["cap_drop"] == ["ALL"], name
            assert "user" not in service, name  # the image's own, which is not root
    assert services["prepare"]["network_mode"] == "none"


def test_two_aggregators_have_a_role_and_files_of_their_own() -> None:
    found = yaml.safe_load((DOCKER / "two.yaml").read_text())["services"]
    assert set(found) == {"leader", "helper"}
    parser = argparse.ArgumentParser()
    serve.add_arguments(parser)
    for role, service in found.items():
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert service["volumes"] == [f"./files/{role}:/etc/fsir:ro", f"{role}:/var/lib/fsir"]
        assert parser.parse_args(service["command"][1:]).role == role


def test_images_run_without_root() -> None:
    stages = re.split(r"^FROM ", (DOCKER / "Dockerfile").read_text(), flags=re.MULTILINE)[1:]
    for stage in stages:
        if "ENTRYPOINT" in stage and " AS prepare" not in stage:
            assert re.search(r"^USER [1-9]\d*:[1-9]\d*$", stage, re.MULTILINE), stage


@pytest.mark.parametrize("target", ["agent", "aggregator"])
def test_images_can_take_part_where_two_aggregators_open_sums(target: str) -> None:
    """A device seals its report, too: without the extra it would refuse such a task."""
    text = (DOCKER / "Dockerfile").read_text()
    stage = text.partition(f" AS {target}\n")[2].partition("\nFROM ")[0]
    (extras,) = re.findall(r"/wheels/\*\.whl\)\[([a-z,]+)\]", stage)
    with (ROOT / "pyproject.toml").open("rb") as file:
        offered = tomllib.load(file)["project"]["optional-dependencies"]
    assert "secure" in extras.split(",")
    assert set(extras.split(",")) <= set(offered)


def test_what_is_copied_exists_and_nothing_else_is_sent() -> None:
    text = (DOCKER / "Dockerfile").read_text()
    sent = set(
        re.findall(r"^!(.*)$", (DOCKER / "Dockerfile.dockerignore").read_text(), re.MULTILINE)
    )
    copied = {
        part for line in re.findall(r"^COPY (.*) \S+$", text, re.MULTILINE) for part in line.split()
    }
    copied |= set(re.findall(r"type=bind,source=([^,]+)", text))
    assert copied == sent
    assert all((ROOT / name).exists() for name in copied)


def test_built_targets_exist(services: dict[str, Any]) -> None:
    targets = set(
        re.findall(r"^FROM \S+ AS (\S+)$", (DOCKER / "Dockerfile").read_text(), re.MULTILINE)
    )
    assert {service["build"]["target"] for service in services.values()} <= targets
    assert all(
        (DOCKER / service["build"]["context"]).resolve() == ROOT for service in services.values()
    )


def test_each_service_is_given_its_own_files_and_no_other(
    services: dict[str, Any], tmp_path: Path
) -> None:
    need("openssl")
    run(DOCKER / "prepare.sh", tmp_path / "files")
    keys = set()
    for name, service in services.items():
        mounted = [
            volume.split(":")[0] for volume in service["volumes"] if volume.startswith("./files")
        ]
        if name != "prepare":
            assert mounted == [f"./files/{name}"]
            (key,) = (tmp_path / "files" / name).glob("*.key")
            keys.add(key.read_bytes())
    assert len(keys) == len(services) - 1
    before = sorted((tmp_path / "files").rglob("*"))
    run(DOCKER / "prepare.sh", tmp_path / "files")  # a second start changes nothing
    assert sorted((tmp_path / "files").rglob("*")) == before
