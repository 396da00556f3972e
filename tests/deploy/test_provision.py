"""The provisioning command: who it names, what it hands out, and what it refuses."""

from __future__ import annotations

import argparse
import re
import runpy
import stat
import tarfile
from pathlib import Path
from typing import Any

import pytest

from fsir.limits import DEVICE_NAME
from tests.deploy.tools import DEPLOY, Authority, run

DEVICE = ("--broker", "mqtts://localhost:8883", "--task", "activity")


def _text(certificate: Path) -> str:
    return run("openssl", "x509", "-in", certificate, "-noout", "-text").stdout


@pytest.fixture(scope="module")
def command() -> dict[str, Any]:
    """The names that the command defines."""
    return runpy.run_path(str(DEPLOY / "provision"))


def test_names_follow_the_rule_of_the_protocol(command: dict[str, Any]) -> None:
    assert command["DEVICE_NAME"].pattern == DEVICE_NAME.pattern


SERVICES = ("service:aggregator", "service:helper", "service:broker")


@pytest.mark.parametrize(
    "name", [*SERVICES, "a/b", "+", "#", "", "-x", "a b", "a\n", "x" * 65, "é"]
)
def test_a_name_that_no_device_can_have_is_refused(command: dict[str, Any], name: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        command["device_name"](name)


@pytest.mark.parametrize(
    "url", ["mqtt://localhost", "mqtts://", "mqtts://a b", "localhost:8883", "mqtts://h\nX=1"]
)
def test_only_encrypted_addresses_are_written(command: dict[str, Any], url: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        command["broker_url"](url)


def test_a_refused_request_issues_nothing(authority: Authority) -> None:
    before = authority("list").stdout
    authority("device", "service:aggregator", *DEVICE, status=2)
    assert authority("list").stdout == before


@pytest.mark.parametrize("which", ["aggregator", "helper"])
def test_an_aggregator_has_a_name_that_no_device_can_have(authority: Authority, which: str) -> None:
    certificate = authority.aggregator(which) / "aggregator.crt"
    subject = re.search(r"Subject: CN = (.*)", _text(certificate))
    assert subject is not None
    assert subject[1] == f"service:{which}"
    assert not DEVICE_NAME.match(subject[1])
    assert f"user {subject[1]}\n" in (DEPLOY / "mosquitto/acl").read_text()


def test_certificates_are_good_for_one_thing(authority: Authority) -> None:
    device = _text(authority.device("one") / "device.crt")
    server = _text(authority.server("b.lan", "::1") / "server.crt")
    for text in (device, server):
        assert "P-256" in text
        assert "CA:FALSE" in text
    assert "TLS Web Client Authentication\n" in device
    assert "TLS Web Server Authentication\n" in server
    assert "DNS:b.lan, IP Address:0:0:0:0:0:0:0:1" in server


def test_keys_are_for_their_owner_alone(authority: Authority) -> None:
    authority.device("two")
    for path in (authority.pki, *authority.pki.rglob("*")):
        assert not path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO), path
    with tarfile.open(authority.pki / "devices/two.tar.gz") as archive:
        modes = {Path(entry.name).name: entry.mode for entry in archive}
    assert modes["device.key"] == 0o600
    assert modes["install-pi.sh"] == 0o755
    certificates = {"ca.crt", "device.crt", "device.key"}
    settings = {"agent.env", "policy.toml", "fsir-agent@.service", "install-pi.sh"}
    assert set(modes) == certificates | settings


def test_settings_are_filled_in(authority: Authority) -> None:
    settings = (authority.device("three") / "agent.env").read_text()
    assert "FSIR_BROKER=mqtts://localhost:8883\nFSIR_TASK=activity\n" in settings
    assert "{" not in settings


def test_a_second_certificate_needs_a_word(authority: Authority) -> None:
    authority.device("four")
    assert "--renew" in authority("device", "four", *DEVICE, status=2).stderr
    authority.device("four", "--renew")
    assert authority("list").stdout.count("four ") == 2


def test_revoking_takes_all_certificates_of_a_name(authority: Authority) -> None:
    authority.device("five")
    authority.device("five", "--renew")
    assert authority("revoke", "five").stdout.startswith("2 certificate(s)")
    listed = [line for line in authority("list").stdout.splitlines() if line.startswith("five ")]
    assert [line.split()[1] for line in listed] == ["revoked"] * 2
    revoked = run("openssl", "crl", "-in", authority.pki / "crl.pem", "-noout", "-text").stdout
    assert all(line.split()[-1] in revoked for line in listed)
    authority("revoke", "five", status=2)
    authority.device("five")  # the name is free again


def test_an_authority_is_never_overwritten(authority: Authority) -> None:
    key = (authority.pki / "ca.key").read_bytes()
    assert "already" in authority("init", status=2).stderr
    assert (authority.pki / "ca.key").read_bytes() == key


def test_without_an_authority_the_remedy_is_named(tmp_path: Path) -> None:
    ran = run(DEPLOY / "provision", "--pki", tmp_path / "none", "list", status=2)
    assert "init" in ran.stderr
