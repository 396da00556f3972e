"""OpenSSL once a connection is encrypted, and not before.

paho loads it for whoever may need it, and the hashes of Python load it although they have their
own. That is an eighth of the memory of an agent whose broker is in the same house.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_OPENSSL = ("ssl", "_hashlib")
_PAHO = "paho.mqtt.client"


class _Unencrypted:
    """What paho asks of `ssl` where nothing is encrypted: what errors to expect. None."""

    SSLWantReadError: tuple[type[Exception], ...] = ()
    SSLWantWriteError: tuple[type[Exception], ...] = ()


@contextmanager
def put_off() -> Iterator[None]:
    """Meanwhile imports do without it, as they know how to: there are Pythons that have none."""
    if any(name in sys.modules for name in (*_OPENSSL, _PAHO)):
        yield  # too late: nothing would be saved
        return
    for name in _OPENSSL:
        sys.modules[name] = None  # type: ignore[assignment] # as the interpreter notes an absence
    try:
        yield
    finally:
        for name in _OPENSSL:
            del sys.modules[name]
        _give_paho(_Unencrypted)


def bring() -> None:
    """Let paho encrypt."""
    import ssl

    _give_paho(ssl)


def _give_paho(security: object) -> None:
    if _PAHO in sys.modules:
        vars(sys.modules[_PAHO])["ssl"] = security
