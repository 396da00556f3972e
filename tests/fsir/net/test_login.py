"""The options of a login: where a password comes from, and what becomes of the rest."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from fsir.errors import ConnectionSettingsError
from fsir.net.login import add_login, broker_of, password


def parse(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--broker")
    add_login(parser, "the device's")
    return parser.parse_args(["--broker", "mqtts://broker.example", *arguments])


def test_the_options_make_a_broker(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("open sesame\r\n")
    login = ["--username", "pi-7", "--password-file", str(file)]
    broker = broker_of(parse(*login, "--ca", "ca.pem", "--cert", "c.pem", "--key", "k.pem"))
    assert str(broker) == "mqtts://broker.example:8883"
    assert (broker.username, broker.password) == ("pi-7", "open sesame")
    assert (broker.ca, broker.certificate, broker.key) == ("ca.pem", "c.pem", "k.pem")
    assert "sesame" not in repr(broker)


def test_a_password_comes_from_a_file_or_else_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FSIR_PASSWORD", raising=False)
    assert broker_of(parse()).password is None
    monkeypatch.setenv("FSIR_PASSWORD", "from outside")
    assert broker_of(parse()).password == "from outside"
    (tmp_path / "password").write_text("from a file\n")
    assert password(str(tmp_path / "password"), "FSIR_PASSWORD") == "from a file"


def test_a_password_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConnectionSettingsError, match=r"password file .*none"):
        password(str(tmp_path / "none"), "FSIR_PASSWORD")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(ConnectionSettingsError, match="password file"):
        password(str(tmp_path / "bytes"), "FSIR_PASSWORD")
