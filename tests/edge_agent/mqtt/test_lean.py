"""What paho imports for others is loaded with its first use, and then all of it is there."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# As `fsir-agent` does it; what follows is said in the same process.
LEAN = """
import sys
from edge_agent.mqtt import lean
with lean.imports():
    import paho.mqtt.client as mqtt
loaded = lambda: "libcrypto" in open("/proc/self/maps").read()
"""


def said(code, before="", **environment):
    command = [sys.executable, "-c", before + LEAN + code]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env=os.environ | environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_paho_and_hashes_do_without_it():
    code = "import hashlib; print(loaded(), hashlib.sha256(b'').hexdigest()[:8])"
    assert said(code) == ["False", "e3b0c442"]


def test_paho_gets_it_for_an_encrypted_connection():
    code = """
lean.encrypt()
import ssl
client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
client.tls_set_context(ssl.create_default_context())
print(loaded(), mqtt.ssl is ssl)
"""
    assert said(code) == ["True", "True"]


def test_others_find_it_afterwards():
    assert said("import ssl, _hashlib; print(ssl.OPENSSL_VERSION_NUMBER > 0)") == ["True"]


def test_the_web_is_there_once_it_is_used():
    code = """
there = lambda: "http.client" in sys.modules
print(there(), mqtt.urllib.request.getproxies()["mqtt"], there())
import http.client, urllib.request
print(mqtt.urllib.request is urllib.request, hasattr(http.client, "HTTPSConnection"))
"""
    proxy = "http://here"
    assert said(code, MQTT_PROXY=proxy) == ["False", proxy, "True", "True", "True"]


@pytest.mark.parametrize("there", ["ssl", "_hashlib", "urllib.request", "paho.mqtt.client"])
def test_what_is_loaded_already_stays_as_it_is(there):
    code = "import ssl; print(mqtt.ssl is ssl)"
    assert said(code, before=f"import {there}\n") == ["True"]


@pytest.mark.parametrize("error", [BlockingIOError, ConnectionResetError])
def test_a_connection_that_is_not_encrypted_fails_as_ever(error):
    """paho tells errors of `ssl` from others wherever it reads and writes."""
    code = f"""
class Socket:
    def recv(self, size): raise {error.__name__}
    send = recv
client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
client._sock = Socket()
for act in (lambda: client._sock_recv(1), lambda: client._sock_send(b"x")):
    try:
        act()
    except Exception as error:
        print(type(error).__name__)
print(loaded())
"""
    assert said(code) == [error.__name__, error.__name__, "False"]
