"""Which of the files of a TLS login is wrong, and why."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from fsir.errors import ConnectionSettingsError
from fsir.net.certificates import client_context
from tests.pem import Pem


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Pem:
    return Pem(tmp_path_factory.mktemp("pem"))


@pytest.fixture(scope="module")
def own(pem: Pem) -> tuple[str, str]:
    certificate, key = pem.issue("device")
    return str(certificate), str(key)


def refused(ca: object, certificate: object = None, key: object = None, prefix: str = "") -> str:
    with pytest.raises(ConnectionSettingsError) as caught:
        client_context(
            *(None if one is None else str(one) for one in (ca, certificate, key)), prefix
        )
    return str(caught.value)


def test_good_files_are_loaded_without_a_word(
    pem: Pem, own: tuple[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    context = client_context(str(pem.ca), *own)
    assert context.cert_store_stats()["x509_ca"] == 1
    assert client_context(None, None, None).check_hostname
    assert caplog.records == []


def test_key_and_certificate_may_be_one_file(pem: Pem, own: tuple[str, str]) -> None:
    both = pem.folder / "both.pem"
    both.write_text(Path(own[1]).read_text() + Path(own[0]).read_text())
    both.chmod(0o600)
    client_context(str(pem.ca), str(both), None)


@pytest.mark.parametrize("which", ["--ca", "--cert", "--key"])
def test_a_missing_file_is_named_with_its_option(
    pem: Pem, own: tuple[str, str], which: str
) -> None:
    files = {"--ca": str(pem.ca), "--cert": own[0], "--key": own[1]} | {which: "nowhere.pem"}
    why = "No such file or directory; give a PEM file that can be read"
    assert refused(*files.values()) == f"{which} nowhere.pem: {why}"


def test_the_option_is_that_of_the_broker_it_is_about() -> None:
    assert refused("nowhere.pem", prefix="source-").startswith("--source-ca nowhere.pem: ")


@pytest.mark.parametrize(
    ("which", "kind"),
    [("--ca", "certificate"), ("--cert", "certificate"), ("--key", "private key")],
)
def test_a_file_that_is_not_pem_is_named(
    pem: Pem, own: tuple[str, str], which: str, kind: str, tmp_path: Path
) -> None:
    junk = tmp_path / "junk"
    junk.write_bytes(b"\x30\x82\x01\xff junk")
    files = {"--ca": str(pem.ca), "--cert": own[0], "--key": own[1]} | {which: str(junk)}
    said = refused(*files.values())
    assert said == (
        f"{which} {junk}: it holds no {kind} in PEM form (-----BEGIN ... {kind.upper()}-----)"
    )


def test_swapped_files_are_seen_as_such(pem: Pem, own: tuple[str, str]) -> None:
    certificate, key = own
    said = refused(pem.ca, key, certificate)
    assert said.startswith(f"--cert {key}: it holds no certificate in PEM form")
    assert said.endswith(", but a private key")
    assert refused(pem.ca, certificate, certificate).endswith(", but a certificate")


@pytest.mark.parametrize("which", ["--ca", "--cert", "--key"])
def test_a_damaged_file_is_named(
    pem: Pem, own: tuple[str, str], which: str, tmp_path: Path
) -> None:
    files = {"--ca": str(pem.ca), "--cert": own[0], "--key": own[1]}
    lines = Path(files[which]).read_text().splitlines()
    damaged = tmp_path / "damaged.pem"
    damaged.write_text("\n".join([lines[0], lines[1][:20], *lines[2:]]) + "\n")
    said = refused(*(files | {which: str(damaged)}).values())
    assert said.startswith(f"{which} {damaged}: it is damaged (")
    assert said.endswith("); copy it anew")


def test_a_key_of_another_certificate(pem: Pem, own: tuple[str, str]) -> None:
    _, other = pem.issue("other")
    assert refused(pem.ca, own[0], other) == (
        f"--key {other}: it is not the key of --cert {own[0]}; give the two that were made together"
    )


def test_one_without_the_other(pem: Pem, own: tuple[str, str]) -> None:
    certificate, key = own
    said = refused(pem.ca, certificate)
    assert said == f"--cert {certificate}: it needs its key; give it with --key"
    said = refused(pem.ca, None, key)
    assert said == f"--key {key}: it needs its certificate; give it with --cert"


def test_a_key_with_a_passphrase_is_not_asked_for_it(pem: Pem, own: tuple[str, str]) -> None:
    locked = pem.locked(Path(own[1]))
    said = refused(pem.ca, own[0], locked)
    assert said.startswith(f"--key {locked}: the key is locked with a passphrase")
    assert "openssl pkey -in" in said


def warnings(caplog: pytest.LogCaptureFixture) -> str:
    assert {record.levelno for record in caplog.records} <= {logging.WARNING}
    return "\n".join(record.getMessage() for record in caplog.records)


def test_a_certificate_out_of_its_time_is_a_warning(
    pem: Pem, caplog: pytest.LogCaptureFixture
) -> None:
    """A device without a clock of its own must be able to start, and to set it."""
    certificate, key = pem.issue("late", days=-1)
    client_context(str(pem.ca), str(certificate), str(key))
    said = warnings(caplog)
    assert f"--cert {certificate}: certificate has expired: the broker will not accept" in said
    assert "The clock of this machine says 20" in said
    caplog.clear()
    certificate, key = pem.future("early")
    client_context(str(pem.ca), str(certificate), str(key))
    assert f"--cert {certificate}: certificate is not yet valid: " in warnings(caplog)


def test_an_authority_that_has_expired_is_a_warning(
    pem: Pem, caplog: pytest.LogCaptureFixture
) -> None:
    old = pem.expired_authority()
    client_context(str(old), None, None)
    assert f"--ca {old}: the authority has expired" in warnings(caplog)


def test_a_key_that_everybody_can_read_is_a_warning(
    pem: Pem, own: tuple[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    key = tmp_path / "open.key"
    key.write_text(Path(own[1]).read_text())
    key.chmod(0o644)
    client_context(str(pem.ca), own[0], str(key))
    assert f"--key {key}: everybody on this machine can read the key; chmod 600" in warnings(caplog)
    caplog.clear()
    key.chmod(0o640)  # a group of its own is a usual way
    client_context(str(pem.ca), own[0], str(key))
    assert caplog.records == []
