"""Who gets in and who may do what, with the shipped broker configuration and mosquitto's own clients."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.deploy.clients import Client
from tests.deploy.tools import Authority, ShippedBroker, run

pytestmark = pytest.mark.broker
TASK = "fsir/1/activity"
ID = "fsir-aggregator"  # the client id that the aggregator comes with


class Parties:
    """The identities of these tests."""

    def __init__(self, authority: Authority, broker: ShippedBroker) -> None:
        self._authority, self._broker = authority, broker
        self.ca = authority.pki / "ca.crt"
        self.aggregator = self.of(authority.aggregator() / "aggregator.crt")
        self.a, self.b = self.device("A"), self.device("B")

    def of(self, certificate: Path | None) -> Client:
        return Client(self._broker.port, self.ca, certificate)

    def device(self, name: str) -> Client:
        return self.of(self._authority.device(name) / "device.crt")


@pytest.fixture(scope="module")
def parties(authority: Authority, broker: ShippedBroker) -> Parties:
    return Parties(authority, broker)


# --- who gets in ----------------------------------------------------------------------------------------------------


def test_a_device_with_its_certificate_gets_in(parties: Parties) -> None:
    assert parties.a.publish(f"{TASK}/report/A", "hello") == ""


def test_nobody_gets_in_without_a_certificate(parties: Parties) -> None:
    assert parties.of(None).publish(f"{TASK}/report/A", "hello")
    assert parties.of(None).publish(f"{TASK}/report/A", "hello", "-u", "A", "-P", "secret")


def test_nobody_gets_in_without_tls(broker: ShippedBroker) -> None:
    ran = run(
        "mosquitto_pub", "-h", "localhost", "-p", broker.port, "-t", "x", "-m", "y", status=None
    )
    assert ran.returncode != 0


def test_old_tls_is_refused_and_new_tls_is_not(
    authority: Authority, broker: ShippedBroker, parties: Parties
) -> None:
    files = authority.unpack("devices/A")
    command = ["openssl", "s_client", "-connect", f"localhost:{broker.port}", "-CAfile", parties.ca, "-cert",
               files / "device.crt", "-key", files / "device.key", "-cipher", "DEFAULT:@SECLEVEL=0"]  # fmt: skip
    for version, status in (("-tls1_1", 1), ("-tls1_2", 0), ("-tls1_3", 0)):
        run(*command, version, input="", status=status)


def test_a_certificate_of_another_authority_is_refused(parties: Parties, tmp_path: Path) -> None:
    stranger = Authority(tmp_path).device("A")
    assert parties.of(stranger / "device.crt").publish(f"{TASK}/report/A", "hello")


def test_an_expired_certificate_is_refused(
    authority: Authority, parties: Parties, tmp_path: Path
) -> None:
    key, request, certificate = (tmp_path / name for name in ("old.key", "old.csr", "old.crt"))
    run("openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=old",
        "-keyout", key, "-out", request)  # fmt: skip
    run("openssl", "ca", "-batch", "-notext", "-config", "openssl.cnf", "-extensions", "client", "-in", request, "-out",
        certificate, "-startdate", "20200101000000Z", "-enddate", "20200102000000Z", cwd=authority.pki,
        env={**os.environ, "FSIR_HOSTS": "DNS:unused"})  # fmt: skip
    assert parties.of(certificate).publish(f"{TASK}/report/old", "hello")


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
        said = run("openssl", "s_client", "-connect", f"localhost:{impostor.port}", "-CAfile", parties.ca,
                   "-verify_return_error", input="", status=1)  # fmt: skip
        assert "certificate purpose" in said.stdout + said.stderr
    finally:
        impostor.stop()


# --- what a device may write ----------------------------------------------------------------------------------------

FORBIDDEN = [
    f"{TASK}/report/B", f"{TASK}/presence/B", f"{TASK}/receipt/A", f"{TASK}/receipt/B", f"{TASK}/task",
    f"{TASK}/active", f"{TASK}/subspace", f"{TASK}/report", f"{TASK}/report/A/more", f"{TASK}/report/a",
    "fsir/1/x/y/report/A", "fsir/2/activity/report/A", "fsir/1/activity", "report/A", "sensors/A",
    "$SYS/broker/clients/total",
]  # fmt: skip


def test_a_device_writes_its_own_report_and_presence(parties: Parties) -> None:
    with parties.aggregator.listening("fsir/1/+/report/+", "fsir/1/+/presence/+") as aggregator:
        assert parties.a.publish(f"{TASK}/presence/A", "here") == ""
        assert parties.a.publish(f"{TASK}/report/A", "last") == ""
        assert aggregator.until("last") == [f"{TASK}/presence/A here", f"{TASK}/report/A last"]


def test_a_device_writes_nothing_else(parties: Parties) -> None:
    """Neither as another device nor as the aggregator: the broker says no, and nobody receives anything."""
    with parties.aggregator.listening("#") as aggregator:
        for topic in FORBIDDEN:
            assert "Not authorized" in parties.a.publish(topic, "forged", "-r"), topic
        parties.a.publish(f"{TASK}/report/A", "last")
        seen = aggregator.until("last")
    with parties.b.listening("#") as b:
        for topic in FORBIDDEN:
            assert "Not authorized" in parties.a.publish(topic, "forged"), topic
        parties.aggregator.publish(f"{TASK}/receipt/B", "last")
        seen += b.until("last")
    assert seen == [f"{TASK}/report/A last", f"{TASK}/receipt/B last"]


def test_a_last_will_is_no_way_around(parties: Parties) -> None:
    """The broker sends the will of a device that it finds dead: only where the device itself could have written."""
    with parties.aggregator.listening("#") as aggregator:
        for topic, text in ((f"{TASK}/report/B", "forged"), (f"{TASK}/report/A", "last")):
            will = ("--will-topic", topic, "--will-payload", text)
            with parties.a.listening(f"{TASK}/task", options=will) as a:
                a.kill()
        assert aggregator.until("last") == [f"{TASK}/report/A last"]


# --- what a device may read -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "topics", [("#",), ("+/#",), (f"{TASK}/#",), (f"{TASK}/+/+", f"{TASK}/+"), ("$SYS/#", "#")]
)
def test_wildcards_yield_only_what_is_allowed(parties: Parties, topics: tuple[str, ...]) -> None:
    """A device listens to everything while others report and get their receipts."""
    public = [f"{TASK}/{kind}" for kind in ("task", "active", "subspace")]
    with parties.b.listening(*topics) as b:
        parties.a.publish(f"{TASK}/report/A", "private")
        parties.a.publish(f"{TASK}/presence/A", "private")
        parties.aggregator.publish(f"{TASK}/receipt/A", "private")
        for topic in public:
            parties.aggregator.publish(topic, "public")
        parties.aggregator.publish(f"{TASK}/receipt/B", "last")
        assert b.until("last") == [
            *(f"{topic} public" for topic in public),
            f"{TASK}/receipt/B last",
        ]


def test_what_is_kept_for_one_device_is_not_for_another(parties: Parties) -> None:
    """Retained messages go through the same checks; so do shared subscriptions."""
    for kind in ("task", "receipt/A", "receipt/B"):
        parties.aggregator.publish(f"{TASK}/{kind}", "kept", "-r")
    parties.a.publish(f"{TASK}/report/A", "kept", "-r")
    try:
        with parties.b.listening("#", f"{TASK}/receipt/A", f"$share/x/{TASK}/report/+") as b:
            parties.a.publish(f"{TASK}/report/A", "shared")
            parties.aggregator.publish(f"{TASK}/receipt/B", "last")
            assert sorted(b.until("last")) == [
                f"{TASK}/receipt/B kept",
                f"{TASK}/receipt/B last",
                f"{TASK}/task kept",
            ]
    finally:
        for kind in ("task", "receipt/A", "receipt/B"):
            parties.aggregator.publish(f"{TASK}/{kind}", "", "-r")
        parties.a.publish(f"{TASK}/report/A", "", "-r")


# --- identities -----------------------------------------------------------------------------------------------------


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
    """Neither user name nor client id count: the claim gives no right, and does not disturb the real one."""
    with parties.aggregator.listening("#", options=("-i", ID)) as aggregator:
        assert "Not authorized" in parties.a.publish(f"{TASK}/subspace", "forged", *claim)
        parties.a.publish(f"{TASK}/report/A", "last")
        assert aggregator.until("last") == [f"{TASK}/report/A last"]
        assert aggregator.count("received CONNACK") == 1


def test_a_device_cannot_take_over_the_session_of_another(parties: Parties) -> None:
    """What waits for the aggregator waits for its certificate, although another comes with its client id."""
    session = ("-c", "-x", "3600", "-i", ID)
    with parties.aggregator.listening("fsir/1/+/report/+", options=session):
        pass
    parties.a.publish(f"{TASK}/report/A", "private")
    with parties.b.listening("fsir/1/+/report/+", options=session) as b:
        with parties.aggregator.listening("fsir/1/+/report/+", options=session) as aggregator:
            parties.a.publish(f"{TASK}/report/A", "last")
            assert aggregator.until("last") == [f"{TASK}/report/A private", f"{TASK}/report/A last"]
        assert b.count("GOT") == 0


# --- revocation: last, because it restarts the broker -----------------------------------------------------------------


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
    assert not [
        line
        for line in log.splitlines()
        if "confidential" in line or "report/" in line or " as A " in line
    ]
