"""The key pair of an aggregator, and the file that it lives in.

A pair is two keys: X25519, to which devices seal shares, and Ed25519, by which the other aggregator
knows its messages. The public half of both is one line of base64 and stands in the task.
"""

from __future__ import annotations

import base64
import os
import stat
import tomllib
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from fsir.errors import KeyFileError, shown
from fsir.limits import DEVICE_NAME
from fsir.task.secure import EXCHANGE_BYTES, PUBLIC_BYTES, Party, Secure
from fsir.wire.cohort import Verify

_FILE = """\
# The key of an aggregator. Whoever has it can open the shares that are sealed to it.
name = "{name}"
public = "{public}"
private = "{private}"
"""
_NEW = "make one by `fsir-aggregator keys new`"
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True)
class KeyPair:
    """Both private keys of one aggregator."""

    name: str
    exchange: X25519PrivateKey
    signing: Ed25519PrivateKey

    @classmethod
    def new(cls, name: str) -> KeyPair:
        """A fresh pair."""
        return cls(name, X25519PrivateKey.generate(), Ed25519PrivateKey.generate())

    @property
    def party(self) -> Party:
        """What stands in the task: name and public half."""
        public = (
            self.exchange.public_key().public_bytes_raw()
            + self.signing.public_key().public_bytes_raw()
        )
        return Party(self.name, base64.b64encode(public).decode())

    def sign(self, raw: bytes) -> bytes:
        """The signature of this aggregator."""
        return self.signing.sign(raw)


def verifier(secure: Secure) -> Verify:
    """Tells whether a signature is that of the aggregator with a role in this task."""

    def verify(role: str, raw: bytes, signature: bytes) -> bool:
        try:
            key = Ed25519PublicKey.from_public_bytes(secure.party(role).signing_key)
            key.verify(signature, raw)
        except (InvalidSignature, ValueError):
            return False
        return True

    return verify


def write_pair(pair: KeyPair, path: str | Path) -> None:
    """Write a new file that its owner alone can read; one that is there is never overwritten."""
    private = pair.exchange.private_bytes_raw() + pair.signing.private_bytes_raw()
    text = _FILE.format(
        name=pair.name,
        public=pair.party.key,
        private=base64.b64encode(private).decode(),
    )
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise KeyFileError(
            f"key file {path}: is there already; give another name, for what is sealed to the old "
            "key opens with nothing else"
        ) from None
    except OSError as error:
        raise KeyFileError(f"key file {path}: {error.strerror}; give another path") from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def read_pair(path: str | Path) -> KeyPair:
    """The pair in a file; a `KeyFileError` with the remedy if there is none to be trusted."""
    try:
        with open(path, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            table = tomllib.load(file)
    except OSError as error:
        remedy = "give the path that `fsir-aggregator keys new` has written"
        raise KeyFileError(f"key file {path}: {error.strerror}; {remedy}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise KeyFileError(f"key file {path}: is no key file; {_NEW}") from None
    if mode & _OTHERS:
        raise KeyFileError(
            f"key file {path}: others may read it (mode {stat.S_IMODE(mode):o}); chmod 600 it"
        )
    return _pair(path, table)


def _pair(path: str | Path, table: dict[str, object]) -> KeyPair:
    name = table.get("name")
    if not isinstance(name, str) or not DEVICE_NAME.match(name):
        raise KeyFileError(f"key file {path}: name = {shown(name)}: is no name; {_NEW}")
    raw = _private(table.get("private"))
    if raw is None:
        # The value is not shown: it may be most of a key.
        raise KeyFileError(f"key file {path}: private: is not {PUBLIC_BYTES} bytes; {_NEW}")
    pair = KeyPair(
        name,
        X25519PrivateKey.from_private_bytes(raw[:EXCHANGE_BYTES]),
        Ed25519PrivateKey.from_private_bytes(raw[EXCHANGE_BYTES:]),
    )
    if table.get("public") != pair.party.key:
        raise KeyFileError(f"key file {path}: public and private do not belong together; {_NEW}")
    return pair


def _private(text: object) -> bytes | None:
    if not isinstance(text, str):
        return None
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    return raw if len(raw) == PUBLIC_BYTES else None
