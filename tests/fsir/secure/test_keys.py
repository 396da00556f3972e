"""Key files: read back as written, by their owner alone, and never overwritten."""

from __future__ import annotations

import os
import stat

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

from fsir.errors import KeyFileError
from fsir.secure.keys import KeyPair, read_pair, verifier, write_pair
from fsir.task.secure import HELPER, LEADER, hides_nothing, public_half
from tests.fsir.secure.made import PAIRS, keyed_task


@pytest.fixture
def written(tmp_path):
    pair = KeyPair.new("hospital")
    path = tmp_path / "hospital.key"
    write_pair(pair, path)
    return pair, path


def test_a_pair_is_read_back_as_it_was_written(written):
    pair, path = written
    again = read_pair(path)
    assert again.party == pair.party
    assert again.sign(b"x") == pair.sign(b"x")  # Ed25519 is deterministic
    assert public_half(pair.party.key) is not None


def test_only_the_owner_can_read_the_file(written):
    _, path = written
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    path.chmod(0o640)
    with pytest.raises(KeyFileError, match="chmod 600"):
        read_pair(path)


def test_a_key_is_never_overwritten(written):
    _, path = written
    before = path.read_bytes()
    with pytest.raises(KeyFileError, match="is there already"):
        write_pair(KeyPair.new("hospital"), path)
    assert path.read_bytes() == before


def test_every_fault_of_a_file_is_named(written, tmp_path):
    pair, path = written
    text = path.read_text()
    faults = {
        "no key file": "not = = toml",
        "is no name": text.replace("hospital", "a/b"),
        "is not 64 bytes": text.replace('private = "', 'private = "AAAA'),
        "do not belong together": text.replace(pair.party.key, KeyPair.new("x").party.key),
    }
    for fault, content in faults.items():
        path.write_text(content)
        with pytest.raises(KeyFileError, match=fault) as caught:
            read_pair(path)
        assert "keys new" in str(caught.value)
        assert "AAAA" not in str(caught.value)  # no part of a private key is shown
    with pytest.raises(KeyFileError, match="No such file"):
        read_pair(tmp_path / "missing")
    with pytest.raises(KeyFileError, match="give another path"):
        write_pair(pair, tmp_path / "missing" / "key")


def test_a_signature_is_that_of_one_role():
    verify = verifier(keyed_task().secure)
    signature = PAIRS[LEADER].sign(b"said")
    assert verify(LEADER, b"said", signature)
    assert not verify(HELPER, b"said", signature)
    assert not verify(LEADER, b"other", signature)
    assert not verify(LEADER, b"said", signature[:-1] + b"x")
    assert not verify(LEADER, b"said", b"")


_FIELD = 2**255 - 19
_OF_ORDER_8 = (
    325606250916557431795983626356110631294008115727848805560023387167927233504,
    39382357235489614581723060781553021112529911719440698176882885853963445705823,
)


@pytest.mark.parametrize("u", [0, 1, _FIELD - 1, _FIELD, _FIELD + 1, *_OF_ORDER_8, *range(2, 20)])
@pytest.mark.parametrize("top", [0, 2**255])
def test_a_task_refuses_exactly_the_keys_with_which_nothing_would_be_secret(u, top):
    """The device would find out only when its report is due, and stop."""
    key = (u + top).to_bytes(32, "little")
    try:
        KeyPair.new("me").exchange.exchange(X25519PublicKey.from_public_bytes(key))
        secret = True
    except ValueError:
        secret = False
    assert hides_nothing(key) == (not secret) == (u not in range(2, 20))
