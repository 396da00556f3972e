"""Run all benchmarks, or those named; print figure, value and bar, and keep everything in \
out/benchmarks.json."""

from __future__ import annotations

import argparse
import importlib
import json
import operator
import pkgutil
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import benchmarks

KEPT = Path("out/benchmarks.json")
_COMPARISONS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}


def available() -> dict[str, ModuleType]:
    """Every benchmark, by name."""
    names = sorted(
        info.name
        for info in pkgutil.iter_modules(benchmarks.__path__)
        if not info.name.startswith("_")
    )
    modules = {name: importlib.import_module(f"benchmarks.{name}") for name in names}
    return {name: module for name, module in modules.items() if hasattr(module, "run")}


def met(value: float, bar: str | None) -> bool | None:
    """Whether a value reaches its bar (a comparison and a number, such as '>= 0.5');
    None where there is no bar."""
    if bar is None:
        return None
    comparison, limit = bar.split()
    return bool(_COMPARISONS[comparison](value, float(limit)))


def rows(figures: Mapping[str, float], bars: Mapping[str, str]) -> list[str]:
    """One line for each figure."""
    said = {None: "", True: "met", False: "MISSED"}
    return [
        f"{n:<72} {v:>12.4g}  {bars.get(n, ''):<10} {said[met(v, bars.get(n))]}".rstrip()
        for n, v in figures.items()
    ]


def main(arguments: list[str] | None = None) -> int:
    """The command; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="benchmarks to run; all if none is named"
    )
    chosen = parser.parse_args(arguments).names
    modules = available()
    if unknown := set(chosen) - set(modules):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(modules)}")
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    missed = False
    for name in chosen or modules:
        figures: dict[str, float] = modules[name].run()
        bars: dict[str, str] = getattr(modules[name], "BARS", {})
        if unused := set(bars) - set(figures):
            raise KeyError(f"benchmark {name}: bars without a figure: {sorted(unused)}")
        print(f"--- {name}", *rows(figures, bars), sep="\n", flush=True)
        missed |= any(met(value, bars.get(figure)) is False for figure, value in figures.items())
        kept[name] = {
            figure: {"value": value, "bar": bars.get(figure)} for figure, value in figures.items()
        }
        KEPT.parent.mkdir(parents=True, exist_ok=True)
        KEPT.write_text(json.dumps(kept, indent=2) + "\n")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
