"""The accelerometer and the gyroscope that an owner means by a name; see source.py for names."""

from __future__ import annotations

from pathlib import Path

from edge_agent.errors import SourceError
from edge_agent.sources.base import Options
from edge_agent.sources.iio.sensor import ACCELERATION, ROTATION, Sensor


def find(name: str, devices: Path, options: Options) -> tuple[Sensor, Sensor]:
    """The accelerometer and the gyroscope that a name stands for."""
    there = {folder: _names(folder) for folder in sorted(devices.glob("iio:device*"))}
    parts = name.split("+")
    wanted = {form for part in parts for form in (part, f"{part}_accel", f"{part}_gyro")}
    chosen = [folder for folder, names in there.items() if names & wanted]

    def having(kind: str) -> Path:
        folders = [folder for folder in chosen if (folder / f"in_{kind}_x_raw").exists()]
        if len(folders) != 1:
            raise SourceError(
                f"source iio:{name}: {len(folders)} devices of this name have in_{kind}_x_raw, "
                f"and it must be one; in {devices} are: {_listed(there)}"
            )
        return folders[0]

    acc = Sensor(having(ACCELERATION), ACCELERATION, options.acc_range)
    return acc, Sensor(having(ROTATION), ROTATION, options.gyro_range)


def _names(folder: Path) -> set[str]:
    files = (folder / "name", folder / "label")
    texts = (file.read_text(errors="replace").strip() for file in files if file.is_file())
    return {folder.name, *texts}


def _listed(there: dict[Path, set[str]]) -> str:
    """The devices with their names, for people."""
    devices = [
        f"{folder.name} ({' '.join(sorted(names - {folder.name}))})"
        for folder, names in there.items()
    ]
    return ", ".join(devices) or "none"
