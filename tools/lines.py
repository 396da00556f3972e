"""How the lines of this project look: what a formatter does not see. Part of `make lint`.

    python tools/lines.py [FOLDER ...]

Counts, for each folder of code, assignments that pack several unrelated values into one line
(`self.a, self.b = a, b`), lines over 100 columns, comments that turn the formatter off, and modules
per folder. Unpacking what a function returned, swaps and recurrences (`low, high = high, 2 * high`)
are fine. Scripts without a suffix are read too, if their first line names Python.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
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
FORMATTER_OFF = re.compile(r"#\s*fmt:\s*(skip|off)\b")


def packed_assignments(source: str) -> list[int]:
    """The lines on which unrelated values are packed into one assignment.

    >>> packed_assignments("a, b = 1, 2\\nself.x, y = y, f(z)\\nc, d = f()\\na, b = b, a + b")
    [1, 2]
    """
    return sorted(node.lineno for node in ast.walk(ast.parse(source)) if _is_packed(node))


def _is_packed(node: ast.AST) -> bool:
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Tuple | ast.List):
        return False
    values = [ast.unparse(value) for value in node.value.elts]
    targets = [target for target in node.targets if isinstance(target, ast.Tuple | ast.List)]
    return any(
        not _is_recurrence([ast.unparse(t) for t in target.elts], values) for target in targets
    )


def _is_recurrence(places: list[str], values: list[str]) -> bool:
    """Whether every value is made of what stands on the left, and one of what another place held.

    >>> _is_recurrence(["low", "high"], ["high", "2 * high"])
    True
    >>> _is_recurrence(["count", "text"], ["count + 1", "text.strip()"])
    False
    """
    used = [{place for place in places if _mentions(value, place)} for value in values]
    crossed = any(used[k] - {place} for k, place in enumerate(places) if k < len(used))
    return all(used) and crossed


def _mentions(expression: str, place: str) -> bool:
    nodes = ast.walk(ast.parse(expression.removeprefix("*"), mode="eval"))
    return any(isinstance(node, ast.expr) and ast.unparse(node) == place for node in nodes)


def formatter_off(source: str) -> list[int]:
    """The lines with a comment that turns the formatter off; a text that speaks of it is none.

    >>> formatter_off("a = [1,2]  # fmt: skip\\nb = 'no # fmt: skip'\\n# fmt: off\\n")
    [1, 3]
    """
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [token for token in tokens if token.type == tokenize.COMMENT]
    return [token.start[0] for token in comments if FORMATTER_OFF.search(token.string)]


def long_lines(source: str) -> dict[int, int]:
    """The lines over the limit, and how long they are."""
    lines = enumerate(source.split("\n"), 1)
    return {number: len(line) for number, line in lines if len(line) > MOST_COLUMNS}


def python_files(place: Path) -> list[Path]:
    """All Python below a folder, with a suffix or without; or the one file."""
    if not place.exists():
        raise FileNotFoundError(f"{place}: no such file or folder")
    if place.is_file():
        return [place]
    return sorted(file for file in place.rglob("*") if file.is_file() and _is_python(file))


def _is_python(file: Path) -> bool:
    if file.suffix:
        return file.suffix == ".py"
    with file.open("rb") as opened:
        first = opened.readline()
    return first.startswith(b"#!") and b"python" in first


def faults(places: list[str]) -> list[str]:
    """What is wrong, one line each."""
    problems: list[str] = []
    skips: list[str] = []
    for place in places:
        sources = {file: file.read_text(encoding="utf-8") for file in python_files(Path(place))}
        problems += [line for file, source in sources.items() for line in _long(file, source)]
        problems += _packed(place, sources)
        problems += _crowded(list(sources))
        for file, source in sources.items():
            skips += [f"{file}:{line}: the formatter is off" for line in formatter_off(source)]
    if len(skips) > MOST_SKIPS:
        problems += [*skips, f"the formatter is off {len(skips)} times, at most {MOST_SKIPS}"]
    return problems


def _long(file: Path, source: str) -> Iterator[str]:
    return (f"{file}:{number}: {columns} columns" for number, columns in long_lines(source).items())


def _packed(place: str, sources: dict[Path, str]) -> list[str]:
    packed = [
        f"{file}:{line}: packed assignment"
        for file, source in sources.items()
        for line in packed_assignments(source)
    ]
    lines = sum(source.count("\n") for source in sources.values())
    if not packed or 1000 * len(packed) < MOST_PACKED_PER_1000_LINES * lines:
        return []
    return [*packed, f"{place}: {len(packed)} packed assignments in {lines} lines"]


def _crowded(files: list[Path]) -> list[str]:
    limits = {Path(root): most for root, most in MOST_AT_ROOT.items()}
    counts = Counter(file.parent for file in files)
    return [
        f"{folder}: {count} modules, at most {limits.get(folder, MOST_MODULES)}"
        for folder, count in counts.items()
        if count > limits.get(folder, MOST_MODULES)
    ]


if __name__ == "__main__":
    problems = faults(sys.argv[1:] or [name for name in FOLDERS if Path(name).is_dir()])
    print("\n".join(problems) or "lines: fine")
    sys.exit(bool(problems))
