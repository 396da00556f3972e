"""The shipped files against each other and the program: limits, access list, units, commands."""

from __future__ import annotations

import configparser
import re
import shlex
from pathlib import Path

import pytest

from aggregator.mqtt.connector import RECEIVE_MAXIMUM
from edge_agent.consent.policy import Policy
from fsir.contract import load_task
from fsir.limits import LIMITS
from fsir.wire.messages import PREFIX
from tests.deploy.tools import DEPLOY, ROOT, run
from tests.needs import find, need

UNITS = ("fsir-agent@.service", "fsir-aggregator.service")
WORST_EXPOSURE = 3.0


def _settings() -> dict[str, str]:
    lines = (DEPLOY / "mosquitto/mosquitto.conf").read_text().splitlines()
    return {
        line.split(maxsplit=1)[0]: line.split(maxsplit=1)[1]
        for line in lines
        if line and line[0] != "#"
    }


def test_the_broker_carries_the_largest_message_and_little_more() -> None:
    largest = int(_settings()["max_packet_size"])
    assert max(LIMITS.values()) + 2**10 <= largest <= max(LIMITS.values()) + 2**17


def test_the_broker_hands_over_what_the_aggregator_asks_for() -> None:
    assert int(_settings()["max_inflight_messages"]) == RECEIVE_MAXIMUM


def test_old_tls_is_off_whatever_the_system_allows() -> None:
    assert _settings()["tls_version"] == "tlsv1.2"


def test_the_queue_is_bounded_and_holds_a_round_of_reports() -> None:
    settings = _settings()
    assert int(settings["max_queued_messages"]) >= 2 * 5000
    assert 0 < int(settings["max_queued_bytes"]) < int(settings["memory_limit"])


def test_the_service_has_a_descriptor_for_every_connection() -> None:
    drop_in = (DEPLOY / "systemd/mosquitto.service.d/fsir.conf").read_text()
    descriptors = re.search(r"^LimitNOFILE=(\d+)$", drop_in, re.MULTILINE)
    assert descriptors is not None
    assert 5000 < int(_settings()["max_connections"]) < int(descriptors[1])


def test_the_access_list_speaks_of_this_protocol_only() -> None:
    text = (DEPLOY / "mosquitto/acl").read_text()
    rules = re.findall(r"^(topic|pattern) (read|write) (\S+)$", text, re.MULTILINE)
    levels = {topic.removeprefix(f"{PREFIX}/+/").split("/")[0] for _, _, topic in rules}
    assert levels == set(LIMITS) - {"shared"}  # a sealed report goes where reports go
    # Only the names of one's own topics may follow from who one is.
    writable = [topic for kind, way, topic in rules if kind == "pattern" and way == "write"]
    assert writable == [f"{PREFIX}/+/{kind}/%u" for kind in ("ask", "report", "presence")]


def test_the_shipped_policy_is_the_default() -> None:
    assert Policy.load(DEPLOY / "policy.toml") == Policy()


def test_the_example_task_would_be_accepted() -> None:
    policy = Policy.load(DEPLOY / "policy.toml")
    assert policy.refusals(load_task(DEPLOY / "example/task.toml")) == []


def test_the_programs_know_the_options_that_units_and_containers_use() -> None:
    """Each option of a command line that we ship is one that `--help` shows."""
    compose = (DEPLOY / "docker/compose.yaml").read_text()
    page = (ROOT / "docs/operations.md").read_text()
    phone = page.split("## Android")[1].split("fsir-agent run")[1].split("```")[0]
    device = compose.split("exec fsir-agent run")[1].split("services:")[0]
    server = compose.split("- serve")[1].split("volumes:")[0]
    commands = {
        "fsir-agent run": [_unit(UNITS[0])["ExecStart"], device, phone],
        "fsir-aggregator serve": [_unit(UNITS[1])["ExecStart"], server],
    }
    for command, uses in commands.items():
        program, verb = command.split()
        known = set(re.findall(r"--[a-z-]+", run(find(program) or program, verb, "--help").stdout))
        for use in uses:
            assert set(re.findall(r"(?<![\w-])--[a-z-]+", use)) <= known


def _unit(name: str) -> dict[str, str]:
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(re.sub(r"\\\n\s*", " ", (DEPLOY / "systemd" / name).read_text()))
    return dict(parser["Service"])


@pytest.mark.parametrize("name", UNITS)
def test_systemd_finds_no_fault_in_the_units(name: str, tmp_path: Path) -> None:
    """In a tree that has nothing but the unit and the program that it starts."""
    need("systemd-analyze")
    program = tmp_path / shlex.split(_unit(name)["ExecStart"])[0].lstrip("/")
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    place = tmp_path / "etc/systemd/system"
    place.mkdir(parents=True)
    (place / name.replace("@.", "@kitchen.")).write_text((DEPLOY / "systemd" / name).read_text())
    for target in ("sysinit", "basic", "shutdown", "network-online", "multi-user"):
        text = f"[Unit]\nDescription={target}.target\nDefaultDependencies=no\n"
        (place / f"{target}.target").write_text(text)
    unit = name.replace("@.", "@kitchen.")
    ran = run("systemd-analyze", "verify", "--man=no", f"--root={tmp_path}", unit)
    assert ran.stderr.strip() == ""


@pytest.mark.parametrize("name", UNITS)
def test_systemd_rates_the_units_as_safe(name: str) -> None:
    need("systemd-analyze")
    rate = ("systemd-analyze", "security", "--offline=true", "--no-pager")
    text = run(*rate, DEPLOY / "systemd" / name).stdout
    rating = re.search(r"exposure level for \S+: ([0-9.]+)", text)
    assert rating is not None, text
    assert float(rating[1]) <= WORST_EXPOSURE


def test_scripts_and_containers_pass_their_linters() -> None:
    need("shellcheck", "hadolint", "check-jsonschema")
    run("shellcheck", DEPLOY / "install-pi.sh", DEPLOY / "docker/prepare.sh")
    run("shellcheck", DEPLOY / "cells/prepare.sh")
    run("hadolint", DEPLOY / "docker/Dockerfile")
    composed = [DEPLOY / "docker/compose.yaml", DEPLOY / "cells/compose.yaml"]
    run("check-jsonschema", "--builtin-schema", "vendor.compose-spec", *composed)


def test_the_provisioning_command_is_clean() -> None:
    """It has no suffix, so that the linters do not find it by themselves."""
    command = DEPLOY / "provision"
    run("ruff", "check", "--no-cache", "--config", ROOT / "pyproject.toml", command)
    run("ruff", "format", "--no-cache", "--check", "--config", ROOT / "pyproject.toml", command)
    run("mypy", "--strict", "--config-file=", command, cwd=ROOT)
