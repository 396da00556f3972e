"""axe-core, which finds faults that keep people with other senses out of a page."""

from __future__ import annotations

import functools
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.needs import find, need, not_tested

_PACKAGE = "axe-core@4.10.3"
_NPM_SECONDS = 120
_RUN = """async () => {
  const found = await axe.run(document, {resultTypes: ['violations']});
  return found.violations
    .filter((one) => ['serious', 'critical'].includes(one.impact))
    .map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(' | ')}`);
}"""


@functools.cache
def _source() -> str:
    """The program, from the registry of packages; it is kept for this process alone."""
    need("npm")
    with tempfile.TemporaryDirectory() as folder:
        command = [str(find("npm")), "pack", _PACKAGE, "--silent", "--pack-destination", folder]
        try:
            subprocess.run(
                command, cwd=folder, check=True, capture_output=True, timeout=_NPM_SECONDS
            )
        except (subprocess.SubprocessError, OSError) as error:
            not_tested(f"{_PACKAGE} cannot be fetched: {error}")
        (packed,) = Path(folder).glob("*.tgz")
        unpack = ["tar", "-xzf", packed.name, "package/axe.min.js"]
        subprocess.run(unpack, cwd=folder, check=True)
        return (Path(folder) / "package" / "axe.min.js").read_text(encoding="utf-8")


def serious(one: Any) -> list[str]:
    """The serious and critical faults of a page."""
    # By the protocol of the developer tools: the page's own policy lets no stranger's script in.
    one.protocol().send("Runtime.evaluate", {"expression": _source()})
    return list(one.page.evaluate(_RUN))
