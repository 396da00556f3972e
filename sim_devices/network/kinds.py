"""Which brokers there are: somebody's URL, mosquitto, the embedded one; and how each is started."""

from __future__ import annotations

import os
import pwd
import shutil
import sys
from pathlib import Path
from urllib.parse import urlsplit

from fsir.errors import FsirError
from fsir.net.installed import require

# Every limit that loses messages in silence is lifted: by default mosquitto keeps 1000 queued
# messages per client while it tells the publishers that all went well, and hands out 20 at a time.
# Persistence is off by default; with it, a clean stop saves everything, and a kill loses what came
# since the last save (every half hour).
MOSQUITTO_CONFIG = """\
listener {port} 127.0.0.1
allow_anonymous true
user {user}
persistence true
persistence_location {directory}/
max_queued_messages 0
max_queued_bytes 0
max_inflight_messages 0
set_tcp_nodelay true
sys_interval 0
connection_messages false
log_dest stderr
log_type error
log_type warning
"""


SLOW_DEVICES = 1000  # from so many on the embedded broker is what takes the time


class BrokerError(FsirError):
    """A broker that cannot be started, or an operation that its kind does not have."""


def find_mosquitto() -> str | None:
    """Path of the mosquitto program. Debian puts it in /usr/sbin,
    which is not on the PATH of ordinary users."""
    places = (os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/opt/homebrew/sbin")
    return shutil.which("mosquitto", path=os.pathsep.join(places))


def checked(url: str) -> str:
    """The URL of a broker that runs already."""
    parts = urlsplit(url)
    if parts.scheme not in ("mqtt", "mqtts") or not parts.hostname:
        raise BrokerError(
            f"broker {url!r}: a broker's URL is mqtt://HOST[:PORT] or mqtts://HOST[:PORT]"
        )
    return url


def available(kind: str) -> str:
    """The kind of broker to start: mosquitto or embedded."""
    if kind == "auto":
        kind = "mosquitto" if find_mosquitto() else "embedded"
    if kind not in ("mosquitto", "embedded"):
        raise BrokerError(
            f"broker {kind!r}: choose embedded, mosquitto, auto or a URL such as mqtt://host:1883"
        )
    if kind == "embedded":
        require("amqtt")  # which its process would miss, and could not tell
    if kind == "mosquitto" and find_mosquitto() is None:
        raise BrokerError(
            "mosquitto was not found on PATH: install it (apt install mosquitto) or choose embedded"
        )
    return kind


def warning(kind: str, devices: int) -> str:
    """What is to be said before so many devices come to a broker; empty if nothing is.

    >>> warning("embedded", 200), warning("mqtt://broker.example", 5000)
    ('', '')
    """
    if "://" in kind or devices < SLOW_DEVICES or available(kind) != "embedded":
        return ""
    return (
        f"{devices} devices over the embedded broker: from {SLOW_DEVICES} on mosquitto is much "
        "faster (apt install mosquitto; --broker mosquitto)"
    )


def command_of(kind: str, port: int, directory: Path) -> list[str]:
    """What starts a broker that keeps its files in a directory."""
    if kind == "embedded":
        module = "sim_devices.network.embedded"
        return [sys.executable, "-m", module, "--port", str(port), "--follow-stdin"]
    config = directory / "mosquitto.conf"
    # Started by root, mosquitto becomes the user `mosquitto`, who may not write here.
    user = pwd.getpwuid(os.getuid()).pw_name
    text = MOSQUITTO_CONFIG.format(port=port, directory=directory, user=user)
    config.write_text(text, encoding="utf-8")
    return [find_mosquitto() or "mosquitto", "-c", str(config)]
