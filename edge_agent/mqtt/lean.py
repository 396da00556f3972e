"""The library paho without what it imports for others than us: a device is small.

OpenSSL waits for an encrypted connection; the hashes of Python load it, too, although they have
their own. What Python knows of the web, and of mail with it, paho needs behind a proxy. Together
they would be an eighth of an agent's memory.
"""

from __future__ import annotations

import sys
import urllib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

_OPENSSL = ("ssl", "_hashlib")
_WEB = "urllib.request"
_PAHO = "paho.mqtt.client"


class _Unencrypted:
    """What paho asks of `ssl` where nothing is encrypted: which errors to expect. None."""

    SSLWantReadError: tuple[type[Exception], ...] = ()
    SSLWantWriteError: tuple[type[Exception], ...] = ()


class _Later(ModuleType):
    """Stands for a module until something of it is used."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


@contextmanager
def imports() -> Iterator[None]:
    """Meanwhile imports do without OpenSSL, as they know how to: there are Pythons without it."""
    if any(name in sys.modules for name in (*_OPENSSL, _WEB, _PAHO)):
        yield  # too late: nothing would be saved
        return
    sys.modules[_WEB] = urllib.request = _Later(_WEB)  # type: ignore[attr-defined]
    for name in _OPENSSL:
        sys.modules[name] = None  # type: ignore[assignment] # as the interpreter notes an absence
    try:
        yield
    finally:
        for name in _OPENSSL:
            del sys.modules[name]
        _give_paho(_Unencrypted)


def encrypt() -> None:
    """Give paho OpenSSL."""
    import ssl

    _give_paho(ssl)


def _give_paho(security: object) -> None:
    if _PAHO in sys.modules:
        vars(sys.modules[_PAHO])["ssl"] = security
