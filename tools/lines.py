"""How the lines of this project look: what a formatter does not see. Part of `make lint`.

    python tools/lines.py [FOLDER ...]

Counts, for each folder of code, assignments that pack several unrelated values into one line
(`self.a, self.b = a, b`), lines over 100 columns, `# fmt: skip`, and modules per folder. Unpacking
what a function returned, swaps and recurrences (`low, high = high, 2 * high`) are fine.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

FOLDERS = (
    "fsir",
    "edge_agent",
    "aggregator",
    "sim_devices",
    "tests",
    "benchmarks",
    "tools",
    "deploy",
)
MOST_PACKED_PER_1000_LINES = 3.0
MOST_COLUMNS = 100
MOST_SKIPS = 10  # in all
MOST_MODULES = 14  # in one folder
MOST_AT_ROOT = {"fsir": 8, "edge_agent": 10, "aggregator": 12, "sim_devices": 6}


def packed_assignments(source: str) -> list[int]:
    """The lines on which unrelated values are packed into one assignment.

    >>> packed_assignments("a, b = 1, 2\\nself.x, y = y, f(z)\\nc, d = f()\\na, b = b, a + b")
    [1, 2]
    """
    return [node.lineno for node in ast.walk(ast.parse(source)) if _is_packed(node)]


def _is_packed(node: ast.AST) -> bool:
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Tuple):
        return False
    targets = [target for target in node.targets if isinstance(target, ast.Tuple)]
    return any(not _is_recurrence(target, node.value) for target in targets)


def _is_recurrence(target: ast.Tuple, value: ast.Tuple) -> bool:
    """Whether every value on the right is made of names on the left: a swap, a step of an iteration."""
    if any(isinstance(entry, ast.Attribute) for entry in target.elts):
        return False
    names = {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
    used = [
        {node.id for node in ast.walk(entry) if isinstance(node, ast.Name)} for entry in value.elts
    ]
    return all(names & some for some in used)


def faults(folders: list[str]) -> list[str]:
    """What is wrong, one line each."""
    found = []
    skips = 0
    for folder in folders:
        files = sorted(Path(folder).rglob("*.py"))
        lines = 0
        packed = []
        for file in files:
            source = file.read_text(encoding="utf-8")
            lines += source.count("\n")
            packed += [f"{file}:{line}: packed assignment" for line in packed_assignments(source)]
            skips += source.count("# fmt: skip")
            found += [
                f"{file}:{number}: {len(line)} columns"
                for number, line in enumerate(source.splitlines(), 1)
                if len(line) > MOST_COLUMNS
            ]
        if packed and 1000 * len(packed) / lines >= MOST_PACKED_PER_1000_LINES:
            found += [*packed, f"{folder}: {len(packed)} packed assignments in {lines} lines"]
        found += _crowded(folder, files)
    if skips > MOST_SKIPS:
        found.append(f"{skips} times '# fmt: skip', at most {MOST_SKIPS}")
    return found


def _crowded(folder: str, files: list[Path]) -> list[str]:
    counts: dict[Path, int] = {}
    for file in files:
        counts[file.parent] = counts.get(file.parent, 0) + 1
    limits = {Path(root): most for root, most in MOST_AT_ROOT.items()}
    return [
        f"{place}: {count} modules, at most {limits.get(place, MOST_MODULES)}"
        for place, count in counts.items()
        if count > limits.get(place, MOST_MODULES)
    ]


if __name__ == "__main__":
    problems = faults(sys.argv[1:] or [name for name in FOLDERS if Path(name).is_dir()])
    print("\n".join(problems) or "lines: fine")
    sys.exit(bool(problems))
