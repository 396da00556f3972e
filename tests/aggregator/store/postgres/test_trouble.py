"""A store in PostgreSQL that fails: a clear error, nothing acknowledged, nothing lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import psycopg
import pytest

from aggregator.core import Aggregator
from aggregator.store.errors import StoreBusyError, StoreError
from aggregator.store.opening import open_store
from tests.aggregator.federations import make_task, report, topic
from tests.postgres import SAFE, Cluster
from tests.system.aggregator.daemons import wait_for

PLAIN = make_task(p=3, records=60)
_BACKEND = "SELECT pid FROM pg_stat_activity"


@pytest.fixture
def address(postgres: Cluster) -> str:
    return postgres.fresh()


@pytest.fixture
def aggregator(address: str) -> Iterator[Aggregator]:
    store = open_store(address)
    store.join("one")
    made = Aggregator(store, [PLAIN])
    made.start(0.0)
    yield made
    store.close()


def take(aggregator: Aggregator, count: int = 20) -> None:
    for i in range(count):
        aggregator.take(topic(PLAIN, f"d{i}"), report(PLAIN, f"d{i}", i))


def goes_on(aggregator: Aggregator, count: int = 20) -> None:
    assert len(aggregator.commit(2.0)) == count
    assert aggregator.store.totals(1, "final").devices == count
    assert aggregator.waiting == 0


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:secret@localhost/db",
        "postgresql://localhost/db?password=secret",
        "postgresql://me:secret@localhost/db?sslpassword=secret",
        "postgresql://me:secret@localhost/db?nonsense=1",
    ],
)
def test_a_password_on_the_command_line_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(StoreError, match=r"PGPASSFILE|not an address") as caught:
        open_store(address)
    assert "secret" not in str(caught.value)


def test_what_is_not_there_is_named(postgres: Cluster, address: str) -> None:
    with pytest.raises(StoreError, match="start `serve`"):
        open_store(address, create=False)
    with pytest.raises(StoreError, match="does not exist"):
        open_store(postgres.address("nowhere"))
    with pytest.raises(StoreError, match="server that runs"):
        open_store("postgresql:///db?host=/nowhere")
    open_store(address).close()
    postgres.run("DROP TABLE withdrawn", address)
    with pytest.raises(StoreError, match="'withdrawn' is missing; restore"):
        open_store(address)
    postgres.run("INSERT INTO format VALUES (99)", address)
    with pytest.raises(StoreError, match="format 99"):
        open_store(address)


def test_a_wrong_password_is_named_with_its_remedy(postgres: Cluster) -> None:
    postgres.run("CREATE ROLE guest LOGIN PASSWORD 'right'")
    book = postgres.data / "pg_hba.conf"
    before = book.read_text()
    book.write_text(f"local all guest scram-sha-256\n{before}")
    try:
        postgres.run("SELECT pg_reload_conf()")
        guest = postgres.address().replace("user=fsir", "user=guest")
        with pytest.raises(StoreError, match="PGPASSFILE"):
            open_store(guest)
    finally:
        book.write_text(before)
        postgres.run("SELECT pg_reload_conf()")


def test_a_connection_that_is_lost_is_made_again(postgres: Cluster, aggregator: Aggregator) -> None:
    take(aggregator)
    pid = aggregator.store._db.raw.info.backend_pid
    postgres.run(f"SELECT pg_terminate_backend({pid})")
    with pytest.raises(StoreBusyError):
        aggregator.commit(1.0)
    assert aggregator.waiting == 20
    # The server says good-bye before it lets go of our name.
    wait_for(lambda: not postgres.run(f"{_BACKEND} WHERE pid = {pid}"), "the end of the connection")
    goes_on(aggregator)
    assert aggregator.store._worker == "one"
    held = postgres.run("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
    assert held[0][0] >= 1  # its name again


@pytest.mark.parametrize("code", ["53100", "25006", "57P03", "58030", "40P01"])
def test_a_batch_that_cannot_be_written_waits(
    postgres: Cluster, address: str, aggregator: Aggregator, code: str
) -> None:
    """A full disk, a standby, a start, a broken disk, a deadlock: as the server says it."""
    postgres.run(
        "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '{code}'; END$$;"
        " CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON part EXECUTE FUNCTION fail()",
        address,
    )
    take(aggregator)
    with pytest.raises(StoreBusyError):
        aggregator.commit(1.0)
    assert (aggregator.waiting, list(aggregator.store.reports(1))) == (20, [])
    assert not aggregator.verdicts
    postgres.run("DROP TRIGGER fail ON part", address)
    goes_on(aggregator)


def test_a_transaction_in_which_something_failed_is_not_taken_for_a_commit(
    aggregator: Aggregator,
) -> None:
    """The server answers COMMIT without an error, and has rolled back."""
    store = aggregator.store

    def write() -> None:
        with store.transaction():
            store.put_setting("kept", "yes")
            with suppress(psycopg.Error):
                store._db.native("SELECT 1 / 0")

    with pytest.raises(StoreBusyError, match="taken the transaction back"):
        write()
    assert store.setting("kept") is None


def test_a_table_that_goes_missing_loses_nothing(
    postgres: Cluster, address: str, aggregator: Aggregator
) -> None:
    postgres.run("ALTER TABLE withdrawn RENAME TO hidden", address)
    take(aggregator)
    with pytest.raises(StoreBusyError, match="withdrawn"):
        aggregator.commit(1.0)
    postgres.run("ALTER TABLE hidden RENAME TO withdrawn", address)
    goes_on(aggregator)


@pytest.mark.long
def test_a_standby_is_read_and_not_served_until_it_is_promoted() -> None:
    # What is committed must be in the log: else nobody could wait until the standby has it.
    primary, standby = Cluster(SAFE), Cluster(SAFE)
    try:
        primary.create().start()
        open_store(primary.address()).close()
        standby.follow(primary).start()
        with pytest.raises(StoreError, match=r"target_session_attrs=read-write$"):
            open_store(standby.address())
        open_store(standby.address(), create=False).close()  # `status` may look
        both = f"{primary.folder},{standby.folder}"
        either = f"postgresql:///postgres?host={both}&user=fsir&target_session_attrs=read-write"
        store = open_store(either)
        store.join("one")
        made = Aggregator(store, [PLAIN])
        made.start(0.0)
        take(made, 10)
        made.commit(1.0)
        _caught_up(primary)
        take(made, 20)
        primary.kill()
        with pytest.raises(StoreBusyError):
            made.commit(1.0)
        standby.promote()
        assert len(made.commit(2.0)) == 20
        assert store.totals(1, "final").devices == 20
        assert made.verdicts[PLAIN.name, "duplicate"] == 10
        store.close()
    finally:
        primary.remove()
        standby.remove()


def _caught_up(primary: Cluster) -> None:
    query = "SELECT count(*) FROM pg_stat_replication WHERE replay_lsn >= pg_current_wal_lsn()"
    wait_for(lambda: primary.run(query) != [(0,)], "the standby")
