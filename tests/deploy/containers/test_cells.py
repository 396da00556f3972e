"""The deployment of two cells, as far as that goes without an engine: its files fit together."""

from __future__ import annotations

import argparse
import os
import re
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from aggregator.commands import serve
from aggregator.store.postgres.address import options_of
from tests.deploy.tools import DEPLOY, ROOT, run
from tests.needs import find, need
from tests.postgres import Cluster, found
from tests.system.cells.haproxy import SHIPPED, adapted

CELLS = DEPLOY / "cells"


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    return dict(yaml.safe_load((CELLS / "compose.yaml").read_text())["services"])


def test_every_service_that_stays_is_locked_up(services: dict[str, Any]) -> None:
    for name, service in services.items():
        if name != "prepare":
            assert service["read_only"], name
            assert service["cap_drop"] == ["ALL"], name
            assert service.get("user", "1") != "root", name
    assert services["prepare"]["network_mode"] == "none"


def test_every_worker_is_understood_has_a_name_of_its_own_and_no_password(
    services: dict[str, Any],
) -> None:
    parser = argparse.ArgumentParser()
    serve.add_arguments(parser)
    names = set()
    for number in (1, 2):
        service = services[f"worker{number}"]
        assert service["network_mode"] == f"service:cell{number}"
        options = parser.parse_args(service["command"][1:])
        assert options_of(options.store)["target_session_attrs"] == "read-write"
        assert service["environment"]["PGPASSFILE"] == "/etc/fsir/pgpass"
        names.add(options.worker)
    assert len(names) == 2


def test_haproxy_knows_the_cells_by_the_names_that_they_have(services: dict[str, Any]) -> None:
    servers = re.findall(r"^ +server \w+ (\S+):8883$", SHIPPED.read_text(), re.MULTILINE)
    aliases = [services[f"cell{n}"]["networks"]["default"]["aliases"] for n in (1, 2)]
    assert [[server] for server in servers] == aliases
    assert services["haproxy"]["volumes"][0].startswith("./haproxy.cfg:")


def test_the_primary_waits_for_its_standby(services: dict[str, Any]) -> None:
    assert "synchronous_standby_names=*" in services["primary"]["command"]
    assert not any("fsync" in word for word in services["primary"]["command"])


def test_the_primary_makes_its_database_before_there_is_a_standby(services: dict[str, Any]) -> None:
    """The image does it on a server that has the same options, and that nobody can reach."""
    told = services["primary"]["environment"]
    (names,) = (word for word in services["primary"]["command"] if "standby_names" in word)
    cluster = Cluster(f"-c {names}")
    try:
        cluster.create().start()
        made = [found("createdb"), "-h", str(cluster.folder), "-U", "fsir", told["POSTGRES_DB"]]
        environment = os.environ | {"PGOPTIONS": told["PGOPTIONS"]}
        subprocess.run(made, env=environment, check=True, timeout=60)
        with pytest.raises(subprocess.TimeoutExpired):
            subprocess.run([*made[:-1], "other"], check=True, timeout=0.5)
    finally:
        cluster.remove()


def test_what_is_built_exists(services: dict[str, Any]) -> None:
    text = (DEPLOY / "docker" / "Dockerfile").read_text()
    targets = set(re.findall(r"^FROM \S+ AS (\S+)$", text, re.MULTILINE))
    built = [service["build"] for service in services.values() if "build" in service]
    assert {build["target"] for build in built} <= targets
    assert all((CELLS / build["context"]).resolve() == ROOT for build in built)
    assert "[aggregator,postgres,secure]" in text


def test_secrets_are_made_once_and_for_their_owners_alone(tmp_path: Path) -> None:
    (tmp_path / "aggregator").mkdir()
    run(CELLS / "prepare.sh", tmp_path)
    secrets = ["postgres/password", "postgres/pgpass", "aggregator/pgpass", "aggregator/token"]
    before = [(tmp_path / name).read_bytes() for name in secrets]
    for name in secrets:
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600, name
    assert len({before[0], before[1], before[3]}) == 3
    assert before[0] in before[1] == before[2]
    run(CELLS / "prepare.sh", tmp_path)
    assert before == [(tmp_path / name).read_bytes() for name in secrets]


def test_haproxy_accepts_the_shipped_file(tmp_path: Path) -> None:
    need("haproxy")
    file = tmp_path / "haproxy.cfg"
    file.write_text(adapted(8883, [(1883, 9100), (1884, 9101)]))
    checked = [str(find("haproxy")), "-c", "-f", str(file)]
    done = subprocess.run(checked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "on-marked-down shutdown-sessions" in file.read_text()
