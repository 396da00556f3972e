"""How invented people move: the signals of a phone at the waist, 50 Hz, bout by bout.

A body is a pendulum that carries a phone. Postures differ in how the phone is tilted against
gravity, and sway a little; the angular velocity is the derivative of that sway, the acceleration is
gravity seen from the swaying phone. Gait adds harmonics of the step (up and forward) and of the
stride (sideways), with impacts that fade from one harmonic to the next. People differ in how they
wear the phone, in cadence, vigour, impact, timing, sway, tremor and sensor; one person differs from
bout to bout, and stairs from level ground only by degrees.

How much people differ was held against the recordings of HAPT, without any federation: what share
of the variance within an activity lies between people, and how well discriminant analysis does that
has seen one person, or all of them (docs/simulator.md has the figures).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edge_agent.signal.grid import RATE
from fsir.arrays import Matrix

Rng = np.random.Generator
ON_A_SIDE = 0.4
HARMONICS = np.arange(1, 7)


@dataclass(frozen=True, kw_only=True)
class Gait:
    """How an activity differs from the person's level walk:
    factors, and the lean of the body in radians."""

    cadence: float
    vigour: float
    impact: float
    turn: float
    lean: float


GAITS = {
    "WALKING": Gait(cadence=1.00, vigour=1.00, impact=1.00, turn=1.0, lean=0.03),
    "WALKING_UPSTAIRS": Gait(cadence=0.80, vigour=0.95, impact=0.75, turn=1.40, lean=0.22),
    "WALKING_DOWNSTAIRS": Gait(cadence=1.08, vigour=1.60, impact=1.30, turn=1.25, lean=-0.05),
}
# Pitch of the body and its sway, in radians.
POSTURES = {"SITTING": (-0.40, 0.004), "STANDING": (0.0, 0.010), "LAYING": (-1.45, 0.003)}


@dataclass(frozen=True, kw_only=True)
class Person:
    """What stays the same for one person. Angles in radians, vigour in g, turn in rad/s."""

    worn: Matrix
    cadence: float
    vigour: Matrix
    turn: Matrix
    impact: float
    timing: Matrix
    sitting: float
    sway: float
    tremor: float
    tremor_rate: float
    noise: tuple[float, float]
    bias: Matrix


def draw_person(rng: Rng) -> Person:
    def spread(typical: Matrix | float, by: float) -> Matrix:
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


def bout(person: Person, activity: str, samples: int, rng: Rng) -> tuple[Matrix, Matrix]:
    """Acceleration (g) and angular velocity (rad/s) of one bout, in the axes of the phone."""
    t = np.arange(samples) / RATE
    gait = GAITS.get(activity)
    if gait is None:
        pitch, sway = POSTURES[activity]
        pitch = pitch + rng.normal(person.sitting if activity == "SITTING" else 0, 0.07)
        roll = rng.normal(0, 0.05)
        if activity == "LAYING" and rng.random() < ON_A_SIDE:
            pitch, roll = roll, float(rng.choice([-1, 1])) * pitch
        acc, gyro = _fidgets(t, rng)
    else:
        pitch = gait.lean + rng.normal(0, 0.04)
        roll = rng.normal(0, 0.03)
        sway = 0.02
        acc, gyro = _steps(person, gait, t, rng)
    angle, velocity = _sway(t, sway * person.sway * np.exp(rng.normal(0, 0.3)), rng)
    down = _gravity(pitch + angle[:, 0], roll + angle[:, 1])
    gyro = gyro + np.column_stack([np.zeros(samples), velocity])
    phase = 2 * np.pi * person.tremor_rate * t[:, None] + rng.uniform(0, 6, 3)
    acc = acc + down + person.tremor * np.sin(phase)
    return _measured(person, acc, gyro, rng)


def _measured(person: Person, acc: Matrix, gyro: Matrix, rng: Rng) -> tuple[Matrix, Matrix]:
    """In the axes of the phone, with the bias and the noise of its sensors."""
    acc = acc @ person.worn + person.bias[:3]
    gyro = gyro @ person.worn + person.bias[3:]
    acc = acc + rng.normal(0, person.noise[0], acc.shape)
    gyro = gyro + rng.normal(0, person.noise[1], gyro.shape)
    return acc, gyro


def _steps(person: Person, gait: Gait, t: Matrix, rng: Rng) -> tuple[Matrix, Matrix]:
    """Body axes: up, left, forward. Sideways motion,
    roll and yaw follow the stride, which is two steps."""
    cadence = person.cadence * gait.cadence * np.exp(rng.normal(0, 0.05))
    wander = np.cumsum(rng.normal(0, 0.02, len(t))) / np.sqrt(RATE)
    phase = 2 * np.pi * (cadence * t + wander) + rng.uniform(0, 2 * np.pi)
    vigour = person.vigour * gait.vigour * np.exp(rng.normal(0, 0.10, 3))
    turn = person.turn * gait.turn * np.exp(rng.normal(0, 0.12, 3))
    impact = np.clip(person.impact * gait.impact * np.exp(rng.normal(0, 0.06)), 0.2, 0.85)
    fade = impact ** (HARMONICS - 1)
    loudness = 1 + 0.12 * np.sin(2 * np.pi * 0.3 * t + rng.uniform(0, 6))

    def wave(row: int, slowness: float) -> Matrix:
        jitter = rng.normal(0, 0.15, len(HARMONICS))
        angles = phase[:, None] * slowness * HARMONICS + person.timing[row] + jitter
        return np.asarray(loudness * (np.sin(angles) @ fade))

    acc = np.column_stack([wave(0, 1.0), wave(1, 0.5), wave(2, 1.0)]) * vigour
    gyro = np.column_stack([wave(3, 0.5), wave(4, 1.0), wave(5, 0.5)]) * turn
    return acc, gyro


def _sway(t: Matrix, size: float, rng: Rng) -> tuple[Matrix, Matrix]:
    """Pitch and roll that wander between 0.1 and 1.2 Hz, and their derivatives."""
    rate = 2 * np.pi * rng.uniform(0.1, 1.2, (6, 2, 1))
    phase = rng.uniform(0, 2 * np.pi, (6, 2, 1))
    weight = size * rng.normal(0, 0.4, (6, 2, 1))
    angles = t * rate + phase
    return (weight * np.sin(angles)).sum(0).T, (weight * rate * np.cos(angles)).sum(0).T


def _fidgets(t: Matrix, rng: Rng) -> tuple[Matrix, Matrix]:
    """Now and then someone at rest reaches for something: a short pulse."""
    acc = np.zeros((len(t), 3))
    gyro = np.zeros((len(t), 3))
    for _ in range(rng.poisson(t[-1] / 15)):
        pulse = np.exp(-(((t - rng.uniform(0, t[-1])) / rng.uniform(0.15, 0.5)) ** 2))[:, None]
        acc += pulse * np.sin(2 * np.pi * rng.uniform(1, 3) * t)[:, None] * rng.normal(0, 0.05, 3)
        gyro += pulse * rng.normal(0, 0.25, 3)
    return acc, gyro


def _gravity(pitch: Matrix, roll: Matrix) -> Matrix:
    """What an accelerometer at rest shows, in body axes up, left, forward."""
    return np.column_stack(
        [np.cos(pitch) * np.cos(roll), np.cos(pitch) * np.sin(roll), np.sin(pitch)]
    )


def _rotation(yaw: float, pitch: float, roll: float) -> Matrix:
    """How the phone is turned on the belt."""
    turns = ((yaw, (1, 2)), (pitch, (0, 2)), (roll, (0, 1)))
    out = np.eye(3)
    for angle, (i, j) in turns:
        turn = np.eye(3)
        turn[i, i] = turn[j, j] = np.cos(angle)
        turn[i, j] = -np.sin(angle)
        turn[j, i] = np.sin(angle)
        out = out @ turn
    return out
