"""Exact sums before any noise: of one client, of each client, and merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fsir.arrays import Matrix

ClientMoments = tuple[Matrix, Matrix, Matrix]  # sums, counts, second moment


@dataclass(frozen=True, eq=False)
class ExactMoments:
    """Slice sums (p x columns), slice counts and second moment,
    in accumulated integers or in plain units."""

    n: int
    sums: Matrix
    counts: Matrix
    second: Matrix


@dataclass(frozen=True, eq=False)
class PerClient:
    """Moments of every client, at one size."""

    n: int
    sums: Matrix  # clients x p x H
    counts: Matrix  # clients x H
    second: Matrix  # clients x p x p

    def first(self, clients: int) -> ExactMoments:
        """Merged over the first clients."""
        parts = (part[:clients].sum(axis=0) for part in (self.sums, self.counts, self.second))
        return ExactMoments(self.n * clients, *parts)


def client_moments(rows: Matrix, one_hot: Matrix, sizes: Sequence[int]) -> list[ClientMoments]:
    """Sums, counts and second moment of one client's first records,
    for each of the increasing sizes."""
    moments: list[ClientMoments] = []
    start = 0
    sums = np.zeros(())
    counts = np.zeros(())
    second = np.zeros(())
    for n in sizes:
        part = rows[start:n]
        hot = one_hot[start:n]
        sums = sums + part.T @ hot
        counts = counts + np.ones(len(hot)) @ hot
        second = second + part.T @ part
        moments.append((sums, counts, second))
        start = n
    return moments


def per_client(n: int, clients: list[ClientMoments]) -> PerClient:
    """Moments of one size, client by client."""
    sums, counts, second = (np.stack(parts) for parts in zip(*clients, strict=True))
    return PerClient(n, sums, counts, second)
