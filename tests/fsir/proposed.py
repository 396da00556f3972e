"""Public samples, and the tasks that are proposed from them."""

from __future__ import annotations

import numpy as np

from fsir.contract import task_from_table
from fsir.proposal.constants import Expectation
from fsir.proposal.proposal import propose
from fsir.task.slicing import Slicing


def friedman(n, rng):
    """Friedman's first function: ten uniform features, of which five tell about the response."""
    X = rng.uniform(size=(n, 10))
    y = 10.0 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20.0 * (X[:, 2] - 0.5) ** 2
    y += 10.0 * X[:, 3] + 5.0 * X[:, 4] + rng.normal(size=n)
    return X, y


def clouds(n, p, H, apart, rng):
    """Classes of round clouds, their centres so far apart in every feature; the classes."""
    centres = np.random.default_rng(5).normal(size=(H, p)) * apart
    slices = rng.integers(0, H, n)
    return centres[slices] + rng.normal(size=(n, p)), slices


def proposed_task(X, slices, response, expected, dimension="auto"):
    """The task that a public sample gives; `response` is its table."""
    H = len(response.get("classes", ())) or len(response["cuts"]) + 1
    sections = propose(X, slices, H, expected, numeric="cuts" in response).sections
    names = {"names": [f"x{j}" for j in range(X.shape[1])]}
    budget = {"epsilon": expected.epsilon, "delta": expected.delta}
    return task_from_table(
        {
            **sections,
            "name": "proposed",
            "dimension": dimension,
            "features": names | sections["features"],
            "response": response,
            "privacy": budget | sections["privacy"],
            "report": {"records": expected.records},
        }
    )


def friedman_task(expected, seed, dimension="auto", n=200, H=8):
    """A task from a public sample of Friedman's function, and the sample."""
    X, y = friedman(n, np.random.default_rng(seed))
    cuts = np.quantile(y, np.arange(1, H) / H).round(3).tolist()
    slices = Slicing(cuts=tuple(cuts)).slices_of(y)
    return proposed_task(X, slices, {"cuts": cuts}, expected, dimension), X, y


def clouds_task(n, p, H, apart, seed=0, records=300):
    """A task from a public sample of clouds."""
    X, slices = clouds(n, p, H, apart, np.random.default_rng(seed))
    classes = [str(h) for h in range(H)]
    expected = Expectation(devices=30, records=records, epsilon=1.0)
    return proposed_task(X, slices, {"classes": classes}, expected)
