"""Are the tests and the audit able to fail?

    python -m tools.mutants [--only TEXT] [--workers 2] [--out FILE]

Each mistake of the catalogue is made in a copy of the source; the fast tests of `fsir` and the
quick audit of the agent run there. The exit code is 1 if neither of them sees a mistake, or if one
of them complains about the source as it is.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.mutants.catalogue import MUTANTS
from tools.mutants.mutant import Mutant
from tools.mutants.trial import Outcome, tried

ROOT = Path(__file__).resolve().parents[2]


def table(outcomes: list[Outcome]) -> str:
    """The outcomes as Markdown."""
    lines = ["| mistake | seen by the tests of `fsir` | seen by the audit |", "|---|---|---|"]
    for outcome in outcomes:
        cells = (_cell(text) for text in (outcome.name, outcome.tests, outcome.audit))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|") or "no"


def main(arguments: list[str] | None = None) -> int:
    """Put all mutants on trial, and the source as it is."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("--only", default="", help="mutants whose name has this text in it")
    parser.add_argument("--workers", type=int, default=2, help="at once (default %(default)s)")
    parser.add_argument("--out", type=Path, help="write the table to this file, too")
    options = parser.parse_args(arguments)
    started = time.monotonic()
    chosen = [mutant for mutant in MUTANTS if options.only in mutant.name]

    def trial(mutant: Mutant | None) -> Outcome:
        with TemporaryDirectory(prefix="mutant-") as place:
            outcome = tried(ROOT, Path(place), mutant)
        seen = f"tests: {outcome.tests or 'no'}; audit: {outcome.audit or 'no'}"
        seen = "no trial" if outcome.error else seen
        print(f"{time.monotonic() - started:5.0f} s  {outcome.name}: {seen}", flush=True)
        return outcome

    with ThreadPoolExecutor(options.workers) as pool:
        healthy, *outcomes = pool.map(trial, [None, *chosen])
    text = table(outcomes)
    print(text)
    if options.out is not None:
        options.out.write_text(text + "\n")
    survivors = [outcome.name for outcome in outcomes if not outcome.killed]
    for outcome in [healthy, *outcomes]:
        if outcome.error:
            print(f"NO TRIAL: {outcome.name}: {outcome.error}", file=sys.stderr)
    for name in survivors:
        print(f"NOT SEEN: {name}", file=sys.stderr)
    sound = not (healthy.tests or healthy.audit or healthy.error)
    if not sound:
        print("the source as it is does not pass: see above", file=sys.stderr)
    return 0 if sound and not survivors else 1


if __name__ == "__main__":
    sys.exit(main())
