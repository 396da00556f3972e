"""Invented people with a phone at the waist: 50 Hz signals of six activities, then the agent's own features.

A body is a pendulum that carries a phone. Postures differ in how the phone is tilted against gravity, and sway a
little; the angular velocity is the derivative of that sway, the acceleration is gravity seen from the swaying phone.
Gait adds harmonics of the step (up and forward) and of the stride (sideways), with impacts that fade from one harmonic
to the next. People differ in how they wear the phone, in cadence, vigour, impact, timing, sway, tremor and sensor; one
person differs from bout to bout, and stairs from level ground only by degrees. A stream is a day in short bouts: every
run through the six activities is a new order of them. Nothing here was fitted to a data set; figures obtained with it
say that the machinery works, not how well people can be told apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edge_agent.signal.features import FEATURE_NAMES, features, scale
from edge_agent.signal.grid import HOP, RATE, WINDOW
from edge_agent.signal.separation import separate
from sim_devices.datasets.population import (
    ACTIVITIES,
    DataError,
    DeviceStream,
    Population,
    with_levels,
)

Array = NDArray[np.float64]
Rng = np.random.Generator

LONGEST_BOUT = 10
ON_A_SIDE = 0.4
HARMONICS = np.arange(1, 7)
CAVEATS = (
    "invented people: the figures show that the machinery works, not how well real people can be told apart",
)


@dataclass(frozen=True)
class Gait:
    """How an activity differs from the person's level walk: factors, and the lean of the body in radians."""

    cadence: float
    vigour: float
    impact: float
    turn: float
    lean: float


GAITS = {
    "WALKING": Gait(1.00, 1.00, 1.00, 1.0, 0.03),
    "WALKING_UPSTAIRS": Gait(0.84, 1.00, 0.85, 1.30, 0.20),
    "WALKING_DOWNSTAIRS": Gait(1.06, 1.45, 1.18, 1.20, -0.03),
}
# Pitch of the body and its sway, in radians.
POSTURES = {"SITTING": (-0.30, 0.004), "STANDING": (0.0, 0.008), "LAYING": (-1.45, 0.003)}


@dataclass(frozen=True)
class Person:
    """What stays the same for one person. Angles in radians, vigour in g, turn in rad/s."""

    worn: Array
    cadence: float
    vigour: Array
    turn: Array
    impact: float
    timing: Array
    sitting: float
    sway: float
    tremor: float
    tremor_rate: float
    noise: tuple[float, float]
    bias: Array


def synthetic_har(
    people: int = 30,
    windows: int = 300,
    seed: int = 0,
    *,
    unseen: int | None = None,
    levels: bool = True,
    names: tuple[str, ...] = FEATURE_NAMES,
) -> Population:
    """`people` invented persons with `windows` records each; the last `unseen` of them (three in ten) take no part.

    levels: active / sedentary / lying instead of the six activities. names: the features wanted.
    Person k of a seed is the same however many people there are.
    """
    unseen = max(people * 3 // 10, 1) if unseen is None else unseen
    if not 1 <= unseen < people or windows < len(ACTIVITIES):
        least = f"at least one device, one unseen person and {len(ACTIVITIES)} windows"
        raise DataError(
            f"{people} people, {unseen} of them unseen, {windows} windows: there must be {least}"
        )
    if strange := sorted(set(names) - set(FEATURE_NAMES)):
        raise DataError(
            f"{strange[:3]} are not among the {len(FEATURE_NAMES)} features of this pipeline"
        )
    columns = [FEATURE_NAMES.index(name) for name in names]
    streams = tuple(
        _stream(k, windows, np.random.default_rng([seed, k]), columns) for k in range(1, people + 1)
    )
    devices, others = streams[: people - unseen], streams[people - unseen :]
    population = Population("synthetic-har", names, ACTIVITIES, devices, others, CAVEATS)
    return with_levels(population) if levels else population


def _stream(number: int, windows: int, rng: Rng, columns: list[int]) -> DeviceStream:
    person = _person(rng)
    longest = min(LONGEST_BOUT, windows // len(ACTIVITIES))
    pieces: list[Array] = []
    labels: list[str] = []
    while len(labels) < windows:
        for activity in rng.permutation(ACTIVITIES).tolist():
            length = int(rng.integers((longest + 1) // 2, longest + 1))
            acc, gyro = bout(person, activity, HOP * (length + 1), rng)
            pieces.append(separate(_windows(acc), _windows(gyro)))
            labels += [activity] * length
    X = scale(features(np.concatenate(pieces)[:windows]))[:, columns]
    return DeviceStream(f"person-{number:02d}", X, np.array(labels[:windows]))


def _windows(signal: Array) -> Array:
    """Half-overlapping windows: m x 128 x 3."""
    view = np.lib.stride_tricks.sliding_window_view(signal, WINDOW, axis=0)
    return np.ascontiguousarray(np.swapaxes(view[::HOP], -1, -2))


def _person(rng: Rng) -> Person:
    def spread(typical: Array | float, by: float) -> Array:
        size = np.shape(typical)
        return np.asarray(typical * np.exp(rng.normal(0, by, size)))

    return Person(
        worn=_rotation(*rng.normal(0, [0.10, 0.10, 0.12])),
        cadence=float(rng.normal(1.85, 0.12)),
        vigour=spread(np.array([0.22, 0.14, 0.12]), 0.22),
        turn=spread(np.array([0.35, 0.45, 0.30]), 0.22),
        impact=float(np.clip(rng.normal(0.55, 0.07), 0.35, 0.75)),
        timing=rng.uniform(0, 2 * np.pi, (6, len(HARMONICS))),
        sitting=float(rng.normal(0, 0.16)),
        sway=float(spread(1.0, 0.35)),
        tremor=float(spread(0.0012, 0.4)),
        tremor_rate=float(rng.uniform(7, 12)),
        noise=(float(spread(0.004, 0.25)), float(spread(0.008, 0.25))),
        bias=rng.normal(0, [0.01] * 3 + [0.015] * 3),
    )


def bout(person: Person, activity: str, samples: int, rng: Rng) -> tuple[Array, Array]:
    """Acceleration (g) and angular velocity (rad/s) of one bout, in the axes of the phone."""
    t = np.arange(samples) / RATE
    gait = GAITS.get(activity)
    if gait is None:
        pitch, sway = POSTURES[activity]
        pitch, roll = (
            pitch + rng.normal(person.sitting if activity == "SITTING" else 0, 0.07),
            rng.normal(0, 0.05),
        )
        if activity == "LAYING" and rng.random() < ON_A_SIDE:
            pitch, roll = roll, float(rng.choice([-1, 1])) * pitch
        acc, gyro = _fidgets(t, rng)
    else:
        pitch, roll, sway = gait.lean + rng.normal(0, 0.04), rng.normal(0, 0.03), 0.02
        acc, gyro = _steps(person, gait, t, rng)
    angle, velocity = _sway(t, sway * person.sway * np.exp(rng.normal(0, 0.3)), rng)
    down = _gravity(pitch + angle[:, 0], roll + angle[:, 1])
    gyro = gyro + np.column_stack([np.zeros(samples), velocity])
    acc = (
        acc
        + down
        + person.tremor * np.sin(2 * np.pi * person.tremor_rate * t[:, None] + rng.uniform(0, 6, 3))
    )
    acc, gyro = acc @ person.worn + person.bias[:3], gyro @ person.worn + person.bias[3:]
    return acc + rng.normal(0, person.noise[0], acc.shape), gyro + rng.normal(
        0, person.noise[1], gyro.shape
    )


def _steps(person: Person, gait: Gait, t: Array, rng: Rng) -> tuple[Array, Array]:
    """Body axes: up, left, forward. Sideways motion, roll and yaw follow the stride, which is two steps."""
    cadence = person.cadence * gait.cadence * np.exp(rng.normal(0, 0.05))
    wander = np.cumsum(rng.normal(0, 0.02, len(t))) / np.sqrt(RATE)
    phase = 2 * np.pi * (cadence * t + wander) + rng.uniform(0, 2 * np.pi)
    vigour = person.vigour * gait.vigour * np.exp(rng.normal(0, 0.10, 3))
    turn = person.turn * gait.turn * np.exp(rng.normal(0, 0.12, 3))
    fade = (np.clip(person.impact * gait.impact * np.exp(rng.normal(0, 0.06)), 0.2, 0.85)) ** (
        HARMONICS - 1
    )
    loudness = 1 + 0.12 * np.sin(2 * np.pi * 0.3 * t + rng.uniform(0, 6))

    def wave(row: int, slowness: float) -> Array:
        angles = (
            phase[:, None] * slowness * HARMONICS
            + person.timing[row]
            + rng.normal(0, 0.15, len(HARMONICS))
        )
        return np.asarray(loudness * (np.sin(angles) @ fade))

    acc = np.column_stack([wave(0, 1.0), wave(1, 0.5), wave(2, 1.0)]) * vigour
    gyro = np.column_stack([wave(3, 0.5), wave(4, 1.0), wave(5, 0.5)]) * turn
    return acc, gyro


def _sway(t: Array, size: float, rng: Rng) -> tuple[Array, Array]:
    """Pitch and roll that wander between 0.1 and 1.2 Hz, and their derivatives."""
    rate = 2 * np.pi * rng.uniform(0.1, 1.2, (6, 2))
    phase = rng.uniform(0, 2 * np.pi, (6, 2))
    weight = size * rng.normal(0, 0.4, (6, 2))
    angles = t[:, None, None] * rate + phase
    return (weight * np.sin(angles)).sum(1), (weight * rate * np.cos(angles)).sum(1)


def _fidgets(t: Array, rng: Rng) -> tuple[Array, Array]:
    """Now and then someone at rest reaches for something: a short pulse."""
    acc, gyro = np.zeros((len(t), 3)), np.zeros((len(t), 3))
    for _ in range(rng.poisson(t[-1] / 15)):
        pulse = np.exp(-(((t - rng.uniform(0, t[-1])) / rng.uniform(0.15, 0.5)) ** 2))[:, None]
        acc += pulse * np.sin(2 * np.pi * rng.uniform(1, 3) * t)[:, None] * rng.normal(0, 0.05, 3)
        gyro += pulse * rng.normal(0, 0.25, 3)
    return acc, gyro


def _gravity(pitch: Array, roll: Array) -> Array:
    """What an accelerometer at rest shows, in body axes up, left, forward."""
    return np.column_stack(
        [np.cos(pitch) * np.cos(roll), np.cos(pitch) * np.sin(roll), np.sin(pitch)]
    )


def _rotation(yaw: float, pitch: float, roll: float) -> Array:
    """How the phone is turned on the belt."""
    turns = ((yaw, (1, 2)), (pitch, (0, 2)), (roll, (0, 1)))
    out = np.eye(3)
    for angle, (i, j) in turns:
        turn = np.eye(3)
        turn[i, i] = turn[j, j] = np.cos(angle)
        turn[i, j], turn[j, i] = -np.sin(angle), np.sin(angle)
        out = out @ turn
    return out
