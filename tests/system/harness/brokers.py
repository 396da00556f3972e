"""mosquitto as others configure it: Debian's defaults, and the limits that we ship."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from sim_devices.network.broker import LocalBroker
from sim_devices.network.kinds import find_mosquitto

SHIPPED = Path(__file__).resolve().parents[3] / "deploy" / "mosquitto" / "mosquitto.conf"
# What Debian's file says beside the listener: memory on, and every limit as mosquitto has it (1000
# queued messages, 20 in flight, a save every 1800 seconds).
_DEBIAN = ("persistence true",)
_LOGGING = ("log_dest stderr", "log_type error", "log_type warning")
# Of ours all but who gets in: accounts and certificates are tested where they are made.
_LIMITS = (
    "persistence ",
    "autosave_",
    "max_",
    "memory_limit",
    "persistent_client_expiration",
    "set_tcp_nodelay",
)


def settings(kind: str) -> tuple[str, ...]:
    """The lines of a kind of configuration that have to do with keeping and losing messages."""
    if kind == "debian":
        return _DEBIAN
    return tuple(line for line in SHIPPED.read_text().splitlines() if line.startswith(_LIMITS))


class Mosquitto(LocalBroker):
    """A broker with a memory, `kill` and `restart`."""

    def __init__(self, kind: str = "debian", more: tuple[str, ...] = ()) -> None:
        super().__init__()
        self._settings = (*settings(kind), *more)

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._port

    def _command(self, directory: Path) -> list[str]:
        user = pwd.getpwuid(os.getuid()).pw_name
        lines = [f"listener {self._port} 127.0.0.1", "allow_anonymous true", f"user {user}"]
        lines += self._settings
        lines += [f"persistence_location {directory}/", *_LOGGING]
        settings_file = directory / "mosquitto.conf"
        settings_file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return [find_mosquitto() or "mosquitto", "-c", str(settings_file)]

    @property
    def saved(self) -> bool:
        """Whether it has ever written its memory to the disk."""
        memory = self._directory and Path(self._directory.name) / "mosquitto.db"
        return bool(memory) and memory.exists()
