"""The import graph of the packages, read from their source, and the cycles in it.

    python tools/imports.py [PACKAGE ...]

Every import counts: at the top of a module, inside of a function, for the type checker alone,
`importlib.import_module("...")` with a literal name, and a table's "package.module:name". What a
module needs is then known without running anything, and a cycle is a cycle however late its last
import comes.

An edge leads to the module that is named: `from package import module` to that module, and
`from package import name` to the package's `__init__`. Importing a module runs the `__init__` of
the packages above it as well; these count too, except those that the importing module is itself in.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

PACKAGES = ("fsir", "edge_agent", "aggregator", "sim_devices")
Graph = dict[str, dict[str, int]]  # importing module -> imported module -> line of the import


def import_graph(root: Path, packages: tuple[str, ...] = PACKAGES) -> Graph:
    """Which module of these packages imports which, and on which line first."""
    files = {
        _module_name(file.relative_to(root)): file
        for package in packages
        for file in sorted((root / package).rglob("*.py"))
    }
    return {module: _edges(module, file, set(files)) for module, file in files.items()}


def _module_name(path: Path) -> str:
    """
    >>> _module_name(Path("fsir/wire/codec.py")), _module_name(Path("fsir/wire/__init__.py"))
    ('fsir.wire.codec', 'fsir.wire')
    """
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _edges(module: str, file: Path, modules: set[str]) -> dict[str, int]:
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    own = set(_with_parents(module))
    edges: dict[str, int] = {}
    for name, line in _imported_names(ast.parse(file.read_text(encoding="utf-8")), package):
        for target in _with_parents(_longest_known(name, modules)):
            if target not in own and target in modules:
                edges.setdefault(target, line)
        # The one import of an own parent that counts is one that is written down.
        if (target := _longest_known(name, modules)) in own - {module}:
            edges.setdefault(target, line)
    return edges


def _imported_names(tree: ast.Module, package: str) -> Iterator[tuple[str, int]]:
    """Every name that is imported, in full, and its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = _absolute(node, package)
            yield from ((f"{start}.{alias.name}", node.lineno) for alias in node.names)
        elif (isinstance(node, ast.Call) and (name := _dynamic(node))) or (
            isinstance(node, ast.Constant) and (name := _entry_point(node))
        ):
            yield name, node.lineno


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    kept = parts[: len(parts) - node.level + 1]
    return ".".join([*kept, node.module] if node.module else kept)


def _dynamic(call: ast.Call) -> str:
    """The literal name in `importlib.import_module(...)` or `__import__(...)`; else nothing."""
    function = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    function = call.func.id if isinstance(call.func, ast.Name) else function
    if function not in ("import_module", "__import__") or not call.args:
        return ""
    argument = call.args[0]
    text = argument.value if isinstance(argument, ast.Constant) else ""
    return text if isinstance(text, str) else ""


def _entry_point(constant: ast.Constant) -> str:
    """The module of a text such as "package.module:name"; else nothing."""
    text = constant.value if isinstance(constant.value, str) else ""
    module, colon, name = text.partition(":")
    dotted = "." in module and all(part.isidentifier() for part in module.split("."))
    return f"{module}.{name}" if colon and dotted and name.isidentifier() else ""


def _longest_known(name: str, modules: set[str]) -> str:
    """The module that holds a name: `fsir.errors.FsirError` is in `fsir.errors`."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name


def _with_parents(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


def cycles(graph: Graph) -> list[list[str]]:
    """One shortest cycle of each knot of modules that need each other: where it starts, it ends.

    >>> cycles({"a": {"b": 1}, "b": {"c": 1}, "c": {"b": 7}, "d": {"a": 1}})
    [['b', 'c', 'b']]
    """
    reachable = {module: _reachable(graph, module) for module in graph}
    loops = []
    seen: set[str] = set()
    for module in sorted(graph):
        if module in reachable[module] and module not in seen:
            seen |= {other for other in reachable[module] if module in reachable[other]}
            loops.append(_shortest_loop(graph, module))
    return loops


def _reachable(graph: Graph, start: str) -> set[str]:
    """What a module needs, however far away; itself only if it is in a cycle."""
    needed: set[str] = set()
    waiting = [start]
    while waiting:
        new = set(graph[waiting.pop()]) - needed
        needed |= new
        waiting += new
    return needed


def _shortest_loop(graph: Graph, start: str) -> list[str]:
    paths = [[start]]
    while True:  # ends: a way back exists
        paths = [[*path, target] for path in paths for target in sorted(graph[path[-1]])]
        for path in paths:
            if path[-1] == start:
                return path
        paths = list({path[-1]: path for path in reversed(paths)}.values())


def described(graph: Graph, loop: list[str]) -> str:
    """A cycle in words, with the line of each import.

    >>> described({"a": {"b": 3}, "b": {"a": 5}}, ["a", "b", "a"])
    'a (line 3) -> b (line 5) -> a'
    """
    steps = [f"{one} (line {graph[one][two]})" for one, two in pairwise(loop)]
    return " -> ".join([*steps, loop[-1]])


if __name__ == "__main__":
    found = import_graph(Path(), tuple(sys.argv[1:]) or PACKAGES)
    problems = [f"import cycle: {described(found, loop)}" for loop in cycles(found)]
    print("\n".join(problems) or f"imports: {len(found)} modules, no cycle")
    sys.exit(bool(problems))
