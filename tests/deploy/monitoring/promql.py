"""Enough of PromQL to read what we ship: which metrics and labels it uses, and what it says.

Instant and range selectors, arithmetic, comparisons, `and`, `or`, `unless` between equal
labels, sums and maxima `by` labels, and a few functions. Whatever else stands in an expression is a
mistake here.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

STALE_SECONDS = 300.0  # a sample that is older is not seen
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+(?:\.\d+)?(?![\w.]))|(?P<name>[a-zA-Z_:][\w:]*)|(?P<text>"[^"]*")
    |(?P<span>\[[^\]]*\])|(?P<sign>=~|!~|==|!=|>=|<=|[-+*/(){},=<>]))""",
    re.VERBOSE,
)
_LEVELS = (("or",), ("and", "unless"), ("==", "!=", ">", "<", ">=", "<="), ("+", "-"), ("*", "/"))
_ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
_COMPARED = {
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
}
_SUMS: dict[str, Callable[[list[float]], float]] = {"sum": sum, "max": max, "min": min}
_FUNCTIONS = ("increase", "rate", "time", "histogram_quantile", "clamp_min", "label_values")

Labels = frozenset[tuple[str, str]]
Vector = dict[Labels, float]
Series = Mapping[tuple[str, Labels], list[tuple[float, float]]]  # times and values, in order


def labels(**values: str) -> Labels:
    """Labels of a series."""
    return frozenset(values.items())


@dataclass
class Selector:
    """A metric, what its labels must be, and how far back it reaches."""

    metric: str
    matchers: list[tuple[str, str, str]] = field(default_factory=list)
    span: float | None = None


@dataclass
class Call:
    """An operator, a function or a sum over others; `by` are the labels that a sum keeps."""

    name: str
    arguments: list[Any]
    by: tuple[str, ...] | None = None


class Parser:
    """From a text to a tree; raises ValueError for what is not understood."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0

    def parse(self) -> Any:
        """The tree of the whole text."""
        tree = self._binary(0)
        if self._at < len(self._tokens):
            raise ValueError(f"unexpected {self._peek()!r}")
        return tree

    def _peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _kind(self) -> str:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def _expect(self, token: str) -> None:
        if (found := self._next()) != token:
            raise ValueError(f"{found!r} where {token!r} is expected")

    def _binary(self, level: int) -> Any:
        if level == len(_LEVELS):
            return self._primary()
        tree = self._binary(level + 1)
        while self._peek() in _LEVELS[level]:
            tree = Call(self._next(), [tree, self._binary(level + 1)])
        return tree

    def _primary(self) -> Any:
        if self._kind() == "number":
            return float(self._next())
        if self._peek() == "(":
            return self._inside()
        if self._kind() != "name":
            raise ValueError(f"unexpected {self._peek()!r}")
        name = self._next()
        if name in _SUMS:
            by = self._by() if self._peek() == "by" else None
            arguments = self._arguments()
            return Call(name, arguments, by or (self._by() if self._peek() == "by" else ()))
        if self._peek() == "(":
            if name not in _FUNCTIONS:
                raise ValueError(f"unknown function {name!r}")
            return Call(name, self._arguments())
        return self._selector(name)

    def _inside(self) -> Any:
        self._expect("(")
        tree = self._binary(0)
        self._expect(")")
        return tree

    def _by(self) -> tuple[str, ...]:
        self._expect("by")
        self._expect("(")
        names = []
        while self._peek() != ")":
            names.append(self._next())
            if self._peek() == ",":
                self._next()
        self._expect(")")
        return tuple(names)

    def _arguments(self) -> list[Any]:
        self._expect("(")
        found = []
        while self._peek() != ")":
            found.append(self._binary(0))
            if self._peek() == ",":
                self._next()
        self._expect(")")
        return found

    def _selector(self, name: str) -> Selector:
        selector = Selector(name)
        if self._peek() == "{":
            self._next()
            while self._peek() != "}":
                label = self._next()
                sign = self._next()
                if sign not in ("=", "!=", "=~", "!~"):
                    raise ValueError(f"{sign!r} between a label and its value")
                selector.matchers.append((label, sign, self._next().strip('"')))
                if self._peek() == ",":
                    self._next()
            self._expect("}")
        if self._kind() == "span":
            selector.span = _seconds(self._next()[1:-1])
        return selector


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    text = text.rstrip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError(f"not understood: {text[at : at + 30]!r}")
        at = found.end()
        kind = str(found.lastgroup)
        yield kind, found[kind]


def _seconds(text: str) -> float:
    """A span; Grafana's own variables stand for a few minutes."""
    if text.startswith("$__"):
        return 300.0
    if not re.fullmatch(r"\d+[smhd]", text):
        raise ValueError(f"{text!r} is no span of time")
    return float(text[:-1]) * _UNITS[text[-1]]


def selectors(tree: Any) -> list[Selector]:
    """Every selector in a tree."""
    if isinstance(tree, Selector):
        return [tree]
    parts = tree.arguments if isinstance(tree, Call) else []
    return [found for part in parts for found in selectors(part)]


def kept_labels(tree: Any) -> set[str]:
    """Every label that a sum keeps."""
    if not isinstance(tree, Call):
        return set()
    return set(tree.by or ()).union(*(kept_labels(part) for part in tree.arguments))


# --- what an expression says ----------------------------------------------------------------------


def evaluate(text: str, series: Series, now: float) -> Vector | float:
    """What an expression gives at an instant."""
    return _value(Parser(text).parse(), series, now)


def _value(tree: Any, series: Series, now: float) -> Any:
    if isinstance(tree, float):
        return tree
    if isinstance(tree, Selector):
        return _instant(tree, series, now)
    if tree.name == "time":
        return now
    if tree.name in ("increase", "rate"):
        (selector,) = tree.arguments
        return _increase(selector, series, now, per_second=tree.name == "rate")
    values = [_value(part, series, now) for part in tree.arguments]
    if tree.name in _SUMS:
        return _summed(_SUMS[tree.name], values[0], tree.by)
    left, right = values
    if tree.name in ("and", "unless"):
        return {key: one for key, one in left.items() if (key in right) == (tree.name == "and")}
    if tree.name == "or":
        return {**right, **left}
    return _matched(tree.name, left, right)


def _matches(selector: Selector, found: Labels) -> bool:
    values = dict(found)
    for label, sign, wanted in selector.matchers:
        value = values.get(label, "")
        same = bool(re.fullmatch(wanted, value)) if "~" in sign else value == wanted
        if same == sign.startswith("!"):
            return False
    return True


def _chosen(selector: Selector, series: Series) -> Iterator[tuple[Labels, list[Any]]]:
    for (name, found), samples in series.items():
        if name == selector.metric and _matches(selector, found):
            yield found, samples


def _instant(selector: Selector, series: Series, now: float) -> Vector:
    vector = {}
    for found, samples in _chosen(selector, series):
        seen = [value for when, value in samples if now - STALE_SECONDS < when <= now]
        if seen:
            vector[found] = seen[-1]
    return vector


def _increase(selector: Selector, series: Series, now: float, *, per_second: bool) -> Vector:
    """By how much a counter has grown; a fall is a restart from 0."""
    span = selector.span or 0.0
    vector = {}
    for found, samples in _chosen(selector, series):
        seen = [value for when, value in samples if now - span <= when <= now]
        if len(seen) > 1:
            steps = zip(seen[1:], seen, strict=False)
            grown = sum(after - before if after >= before else after for after, before in steps)
            vector[found] = grown / span if per_second else grown
    return vector


def _summed(how: Callable[[list[float]], float], vector: Vector, by: tuple[str, ...]) -> Vector:
    groups: dict[Labels, list[float]] = {}
    for found, value in vector.items():
        key = frozenset((name, value) for name, value in found if name in by)
        groups.setdefault(key, []).append(value)
    return {key: how(values) for key, values in groups.items()}


def _matched(name: str, left: Any, right: Any) -> Any:
    """Arithmetic or a comparison, which lets through what it is true for."""
    if not isinstance(left, dict) and not isinstance(right, dict):
        return _ARITHMETIC[name](left, right)
    keys = [set(side) for side in (left, right) if isinstance(side, dict)]
    result = {}
    for key in set.intersection(*keys):
        one = left[key] if isinstance(left, dict) else left
        other = right[key] if isinstance(right, dict) else right
        if name in _ARITHMETIC:
            result[key] = _ARITHMETIC[name](one, other)
        elif _COMPARED[name](one, other):
            result[key] = one
    return result
