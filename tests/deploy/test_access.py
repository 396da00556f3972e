"""Who gets in, and as whom, with the shipped broker configuration and mosquitto's own clients."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.deploy.clients import Client, Parties
from tests.deploy.tools import Authority, ShippedBroker, run

pytestmark = pytest.mark.broker
TASK = "fsir/1/activity"
ID = "fsir-aggregator"  # the client id that the aggregator comes with


# --- who gets in ----------------------------------------------------------------------------------


def test_a_device_with_its_certificate_gets_in(parties: Parties) -> None:
    assert parties.a.publish(f"{TASK}/report/A", "hello") == ""


def test_nobody_gets_in_without_a_certificate(parties: Parties) -> None:
    assert parties.of(None).publish(f"{TASK}/report/A", "hello")
    assert parties.of(None).publish(f"{TASK}/report/A", "hello", "-u", "A", "-P", "secret")


def test_nobody_gets_in_without_tls(broker: ShippedBroker) -> None:
    where = ("-h", "localhost", "-p", broker.port)
    assert run("mosquitto_pub", *where, "-t", "x", "-m", "y", status=None).returncode != 0


def test_old_tls_is_refused_and_new_tls_is_not(
    authority: Authority, broker: ShippedBroker, parties: Parties
) -> None:
    files = authority.unpack("devices/A")
    connect = ("openssl", "s_client", "-connect", f"localhost:{broker.port}")
    login = ("-CAfile", parties.ca, "-cert", files / "device.crt", "-key", files / "device.key")
    ciphers = ("-cipher", "DEFAULT:@SECLEVEL=0")
    for version, status in (("-tls1_1", 1), ("-tls1_2", 0), ("-tls1_3", 0)):
        run(*connect, *login, *ciphers, version, input="", status=status)


def test_a_certificate_of_another_authority_is_refused(parties: Parties, tmp_path: Path) -> None:
    stranger = Authority(tmp_path).device("A")
    assert parties.of(stranger / "device.crt").publish(f"{TASK}/report/A", "hello")


def test_an_expired_certificate_is_refused(
    authority: Authority, parties: Parties, tmp_path: Path
) -> None:
    old = authority.expired(tmp_path)
    assert parties.of(old / "device.crt").publish(f"{TASK}/report/old", "hello")


def test_the_certificate_of_the_broker_opens_no_connection(
    broker: ShippedBroker, parties: Parties
) -> None:
    assert parties.of(broker.files / "server.crt").publish(f"{TASK}/report/service:broker", "hello")


def test_a_device_cannot_pass_for_the_broker(
    authority: Authority, parties: Parties, place: Path
) -> None:
    """Its certificate is good for clients only, even where its name is the broker's."""
    fake = place / "fake"
    shutil.copytree(authority.unpack("broker"), fake / "files")
    device = authority.device("localhost")
    shutil.copy(device / "device.crt", fake / "files/server.crt")
    shutil.copy(device / "device.key", fake / "files/server.key")
    impostor = ShippedBroker(fake / "files", fake)
    impostor.start()
    try:
        client = Client(impostor.port, parties.ca, authority.unpack("devices/A") / "device.crt")
        assert client.publish(f"{TASK}/report/A", "hello")
        connect = ("openssl", "s_client", "-connect", f"localhost:{impostor.port}")
        check = ("-CAfile", parties.ca, "-verify_return_error")
        said = run(*connect, *check, input="", status=1)
        assert "certificate purpose" in said.stdout + said.stderr
    finally:
        impostor.stop()


# --- identities -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["aggregator", "service-aggregator", "fsir-aggregator", "broker"])
def test_a_device_with_a_telling_name_is_a_device(parties: Parties, name: str) -> None:
    device = parties.device(name)
    assert "Not authorized" in device.publish(f"{TASK}/subspace", "forged")
    with device.listening("#") as listener:
        parties.a.publish(f"{TASK}/report/A", "private")
        parties.aggregator.publish(f"{TASK}/receipt/{name}", "last")
        assert listener.until("last") == [f"{TASK}/receipt/{name} last"]


@pytest.mark.parametrize(
    "claim", [("-u", "service:aggregator", "-P", "x"), ("-i", "service:aggregator"), ("-i", ID)]
)
def test_a_device_cannot_claim_to_be_the_aggregator(
    parties: Parties, claim: tuple[str, ...]
) -> None:
    """User name and client id do not count: the claim gives no right, nor disturbs the real one."""
    with parties.aggregator.listening("#", options=("-i", ID)) as aggregator:
        assert "Not authorized" in parties.a.publish(f"{TASK}/subspace", "forged", *claim)
        parties.a.publish(f"{TASK}/report/A", "last")
        assert aggregator.until("last") == [f"{TASK}/report/A last"]
        assert aggregator.count("received CONNACK") == 1


def test_a_device_cannot_take_over_the_session_of_another(parties: Parties) -> None:
    """What waits for the aggregator waits for its certificate, whoever comes with its client id."""
    session = ("-c", "-x", "3600", "-i", ID)
    with parties.aggregator.listening("fsir/1/+/report/+", options=session):
        pass
    parties.a.publish(f"{TASK}/report/A", "private")
    with parties.b.listening("fsir/1/+/report/+", options=session) as b:
        with parties.aggregator.listening("fsir/1/+/report/+", options=session) as aggregator:
            parties.a.publish(f"{TASK}/report/A", "last")
            assert aggregator.until("last") == [f"{TASK}/report/A private", f"{TASK}/report/A last"]
        assert b.count("GOT") == 0


# --- revocation: last, because it restarts the broker ---------------------------------------------


def test_what_was_kept_survives_a_restart(broker: ShippedBroker, parties: Parties) -> None:
    session = ("-c", "-i", "any", "-x", "3600")
    with parties.aggregator.listening("fsir/1/+/report/+", options=session):
        pass
    parties.aggregator.publish(f"{TASK}/task", "kept", "-r", *session)
    parties.a.publish(f"{TASK}/report/A", "queued")
    broker.restart()
    with parties.b.listening("#") as b:
        assert b.until("kept") == [f"{TASK}/task kept"]
    with parties.aggregator.listening("fsir/1/+/report/+", options=session) as aggregator:
        assert aggregator.until("queued") == [f"{TASK}/report/A queued"]


def test_a_revoked_certificate_is_out(
    authority: Authority, broker: ShippedBroker, parties: Parties
) -> None:
    """Its open connection as well, and the others are not."""
    lost = parties.device("lost")
    with lost.listening("#") as listener:
        authority("revoke", "lost")
        shutil.copy(authority.pki / "crl.pem", broker.files / "crl.pem")
        broker.restart()
        listener.wait_for("sending CONNECT")
        assert lost.publish(f"{TASK}/report/lost", "hello")
        assert parties.a.publish(f"{TASK}/report/A", "hello") == ""
        parties.aggregator.publish(f"{TASK}/receipt/lost", "secret")
        assert listener.count("received CONNACK") == 1
        assert listener.count("secret") == 0


def test_the_log_names_no_one_and_holds_no_message(broker: ShippedBroker, parties: Parties) -> None:
    parties.a.publish(f"{TASK}/report/A", "confidential")
    log = broker.log.read_text()
    assert "OpenSSL Error" in log  # strangers were turned away
    secrets = ("confidential", "report/", " as A ")
    assert not [line for line in log.splitlines() if any(word in line for word in secrets)]
